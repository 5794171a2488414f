//! UDP sockets of all edges of a machine on one port, and which of them a packet of QUIC is for.

use std::net::UdpSocket;
use std::os::fd::{BorrowedFd, RawFd};

use crate::error::{Error, Result};
use crate::listener::{open_bound, open_first};

/// Length of the connection ids that edges give out; the first byte is the slot of the edge. The id
/// that a client invents for its first packet has at least 8 bytes (RFC 9000 §7.2), so that the
/// length tells the two apart.
pub const ID_BYTES: usize = 7;

/// Packets that wait for an edge: of some hundred connections that begin at once. The system has a
/// bound of its own (net.core.rmem_max).
const RECEIVE_BYTES: libc::c_int = 4 * 1024 * 1024;

/// Opens a bound UDP socket and returns its descriptor, which is never closed here. Several may be
/// bound to one port (SO_REUSEPORT).
pub fn open(host: &str, port: u16) -> Result<RawFd> {
    let option = (libc::SO_RCVBUF, RECEIVE_BYTES);
    open_first(host, port, |address| {
        open_bound(address, libc::SOCK_DGRAM, option)
    })
}

/// A copy of a socket that this process has or has inherited.
pub fn duplicate(descriptor: RawFd) -> Result<UdpSocket> {
    if descriptor < 0 {
        return Err(Error::Internal("not a descriptor".into()));
    }
    // SAFETY: it is borrowed for this call only; a number that is no open descriptor is an error of
    // the system.
    let borrowed = unsafe { BorrowedFd::borrow_raw(descriptor) };
    let socket = UdpSocket::from(borrowed.try_clone_to_owned()?);
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Sends packets with an id of a slot that is `serving` to the socket of that slot, and all others
/// to one that is `accepting`: they begin a connection, or belong to an edge that has ended, of
/// which any edge can tell the client. The socket is any of its port. Slots count the sockets of
/// the port in the order in which they were opened.
pub fn route(descriptor: RawFd, serving: &[u8], accepting: &[u8]) -> Result<()> {
    let mut program = program(serving, accepting);
    let attached = libc::sock_fprog {
        len: program.len() as libc::c_ushort,
        filter: program.as_mut_ptr(),
    };
    // SAFETY: the kernel copies the program, which lives until the call has returned.
    let status = unsafe {
        libc::setsockopt(
            descriptor,
            libc::SOL_SOCKET,
            libc::SO_ATTACH_REUSEPORT_CBPF,
            (&raw const attached).cast(),
            size_of_val(&attached) as libc::socklen_t,
        )
    };
    if status == 0 {
        Ok(())
    } else {
        Err(std::io::Error::last_os_error().into())
    }
}

const LOAD_BYTE: u32 = libc::BPF_LD | libc::BPF_B | libc::BPF_ABS;
const IF_EQUAL: u32 = libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K;
const IF_SET: u32 = libc::BPF_JMP | libc::BPF_JSET | libc::BPF_K;
const JUMP: u32 = libc::BPF_JMP | libc::BPF_JA;
const MODULO: u32 = libc::BPF_ALU | libc::BPF_MOD | libc::BPF_K;
const RETURN: u32 = libc::BPF_RET | libc::BPF_K;

/// Headers of QUIC that name their version, and in them the length of the id and its first byte.
const LONG_HEADER: u32 = 0x80;
const LONG_ID_LENGTH_AT: u32 = 5;
const LONG_ID_AT: u32 = 6;
const SHORT_ID_AT: u32 = 1;

fn step(code: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter {
        code: code as libc::c_ushort,
        jt,
        jf,
        k,
    }
}

/// The number of a socket for a packet. A packet that is too short for a load gets 0.
fn program(serving: &[u8], accepting: &[u8]) -> Vec<libc::sock_filter> {
    let Some((&last, before)) = accepting.split_last() else {
        return vec![step(RETURN, 0, 0, 0)];
    };
    let pick = |value: u32, slot: u8| {
        [
            step(IF_EQUAL, value, 0, 1),
            step(RETURN, u32::from(slot), 0, 0),
        ]
    };
    let table: Vec<_> = serving
        .iter()
        .flat_map(|&slot| pick(u32::from(slot), slot))
        .collect();
    let mut steps = vec![
        step(LOAD_BYTE, 0, 0, 0),
        // A short header is read after this block.
        step(IF_SET, LONG_HEADER, 0, 6),
        step(LOAD_BYTE, LONG_ID_LENGTH_AT, 0, 0),
        step(IF_EQUAL, ID_BYTES as u32, 2, 0),
        // The id is one that the client has invented.
        step(LOAD_BYTE, LONG_ID_AT, 0, 0),
        step(JUMP, 3 + table.len() as u32, 0, 0),
        step(LOAD_BYTE, LONG_ID_AT, 0, 0),
        step(JUMP, 1, 0, 0),
        step(LOAD_BYTE, SHORT_ID_AT, 0, 0),
    ];
    steps.extend(table);
    steps.push(step(MODULO, accepting.len() as u32, 0, 0));
    for (index, &slot) in before.iter().enumerate() {
        steps.extend(pick(index as u32, slot));
    }
    steps.push(step(RETURN, u32::from(last), 0, 0));
    steps
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsRawFd, FromRawFd};
    use std::time::Duration;

    use super::*;

    fn sockets(count: usize) -> Vec<UdpSocket> {
        let open_one = |port| {
            let descriptor = open("127.0.0.1", port).unwrap();
            // SAFETY: just opened, and owned by nothing else.
            let socket = unsafe { UdpSocket::from_raw_fd(descriptor) };
            socket.set_nonblocking(false).unwrap();
            let wait = Some(Duration::from_secs(5));
            socket.set_read_timeout(wait).unwrap();
            socket
        };
        let mut sockets = vec![open_one(0)];
        let port = sockets[0].local_addr().unwrap().port();
        sockets.extend((1..count).map(|_| open_one(port)));
        sockets
    }

    /// The socket that gets each packet, of which the last byte is unlike all others.
    fn receivers(sockets: &[UdpSocket], packets: &[Vec<u8>]) -> Vec<usize> {
        let client = UdpSocket::bind("127.0.0.1:0").unwrap();
        let address = sockets[0].local_addr().unwrap();
        let mut found = vec![usize::MAX; packets.len()];
        for (index, packet) in packets.iter().enumerate() {
            let marked = [packet.as_slice(), &[index as u8]].concat();
            client.send_to(&marked, address).unwrap();
        }
        for (number, socket) in sockets.iter().enumerate() {
            socket.set_nonblocking(true).unwrap();
            let mut bytes = [0; 64];
            while let Ok(length) = socket.recv(&mut bytes) {
                found[usize::from(bytes[length - 1])] = number;
            }
        }
        found
    }

    fn short(slot: u8) -> Vec<u8> {
        vec![0x40, slot, 1, 2, 3, 4, 5, 6, 0]
    }

    fn long(id: &[u8]) -> Vec<u8> {
        [&[0xc0, 0, 0, 0, 1, id.len() as u8], id].concat()
    }

    #[test]
    fn a_packet_goes_to_the_slot_of_its_connection_id() {
        let sockets = sockets(4);
        let descriptor = sockets[2].as_raw_fd();
        route(descriptor, &[0, 1, 3], &[1, 3]).unwrap();
        let packets = [
            short(0),
            short(1),
            short(3),
            long(&[0, 9, 9, 9, 9, 9, 9]),
            long(&[3, 9, 9, 9, 9, 9, 9]),
        ];
        assert_eq!(receivers(&sockets, &packets), [0, 1, 3, 0, 3]);
        // A slot without an edge, and ids that clients have invented.
        let packets = [
            short(2),
            short(200),
            long(&[0, 9, 9, 9, 9, 9, 9, 9]),
            long(&[1; 20]),
            long(&[2; 8]),
            long(&[7; 20]),
        ];
        assert_eq!(receivers(&sockets, &packets), [1, 1, 1, 3, 1, 3]);
        // Another table takes the place of this one; a packet that is too short goes to the first.
        route(sockets[0].as_raw_fd(), &[2], &[2]).unwrap();
        let packets = [short(0), long(&[0; 8]), short(2), vec![0xc0], vec![]];
        assert_eq!(receivers(&sockets, &packets), [2, 2, 2, 0, 0]);
    }

    #[test]
    fn all_slots_of_the_largest_machine_have_room() {
        let slots: Vec<u8> = (0..=254).collect();
        let sockets = sockets(1);
        route(sockets[0].as_raw_fd(), &slots, &slots).unwrap();
        route(sockets[0].as_raw_fd(), &[], &[]).unwrap();
        assert!(route(-1, &[], &[]).is_err());
        assert!(duplicate(-1).is_err());
        assert!(
            open("192.0.2.1", 0).is_err(),
            "not an address of this machine"
        );
    }
}
