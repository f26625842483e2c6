//! What bubblewrap does, done by the launcher itself: namespaces of all kinds, and an empty root with the mounts of the run.
//!
//! The first process enters the namespaces and waits. Its child is the init of the PID namespace: it mounts everything, gives up
//! all capabilities, and executes the inner step. Both are single-threaded, and end with their parent.
//!
//! Mounts are made by handles (`open_tree`, `move_mount`), attributes are set for a whole tree at once. Bubblewrap reads the table
//! of all mounts after each mount instead, which is most of its time.

mod attributes;
mod loopback;
mod new_root;
mod options;

use std::ffi::OsString;
use std::fs;
use std::os::fd::OwnedFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::Path;
use std::process::Command;

use rustix::fs::{Mode, OFlags};
use rustix::io::Errno;
use rustix::process::Signal;
use rustix::thread::{CapabilitySet, CapabilitySets, UnshareFlags};

use self::new_root::NewRoot;
use self::options::NamespaceOptions;
use super::READY;
use super::inner::drop_capabilities;
use super::step::{self, StepFailure, VIEW, drop_descriptors, exec_failure};

pub(crate) use options::{EXPECT, EXPECT_SOURCE, NETWORK, REPORT};

/// This program, also where its path is not visible.
const SELF: &str = "/proc/self/exe";
const HOST_NAME: &[u8] = b"haft";
/// What the child needs to mount and to give up the rest; a program that another user than root executes has no others.
const MOUNTING: CapabilitySet = CapabilitySet::SYS_ADMIN.union(CapabilitySet::SETPCAP).union(CapabilitySet::DAC_OVERRIDE);

/// Enters the namespaces and waits for the child that uses them.
pub(super) fn run(arguments: &[OsString]) -> Result<i32, StepFailure> {
    let options = NamespaceOptions::parse(arguments)?;
    end_with_parent()?;
    drop_descriptors();
    enter(options.has_network).map_err(|error| format!("the kernel refuses namespaces: {error}"))?;
    // The kernel forgets it where capabilities change.
    end_with_parent()?;
    hand_on_capabilities().map_err(|error| format!("cannot keep capabilities for the mounts: {error}"))?;
    let child = Command::new(SELF).arg(VIEW).args(arguments).spawn();
    let ended = child.and_then(|mut child| child.wait()).map_err(|error| format!("cannot start the init of the sandbox: {error}"))?;
    Ok(ended.code().unwrap_or_else(|| 128 + ended.signal().unwrap_or_default()))
}

/// Mounts everything, gives up all capabilities, and executes the command.
pub(super) fn run_view(arguments: &[OsString]) -> Result<i32, StepFailure> {
    let options = NamespaceOptions::parse(arguments)?;
    let (name, rest) = step::command("view", options.command)?;
    end_with_parent()?;
    rustix::process::setsid().map_err(|error| format!("cannot start a session of its own: {error}"))?;
    rustix::system::sethostname(HOST_NAME).map_err(|error| format!("cannot set the host name: {error}"))?;
    let mask = rustix::process::umask(Mode::empty());
    // In the new root it is not to be found.
    let report = options.report.map(SetupReport::open);
    let mut root = NewRoot::create()?;
    options.mounts.iter().try_for_each(|mount| root.apply(mount))?;
    root.enter(options.directory)?;
    rustix::process::umask(mask);
    let dropped = rustix::thread::clear_ambient_capability_set().and_then(|()| drop_capabilities());
    dropped.map_err(|error| format!("cannot drop capabilities: {error}"))?;
    end_with_parent()?;
    report.iter().for_each(SetupReport::send);
    let error = Command::new(name).args(rest).exec();
    Err(exec_failure(name, &error).message.into())
}

/// Tells the host that everything is mounted.
struct SetupReport(Option<OwnedFd>);

impl SetupReport {
    /// A host that is gone needs no report.
    fn open(path: &Path) -> Self {
        Self(rustix::fs::open(path, OFlags::WRONLY | OFlags::NONBLOCK | OFlags::CLOEXEC, Mode::empty()).ok())
    }

    fn send(&self) {
        self.0.iter().for_each(|pipe| {
            rustix::io::write(pipe, READY).ok();
        });
    }
}

/// Enters a network namespace of its own, for the holder of a session's network. Root needs no user namespace for it.
pub(super) fn enter_network() -> Result<(), StepFailure> {
    end_with_parent()?;
    rustix::process::setsid().map_err(|error| format!("cannot start a session of its own: {error}"))?;
    let is_root = rustix::process::geteuid().is_root();
    let entered = if is_root { unshare(UnshareFlags::NEWNET) } else { enter_user_namespace(UnshareFlags::NEWNET) };
    let entered = entered.and_then(|()| loopback::bring_up()).and_then(|()| drop_capabilities());
    let entered = entered.and_then(|()| rustix::thread::set_no_new_privs(true));
    entered.map_err(|error| format!("the kernel refuses a network namespace: {error}"))?;
    end_with_parent()
}

/// The kernel ends this process with the thread that started it.
fn end_with_parent() -> Result<(), StepFailure> {
    let set = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    set.map_err(|error| format!("cannot end with the parent process: {error}").into())
}

/// Enters all namespaces of a sandbox.
fn enter(has_network: bool) -> rustix::io::Result<()> {
    let network = if has_network { UnshareFlags::NEWNET } else { UnshareFlags::empty() };
    let others = UnshareFlags::NEWNS | UnshareFlags::NEWPID | UnshareFlags::NEWIPC | UnshareFlags::NEWUTS;
    enter_user_namespace(others | network)?;
    // Kernels can be built without it.
    match unshare(UnshareFlags::NEWCGROUP) {
        Err(Errno::INVAL) | Ok(()) => {}
        Err(error) => return Err(error),
    }
    if has_network { loopback::bring_up() } else { Ok(()) }
}

/// Enters a user namespace in which this user is itself, and nobody else exists, together with other namespaces.
pub(crate) fn enter_user_namespace(others: UnshareFlags) -> rustix::io::Result<()> {
    let (user, group) = (rustix::process::geteuid().as_raw(), rustix::process::getegid().as_raw());
    unshare(UnshareFlags::NEWUSER | others)?;
    let write = |file: &str, text: String| fs::write(file, text).map_err(|error| Errno::from_io_error(&error).unwrap_or(Errno::IO));
    write("/proc/self/setgroups", "deny".into())?;
    write("/proc/self/uid_map", format!("{user} {user} 1"))?;
    write("/proc/self/gid_map", format!("{group} {group} 1"))
}

/// Lets the child that this process executes have what it needs.
fn hand_on_capabilities() -> rustix::io::Result<()> {
    let all = rustix::thread::capabilities(None)?;
    rustix::thread::set_capabilities(None, CapabilitySets { inheritable: MOUNTING, ..all })?;
    MOUNTING.iter().try_for_each(|capability| rustix::thread::configure_capability_in_ambient_set(capability, true))
}

#[expect(deprecated, reason = "the one without unsafe: a launcher step has one thread, and the descriptor table stays shared")]
pub(crate) fn unshare(flags: UnshareFlags) -> rustix::io::Result<()> {
    rustix::thread::unshare(flags)
}
