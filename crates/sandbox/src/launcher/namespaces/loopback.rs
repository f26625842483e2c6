//! Brings the loopback interface of a new network namespace up, by one message to the kernel.

use rustix::io::Errno;
use rustix::net::netlink::SocketAddrNetlink;
use rustix::net::{AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType};

/// Of the loopback interface, which is the first of every namespace.
const INDEX: u32 = 1;
const SET_LINK: u16 = 16;
/// A request that is acknowledged.
const REQUEST: u16 = 0x01 | 0x04;
const UP: u32 = 1;
/// The length of a header, and of a message about an interface.
const LENGTHS: (usize, usize) = (16, 16);
const ANSWERED_WITH_ERROR: u16 = 2;

pub(super) fn bring_up() -> rustix::io::Result<()> {
    let socket = rustix::net::socket_with(AddressFamily::NETLINK, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let kernel = SocketAddrNetlink::new(0, 0);
    rustix::net::sendto(&socket, &message(), SendFlags::empty(), &kernel)?;
    let mut answer = [0; 256];
    let (length, _) = rustix::net::recv(&socket, &mut answer, RecvFlags::empty())?;
    acknowledged(&answer[..length])
}

/// A header, and the interface with its new flags and which of them change.
fn message() -> Vec<u8> {
    let length = u32::try_from(LENGTHS.0 + LENGTHS.1).unwrap_or_default();
    let mut bytes = Vec::new();
    bytes.extend(length.to_ne_bytes());
    bytes.extend(SET_LINK.to_ne_bytes());
    bytes.extend(REQUEST.to_ne_bytes());
    // Its number, and the port of this process, which the kernel fills in.
    bytes.extend([0; 8]);
    // Of no family and type.
    bytes.extend([0; 4]);
    for field in [INDEX, UP, UP] {
        bytes.extend(field.to_ne_bytes());
    }
    bytes
}

/// The error number of an answer; zero where the kernel did it.
fn acknowledged(answer: &[u8]) -> rustix::io::Result<()> {
    let kind = answer.get(4..6).and_then(|bytes| bytes.try_into().ok()).map(u16::from_ne_bytes);
    let error = answer.get(16..20).and_then(|bytes| bytes.try_into().ok()).map(i32::from_ne_bytes);
    match (kind, error) {
        (Some(ANSWERED_WITH_ERROR), Some(0)) => Ok(()),
        (Some(ANSWERED_WITH_ERROR), Some(error)) => Err(Errno::from_raw_os_error(-error)),
        _ => Err(Errno::PROTO),
    }
}
