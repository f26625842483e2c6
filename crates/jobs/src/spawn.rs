//! How jobs are spawned: from one thread, with pipes or a terminal.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};
use std::sync::mpsc;
use std::sync::{Mutex, OnceLock, PoisonError};
use std::thread;

use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;
use tokio::net::unix::pipe;
use tokio::sync::oneshot;

type SpawnTask = Box<dyn FnOnce() + Send>;

static SPAWN_THREAD: OnceLock<Mutex<mpsc::Sender<SpawnTask>>> = OnceLock::new();

/// Runs a task on the spawn thread, which lives as long as this process. A sandboxed program dies with the thread that started
/// it, and the threads of a runtime come and go.
pub(crate) async fn on_spawn_thread<T: Send + 'static>(task: impl FnOnce() -> T + Send + 'static) -> io::Result<T> {
    let runtime = tokio::runtime::Handle::current();
    let (done, result) = oneshot::channel();
    let task = Box::new(move || {
        let _entered = runtime.enter();
        // The caller may have been dropped.
        drop(done.send(task()));
    });
    let gone = || io::Error::other("the spawn thread has ended");
    spawn_thread()?.lock().unwrap_or_else(PoisonError::into_inner).send(task).map_err(|_| gone())?;
    result.await.map_err(|_| gone())
}

fn spawn_thread() -> io::Result<&'static Mutex<mpsc::Sender<SpawnTask>>> {
    if let Some(sender) = SPAWN_THREAD.get() {
        return Ok(sender);
    }
    let (sender, tasks) = mpsc::channel::<SpawnTask>();
    thread::Builder::new().name("haft-spawn".into()).spawn(move || {
        for task in tasks {
            // A panic in one task must not end the thread.
            drop(std::panic::catch_unwind(std::panic::AssertUnwindSafe(task)));
        }
    })?;
    Ok(SPAWN_THREAD.get_or_init(|| Mutex::new(sender)))
}

/// Our ends of the streams of a job.
#[derive(Debug)]
pub(crate) struct JobStreams {
    pub(crate) output: pipe::Receiver,
    /// Standard error, where it is not part of the output.
    pub(crate) errors: Option<pipe::Receiver>,
    pub(crate) input: Option<pipe::Sender>,
}

/// Where the standard error of a command goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ErrorStream {
    /// Into the output, so that the order of both is kept.
    Joined,
    /// Into a pipe of its own.
    Separate,
}

/// Connects a command to pipes.
pub(crate) fn connect_pipes(command: &mut Command, input: bool, errors: ErrorStream) -> io::Result<JobStreams> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stdin(Stdio::null());
    let output = pipe::Receiver::from_owned_fd(reader.into())?;
    let errors = match errors {
        ErrorStream::Joined => {
            command.stderr(writer);
            None
        }
        ErrorStream::Separate => {
            let (reader, writer) = io::pipe()?;
            command.stderr(writer);
            Some(pipe::Receiver::from_owned_fd(reader.into())?)
        }
    };
    if !input {
        return Ok(JobStreams { output, errors, input: None });
    }
    let (reader, writer) = io::pipe()?;
    command.stdin(reader);
    Ok(JobStreams { output, errors, input: Some(pipe::Sender::from_owned_fd(writer.into())?) })
}

/// Connects a command to a new terminal of this size, which becomes its controlling terminal when it starts.
pub(crate) fn connect_terminal(command: &mut Command, (columns, rows): (u16, u16)) -> io::Result<JobStreams> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    rustix::termios::tcsetwinsize(&ours, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    let theirs = File::from(open_peer(&ours)?);
    command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
    let flags = rustix::fs::fcntl_getfl(&ours)?;
    rustix::fs::fcntl_setfl(&ours, flags | OFlags::NONBLOCK)?;
    let input = pipe::Sender::from_owned_fd_unchecked(ours.try_clone()?)?;
    Ok(JobStreams { output: pipe::Receiver::from_owned_fd_unchecked(ours)?, errors: None, input: Some(input) })
}

#[cfg(target_os = "linux")]
fn open_peer(ours: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(rustix::pty::ioctl_tiocgptpeer(ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?)
}

#[cfg(not(target_os = "linux"))]
fn open_peer(ours: &OwnedFd) -> io::Result<OwnedFd> {
    let name = rustix::pty::ptsname(ours, Vec::new())?;
    Ok(rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, rustix::fs::Mode::empty())?)
}
