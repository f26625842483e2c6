//! Servers in the sandbox of a session: `http://sandbox.localhost:PORT` leads to a dialer instead of the network.

use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use haft_contract::{Connect, ErrorKind, ToolError};
use tokio::net::{TcpStream, UnixListener};

/// How often a free name is looked for.
const ATTEMPTS: usize = 16;

/// Connects to servers that sandboxed commands run.
pub trait SandboxDialer: Send + Sync {
    /// Connects to a port of 127.0.0.1 in the sandbox of a session. Blocks.
    ///
    /// # Errors
    /// `NotFound` if no command of the session has a sandbox with a network; `ConnectionRefused` if nothing listens there.
    fn connect(&self, session: &str, port: u16) -> io::Result<std::net::TcpStream>;
}

/// Why no such address can be reached, before there is a connection.
pub(super) fn refusal(connect: &Connect) -> Option<String> {
    (connect.scheme != "http")
        .then(|| format!("Servers in the sandbox are reached without TLS. Use http://{}:{}/ instead.", Connect::SANDBOX_HOST, connect.port))
}

/// Connects to a server in the sandbox of a session, through a path that a client connects to once.
pub(super) async fn relay(
    dialer: Option<Arc<dyn SandboxDialer>>,
    session: Option<&str>,
    port: u16,
    timeout: Duration,
) -> Result<PathBuf, ToolError> {
    let (Some(dialer), Some(session)) = (dialer, session.map(str::to_owned)) else { return Err(no_sandbox(port)) };
    let connecting = tokio::task::spawn_blocking(move || dialer.connect(&session, port));
    let server = match tokio::time::timeout(timeout, connecting).await {
        Ok(Ok(connected)) => connected.map_err(|error| unreachable(port, &error))?,
        Ok(Err(error)) => return Err(unreachable(port, &io::Error::other(error))),
        Err(_) => {
            return Err(ToolError::new(ErrorKind::Timeout, format!("The sandbox did not connect to port {port} within {timeout:?}.")));
        }
    };
    serve_once(server, timeout).map_err(|error| unreachable(port, &error))
}

/// Listens at a path of its own, and passes the first connection on. The HTTP library takes paths and addresses, no streams.
fn serve_once(server: std::net::TcpStream, timeout: Duration) -> io::Result<PathBuf> {
    server.set_nonblocking(true)?;
    let mut server = TcpStream::from_std(server)?;
    let folder = RelayFolder::create()?;
    let socket = folder.0.join("s");
    let listener = UnixListener::bind(&socket)?;
    tokio::spawn(async move {
        let accepted = tokio::time::timeout(timeout, listener.accept()).await;
        drop((listener, folder));
        if let Ok(Ok((mut client, _))) = accepted {
            // Either side notices by itself that the other has closed.
            drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
        }
    });
    Ok(socket)
}

/// A folder that only this user can enter. Removed when dropped.
struct RelayFolder(PathBuf);

impl RelayFolder {
    fn create() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = || format!("haft-relay-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let mut outcome = Err(io::Error::from(io::ErrorKind::AlreadyExists));
        for _ in 0..ATTEMPTS {
            let folder = std::env::temp_dir().join(name());
            // Another user may have made it, to read what goes through: then it is not ours.
            outcome = std::fs::DirBuilder::new().mode(0o700).create(&folder).map(|()| Self(folder));
            if !matches!(&outcome, Err(error) if error.kind() == io::ErrorKind::AlreadyExists) {
                break;
            }
        }
        outcome
    }
}

impl Drop for RelayFolder {
    fn drop(&mut self) {
        let remove = |folder: &Path| std::fs::remove_dir_all(folder);
        // It is empty, and goes with the other temporary files.
        remove(&self.0).ok();
    }
}

fn no_sandbox(port: u16) -> ToolError {
    network_error(format!(
        "{}:{port} means a server in the sandbox of this session, and there is no sandbox with a network here. Use the real address.",
        Connect::SANDBOX_HOST
    ))
}

fn unreachable(port: u16, error: &io::Error) -> ToolError {
    let advice = format!("start the server first, with exec and background=true, listening on 127.0.0.1:{port}");
    network_error(match error.kind() {
        io::ErrorKind::NotFound => format!("No command of this session runs in the sandbox, so nothing listens on port {port}: {advice}."),
        io::ErrorKind::ConnectionRefused => format!("Nothing listens on port {port} in the sandbox of this session: {advice}."),
        _ => format!("Port {port} in the sandbox of this session cannot be reached: {error}."),
    })
}

fn network_error(message: String) -> ToolError {
    ToolError::new(ErrorKind::NetworkError, message)
}
