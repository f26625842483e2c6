//! Which connections come from the command itself. Commands of a session share a network, so each can connect to the relays of
//! the others, and would reach what the user has permitted to them alone.

use std::fs;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpStream};
use std::path::Path;

/// The connections of the network: a socket for both versions of addresses lists those to IPv4 in the second.
const TABLES: [&str; 2] = ["/proc/net/tcp", "/proc/net/tcp6"];
/// The column with the inode of the socket.
const INODE: usize = 9;

/// Whether a process of this PID namespace, and so of this command, holds the other end.
pub(super) fn is_own(client: &TcpStream) -> io::Result<bool> {
    let (theirs, ours) = (client.peer_addr()?, client.local_addr()?);
    let inode = TABLES.iter().find_map(|table| socket_between(&fs::read_to_string(table).ok()?, theirs, ours));
    let Some(inode) = inode else { return Ok(false) };
    let socket = format!("socket:[{inode}]");
    let processes = fs::read_dir("/proc")?.flatten().filter(|entry| entry.file_name().as_encoded_bytes().iter().all(u8::is_ascii_digit));
    Ok(processes.into_iter().any(|process| holds(&process.path(), &socket)))
}

/// A process that has ended meanwhile, or cannot be looked at, holds nothing.
fn holds(process: &Path, socket: &str) -> bool {
    let mut open = fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    open.any(|entry| fs::read_link(entry.path()).is_ok_and(|target| target.as_os_str() == socket))
}

/// The inode of the socket that is connected from one address to another; `None` if no process holds it any more.
fn socket_between(table: &str, from: SocketAddr, to: SocketAddr) -> Option<u64> {
    let (from, to) = (format_address(from)?, format_address(to)?);
    table.lines().find_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let (local, remote) = (columns.next()?, columns.next()?);
        let is_it = from.iter().any(|from| from == local) && to.iter().any(|to| to == remote);
        is_it.then(|| columns.nth(INODE - 3)?.parse().ok()).flatten().filter(|inode| *inode != 0)
    })
}

/// An address as both tables have it. The kernel writes words of the machine, so the bytes are those of memory.
fn format_address(address: SocketAddr) -> Option<[String; 2]> {
    let ip: Ipv4Addr = match address {
        SocketAddr::V4(address) => *address.ip(),
        SocketAddr::V6(_) => return None,
    };
    let word = |bytes: [u8; 4]| format!("{:08X}", u32::from_ne_bytes(bytes));
    let (word4, mapped, port) = (word(ip.octets()), word([0, 0, 0xff, 0xff]), address.port());
    Some([format!("{word4}:{port:04X}"), format!("{:016X}{mapped}{word4}:{port:04X}", 0)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_connection_is_found_in_the_table_of_the_kernel() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (server, _) = listener.accept().unwrap();
        assert!(is_own(&server).unwrap());
        drop(client);
        assert!(!is_own(&server).unwrap(), "no process holds it");
    }

    #[cfg(target_endian = "little")]
    #[test]
    fn connection_is_found_by_both_addresses_in_both_tables() {
        let head = "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid  timeout inode";
        let rest = "01 00000000:00000000 00:00000000 00000000  1000        0";
        let ipv4 = format!("{head}\n   0: 0100007F:5A58 0100007F:D431 {rest} 7 1\n   1: 0100007F:D431 0100007F:5A58 {rest} 42 1\n");
        let mapped = "0000000000000000FFFF00000100007F";
        let ipv6 = format!("{head}\n   0: {mapped}:D432 {mapped}:5A58 {rest} 43 1\n   1: {mapped}:D433 {mapped}:5A58 {rest} 0 1\n");
        let local = |port| SocketAddr::from(([127, 0, 0, 1], port));
        for (table, port, inode) in [(&ipv4, 0xd431, Some(42)), (&ipv4, 0xd432, None), (&ipv6, 0xd432, Some(43)), (&ipv6, 0xd433, None)] {
            assert_eq!(socket_between(table, local(port), local(0x5a58)), inode, "{port:x}");
        }
    }
}
