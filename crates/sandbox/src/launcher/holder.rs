//! The process that keeps the network of a session, and connects to its ports for the host.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use super::namespaces;
use super::step::StepFailure;
use crate::session_network::send;

/// For each address: the host waits longer than for both.
const PATIENCE: Duration = Duration::from_secs(2);

/// Told to enter a network namespace; else it was started in one.
pub(crate) const ENTER: &str = "enter";

/// Serves the socket on its standard input until the host closes it.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, StepFailure> {
    if arguments.first().is_some_and(|first| first == ENTER) {
        namespaces::enter_network()?;
    }
    let failed = |error: io::Error| StepFailure::from(format!("the network of a session has ended: {error}"));
    let mut socket = UnixStream::from(io::stdin().as_fd().try_clone_to_owned().map_err(failed)?);
    let namespaces = ["user", "net"].map(|name| File::open(format!("/proc/self/ns/{name}")));
    let [user, network] = namespaces;
    send(&socket, 0, &[user.map_err(failed)?.as_fd(), network.map_err(failed)?.as_fd()]).map_err(failed)?;
    let mut port = [0; 2];
    while socket.read_exact(&mut port).is_ok() {
        let answered = match connect(u16::from_be_bytes(port)) {
            Ok(connection) => send(&socket, 0, &[connection.as_fd()]),
            Err(error) => send(&socket, error.raw_os_error().unwrap_or(libc::ETIMEDOUT), &[]),
        };
        answered.map_err(failed)?;
    }
    Ok(0)
}

/// Servers listen on either address of the loopback interface.
fn connect(port: u16) -> io::Result<TcpStream> {
    let addresses = [SocketAddr::from((Ipv4Addr::LOCALHOST, port)), SocketAddr::from((Ipv6Addr::LOCALHOST, port))];
    let connect = |address: &SocketAddr| TcpStream::connect_timeout(address, PATIENCE);
    connect(&addresses[0]).or_else(|error| connect(&addresses[1]).map_err(|_| error))
}
