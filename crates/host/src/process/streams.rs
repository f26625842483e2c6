//! What a job reads and writes: pipes, or a terminal.

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::process::{Command, Stdio};

use rustix::fs::OFlags;
use rustix::pty::OpenptFlags;
use rustix::termios::Winsize;
use tokio::net::unix::pipe;

/// Our ends of them.
#[derive(Debug)]
pub(super) struct Streams {
    pub(super) output: pipe::Receiver,
    pub(super) input: Option<pipe::Sender>,
}

/// Both output streams are one pipe, so that what is written stays in order.
pub(super) fn pipes(command: &mut Command, input: bool) -> io::Result<Streams> {
    let (reader, writer) = io::pipe()?;
    command.stdout(writer.try_clone()?).stderr(writer).stdin(Stdio::null());
    let input = input.then(|| given(command)).transpose()?;
    Ok(Streams { output: pipe::Receiver::from_owned_fd(reader.into())?, input })
}

fn given(command: &mut Command) -> io::Result<pipe::Sender> {
    let (reader, writer) = io::pipe()?;
    command.stdin(reader);
    pipe::Sender::from_owned_fd(writer.into())
}

/// A terminal with so many columns and rows. Whoever is started takes it as its own.
pub(super) fn terminal(command: &mut Command, (columns, rows): (u16, u16)) -> io::Result<Streams> {
    let ours = rustix::pty::openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?;
    rustix::pty::grantpt(&ours)?;
    rustix::pty::unlockpt(&ours)?;
    rustix::termios::tcsetwinsize(&ours, Winsize { ws_row: rows, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 })?;
    let theirs = File::from(other_end(&ours)?);
    command.stdin(theirs.try_clone()?).stdout(theirs.try_clone()?).stderr(theirs);
    let flags = rustix::fs::fcntl_getfl(&ours)?;
    rustix::fs::fcntl_setfl(&ours, flags | OFlags::NONBLOCK)?;
    let input = pipe::Sender::from_owned_fd_unchecked(ours.try_clone()?)?;
    Ok(Streams { output: pipe::Receiver::from_owned_fd_unchecked(ours)?, input: Some(input) })
}

#[cfg(target_os = "linux")]
fn other_end(ours: &OwnedFd) -> io::Result<OwnedFd> {
    Ok(rustix::pty::ioctl_tiocgptpeer(ours, OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC)?)
}

#[cfg(not(target_os = "linux"))]
fn other_end(ours: &OwnedFd) -> io::Result<OwnedFd> {
    let name = rustix::pty::ptsname(ours, Vec::new())?;
    Ok(rustix::fs::open(name, OFlags::RDWR | OFlags::NOCTTY | OFlags::CLOEXEC, rustix::fs::Mode::empty())?)
}
