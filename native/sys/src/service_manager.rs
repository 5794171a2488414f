//! Messages to the service manager that started this process, as systemd reads them: one datagram
//! of `NAME=value` lines to the socket that it names.

use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};

use crate::error::Result;

/// Sends `message` to the datagram socket at this path. One that begins with `@` is in the abstract
/// name space. Does not wait: a manager whose queue is full misses the message.
pub fn notify(socket: &str, message: &str) -> Result<()> {
    let sender = UnixDatagram::unbound()?;
    sender.set_nonblocking(true)?;
    match socket.strip_prefix('@') {
        Some(name) => {
            sender.send_to_addr(message.as_bytes(), &SocketAddr::from_abstract_name(name)?)?
        }
        None => sender.send_to(message.as_bytes(), socket)?,
    };
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receive(receiver: &UnixDatagram) -> String {
        let mut bytes = [0; 64];
        let length = receiver.recv(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes[..length]).into_owned()
    }

    #[test]
    fn a_message_arrives_at_a_path() {
        let path = std::env::temp_dir().join(format!("slotline-notify-{}", std::process::id()));
        let receiver = UnixDatagram::bind(&path).unwrap();
        notify(path.to_str().unwrap(), "READY=1\nSTATUS=up").unwrap();
        assert_eq!(receive(&receiver), "READY=1\nSTATUS=up");
        std::fs::remove_file(&path).unwrap();
        assert!(notify(path.to_str().unwrap(), "READY=1").is_err());
    }

    #[test]
    fn a_message_arrives_at_an_abstract_name() {
        let name = format!("slotline-notify-{}", std::process::id());
        let receiver =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        notify(&format!("@{name}"), "STOPPING=1").unwrap();
        assert_eq!(receive(&receiver), "STOPPING=1");
    }

    #[test]
    fn a_full_queue_is_an_error_and_no_wait() {
        let name = format!("slotline-full-{}", std::process::id());
        let receiver =
            UnixDatagram::bind_addr(&SocketAddr::from_abstract_name(&name).unwrap()).unwrap();
        let mut sent = 0;
        while sent < 100_000 && notify(&format!("@{name}"), "WATCHDOG=1").is_ok() {
            sent += 1;
        }
        assert!(sent > 0 && sent < 100_000);
        drop(receiver);
    }
}
