//! Listening TCP sockets that outlive the process that accepts from them.

use std::net::{SocketAddr, TcpListener, ToSocketAddrs};
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, IntoRawFd, OwnedFd, RawFd};

use crate::error::{Error, Result};

/// Connections that wait to be accepted: those of a few seconds, while their process is restarted.
/// The system has a bound of its own (net.core.somaxconn).
const BACKLOG: libc::c_int = 4_096;

/// Opens a listening socket and returns its descriptor, which is never closed here. Several may
/// listen on one port (SO_REUSEPORT), and the kernel distributes connections among them.
pub fn open(host: &str, port: u16) -> Result<RawFd> {
    open_first(host, port, |address| {
        let socket = open_bound(address, libc::SOCK_STREAM, (libc::SO_REUSEADDR, 1))?;
        // SAFETY: the descriptor is open for as long as `socket` lives; no memory is passed.
        if unsafe { libc::listen(socket.as_raw_fd(), BACKLOG) } != 0 {
            return Err(std::io::Error::last_os_error());
        }
        Ok(socket)
    })
}

/// A copy of a listening socket that this process has or has inherited.
pub fn duplicate(descriptor: RawFd) -> Result<TcpListener> {
    if descriptor < 0 {
        return Err(Error::Internal("not a descriptor".into()));
    }
    // SAFETY: it is borrowed for this call only; a number that is no open descriptor is an error of
    // the system.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let listener = TcpListener::from(borrowed.try_clone_to_owned()?);
    listener.set_nonblocking(true)?;
    Ok(listener)
}

/// Opens a socket at the first address of a host at which that is possible.
pub(crate) fn open_first(
    host: &str,
    port: u16,
    open_at: impl Fn(SocketAddr) -> std::io::Result<OwnedFd>,
) -> Result<RawFd> {
    let mut last = std::io::Error::from_raw_os_error(libc::EADDRNOTAVAIL);
    for address in (host, port).to_socket_addrs()? {
        match open_at(address) {
            Ok(socket) => return Ok(socket.into_raw_fd()),
            Err(error) => last = error,
        }
    }
    Err(Error::Internal(last.to_string()))
}

/// Opens a bound socket of a kind, with one option beside SO_REUSEPORT. IPv6 takes IPv4, too.
pub(crate) fn open_bound(
    address: SocketAddr,
    kind: libc::c_int,
    (option, value): (libc::c_int, libc::c_int),
) -> std::io::Result<OwnedFd> {
    let family = match address {
        SocketAddr::V4(_) => libc::AF_INET,
        SocketAddr::V6(_) => libc::AF_INET6,
    };
    let kind = kind | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC;
    // SAFETY: plain integers.
    let descriptor = unsafe { libc::socket(family, kind, 0) };
    if descriptor == -1 {
        return Err(std::io::Error::last_os_error());
    }
    // SAFETY: just opened, and owned by nothing else.
    let socket = unsafe { OwnedFd::from_raw_fd(descriptor) };
    set_option(&socket, libc::SOL_SOCKET, option, value)?;
    set_option(&socket, libc::SOL_SOCKET, libc::SO_REUSEPORT, 1)?;
    if address.is_ipv6() {
        set_option(&socket, libc::IPPROTO_IPV6, libc::IPV6_V6ONLY, 0)?;
    }
    bind(&socket, address)?;
    Ok(socket)
}

fn set_option(
    socket: &OwnedFd,
    level: libc::c_int,
    option: libc::c_int,
    value: libc::c_int,
) -> std::io::Result<()> {
    // SAFETY: the kernel only reads `value`.
    let status = unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            level,
            option,
            (&raw const value).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

fn bind(socket: &OwnedFd, address: SocketAddr) -> std::io::Result<()> {
    let descriptor = socket.as_raw_fd();
    let status = match address {
        SocketAddr::V4(v4) => {
            let raw = libc::sockaddr_in {
                sin_family: libc::AF_INET as libc::sa_family_t,
                sin_port: v4.port().to_be(),
                sin_addr: libc::in_addr {
                    s_addr: u32::from_ne_bytes(v4.ip().octets()),
                },
                sin_zero: [0; 8],
            };
            let size = size_of_val(&raw) as libc::socklen_t;
            // SAFETY: the kernel reads `size` bytes of the local address.
            unsafe { libc::bind(descriptor, (&raw const raw).cast(), size) }
        }
        SocketAddr::V6(v6) => {
            let raw = libc::sockaddr_in6 {
                sin6_family: libc::AF_INET6 as libc::sa_family_t,
                sin6_port: v6.port().to_be(),
                sin6_flowinfo: v6.flowinfo(),
                sin6_addr: libc::in6_addr {
                    s6_addr: v6.ip().octets(),
                },
                sin6_scope_id: v6.scope_id(),
            };
            let size = size_of_val(&raw) as libc::socklen_t;
            // SAFETY: the kernel reads `size` bytes of the local address.
            unsafe { libc::bind(descriptor, (&raw const raw).cast(), size) }
        }
    };
    if status == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error())
    }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};

    use super::*;

    fn listener(host: &str, port: u16) -> TcpListener {
        let descriptor = open(host, port).unwrap();
        // SAFETY: just opened, and owned by nothing else.
        unsafe { TcpListener::from_raw_fd(descriptor) }
    }

    #[test]
    fn a_connection_outlives_the_first_copy_of_its_listening_socket() {
        let first = listener("127.0.0.1", 0);
        let second = first.try_clone().unwrap();
        let client = TcpStream::connect(first.local_addr().unwrap()).unwrap();
        drop(first);
        let (_, peer) = second.accept().unwrap();
        assert_eq!(peer, client.local_addr().unwrap());
    }

    #[test]
    fn several_listen_on_one_port() {
        let first = listener("127.0.0.1", 0);
        let port = first.local_addr().unwrap().port();
        assert_eq!(
            listener("127.0.0.1", port).local_addr().unwrap().port(),
            port
        );
    }

    #[test]
    fn a_port_of_another_program_is_refused() {
        let other = TcpListener::bind("127.0.0.1:0").unwrap();
        let error = open("127.0.0.1", other.local_addr().unwrap().port()).unwrap_err();
        assert!(error.to_string().contains("in use"), "{error}");
        assert!(
            open("192.0.2.1", 0).is_err(),
            "not an address of this machine"
        );
        assert!(listener("::1", 0).local_addr().unwrap().is_ipv6());
    }
}
