//! The network of a session: a namespace that its commands share, and no one else. A server that one command leaves in the
//! background answers the next.
//!
//! A holder process keeps the namespace while the session lives. The outer step of each command joins it before it makes the
//! sandbox. Where only named programs may create user namespaces, bubblewrap starts the holder.

use std::io::{self, IoSlice, IoSliceMut, Read};
use std::mem::MaybeUninit;
use std::net::TcpStream;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
#[cfg(target_os = "linux")]
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer, SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::{Deserialize, Serialize};

use crate::error::SandboxError;
use crate::launcher::Launcher;

const BACKEND: &str = "bubblewrap";
/// An answer of the holder: an error number or zero, and its PID.
const ANSWER: usize = 8;
const MOST_HANDLES: usize = 2;
/// The holder answers after its own timeout for a connection, which is shorter.
const PATIENCE: Duration = Duration::from_secs(10);

/// A network namespace to join, and the user namespace that owns it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NetworkNamespace {
    pub(crate) user: Option<NamespaceFile>,
    pub(crate) network: NamespaceFile,
}

/// The file of a namespace, and its identity: the PID in the path may be reused.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NamespaceFile {
    pub(crate) path: PathBuf,
    pub(crate) inode: u64,
}

/// The network of a session; it ends with this value, except for commands that still run.
///
/// The holder ends with the *thread* that started it, so start it from one that lives as long as the session.
#[derive(Debug)]
pub struct SessionNetwork {
    holder: Child,
    socket: Mutex<UnixStream>,
    namespace: NetworkNamespace,
}

impl SessionNetwork {
    /// Starts the holder. Blocks for a few milliseconds.
    ///
    /// # Errors
    /// The kernel refuses the namespaces, to the launcher and to bubblewrap. Each command can have a network of its own then.
    #[cfg(target_os = "linux")]
    pub fn start(launcher: &Launcher) -> Result<Self, SandboxError> {
        Self::start_holder(&mut own_holder(launcher)).or_else(|why| match crate::bubblewrap::find() {
            Some(program) => Self::start_holder(&mut bubblewrap_holder(&program, launcher)),
            None => Err(why),
        })
    }

    #[cfg(target_os = "linux")]
    fn start_holder(command: &mut Command) -> Result<Self, SandboxError> {
        let unavailable = |why: &str| {
            let why = format!("the network of a session cannot be started: {why}");
            SandboxError::unavailable(BACKEND, why, "each command has a network of its own instead")
        };
        let failed = |error: io::Error| unavailable(&error.to_string());
        let (ours, theirs) = UnixStream::pair().map_err(failed)?;
        ours.set_read_timeout(Some(PATIENCE)).map_err(failed)?;
        command.env_clear().current_dir("/").stdin(OwnedFd::from(theirs)).stdout(Stdio::null()).stderr(Stdio::piped());
        let mut holder = command.spawn().map_err(failed)?;
        // Its end of the pair must be open in the holder only: else it would not notice our end.
        command.stdin(Stdio::null());
        let is_root = rustix::process::geteuid().is_root();
        let namespace = receive(&ours).and_then(|(pid, handles)| namespaces(pid, &handles, is_root));
        match namespace {
            Ok(namespace) => Ok(Self { holder, socket: Mutex::new(ours), namespace }),
            Err(error) => {
                kill_group(&holder);
                holder.kill().and_then(|()| holder.wait()).map_err(failed)?;
                let mut why = String::new();
                // Its own message, if there is one.
                holder.stderr.take().map(|mut stderr| stderr.read_to_string(&mut why).ok());
                Err(unavailable(why.lines().next().unwrap_or(&error.to_string())))
            }
        }
    }

    /// Only Linux has network namespaces.
    ///
    /// # Errors
    /// Always.
    #[cfg(not(target_os = "linux"))]
    pub fn start(_launcher: &Launcher) -> Result<Self, SandboxError> {
        Err(SandboxError::unavailable(BACKEND, "network namespaces are a part of Linux", "commands have no network"))
    }

    /// The namespace, for `SandboxPolicy::shared_network`.
    pub fn namespace(&self) -> &NetworkNamespace {
        &self.namespace
    }

    /// A connection to `127.0.0.1:port` in this network, such as a server that a command has started. Blocks.
    ///
    /// # Errors
    /// No command listens on this port, or the holder has ended.
    pub fn connect(&self, port: u16) -> io::Result<TcpStream> {
        let mut socket = self.socket.lock().unwrap_or_else(PoisonError::into_inner);
        io::Write::write_all(&mut *socket, &port.to_be_bytes())?;
        let (_, handles) = receive(&socket)?;
        let connection = handles.into_iter().next().ok_or_else(|| io::Error::other("the holder sent no connection"))?;
        Ok(TcpStream::from(connection))
    }
}

impl Drop for SessionNetwork {
    fn drop(&mut self) {
        // It has ended, or it ends with this.
        self.holder.kill().and_then(|()| self.holder.wait()).ok();
    }
}

/// The launcher, which enters the namespaces itself.
#[cfg(target_os = "linux")]
fn own_holder(launcher: &Launcher) -> Command {
    let mut command = Command::new(launcher.path());
    command.args([crate::launcher::step::HOLDER, crate::launcher::holder::ENTER]);
    command
}

#[cfg(target_os = "linux")]
fn bubblewrap_holder(program: &std::path::Path, launcher: &Launcher) -> Command {
    let mut command = Command::new(program);
    command.args(["--unshare-net", "--die-with-parent", "--new-session", "--dev-bind", "/", "/"]);
    // Root owns all network namespaces. For other users bubblewrap drops what the user namespace gives.
    let is_root = rustix::process::geteuid().is_root();
    command.args(if is_root { &["--cap-drop", "ALL"][..] } else { &["--unshare-user"] });
    command.arg("--").arg(launcher.path()).arg(crate::launcher::step::HOLDER);
    // Until it is set up, its second process ends only with the group.
    command.process_group(0);
    command
}

/// Ends the holder and what it has started. It may have ended already.
#[cfg(target_os = "linux")]
fn kill_group(holder: &Child) {
    rustix::process::kill_process_group(rustix::process::Pid::from_child(holder), rustix::process::Signal::KILL).ok();
}

/// The files of the namespaces of the holder, whose handles it has sent.
#[cfg(target_os = "linux")]
fn namespaces(pid: u32, handles: &[OwnedFd], is_root: bool) -> io::Result<NetworkNamespace> {
    let [user, network] = handles else { return Err(io::Error::other("the holder sent no namespaces")) };
    let file = |handle: &OwnedFd, name: &str| -> io::Result<NamespaceFile> {
        Ok(NamespaceFile { path: format!("/proc/{pid}/ns/{name}").into(), inode: rustix::fs::fstat(handle)?.st_ino })
    };
    let user = if is_root { None } else { Some(file(user, "user")?) };
    Ok(NetworkNamespace { user, network: file(network, "net")? })
}

/// Sends an answer of the holder.
pub(crate) fn send(socket: &UnixStream, error: i32, handles: &[BorrowedFd<'_>]) -> io::Result<()> {
    let answer = [error.to_be_bytes(), std::process::id().to_be_bytes()].concat();
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_HANDLES))];
    let mut ancillary = SendAncillaryBuffer::new(&mut space);
    if !handles.is_empty() {
        ancillary.push(SendAncillaryMessage::ScmRights(handles));
    }
    sendmsg(socket.as_fd(), &[IoSlice::new(&answer)], &mut ancillary, SendFlags::NOSIGNAL)?;
    Ok(())
}

/// Receives an answer: the PID of the holder, and the handles that it sent.
fn receive(socket: &UnixStream) -> io::Result<(u32, Vec<OwnedFd>)> {
    let mut answer = [0; ANSWER];
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(MOST_HANDLES))];
    let mut ancillary = RecvAncillaryBuffer::new(&mut space);
    let received = recvmsg(socket.as_fd(), &mut [IoSliceMut::new(&mut answer)], &mut ancillary, RecvFlags::CMSG_CLOEXEC)?;
    let handles = ancillary.drain().flat_map(|message| match message {
        RecvAncillaryMessage::ScmRights(handles) => handles.collect::<Vec<_>>(),
        _ => Vec::new(),
    });
    let handles: Vec<OwnedFd> = handles.collect();
    if received.bytes != ANSWER {
        return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the holder has ended"));
    }
    let (error, pid) = answer.split_at(ANSWER / 2);
    let number = |bytes: &[u8]| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte));
    match number(error).cast_signed() {
        0 => Ok((number(pid), handles)),
        error => Err(io::Error::from_raw_os_error(error)),
    }
}
