//! Changes of folders that the kernel refuses because of a mount. It renames no folder of the lower layer of an overlay (`EXDEV`),
//! and programs such as `git mv` and `os.rename` give up: a thread of the inner step does it for them, entry by entry. And it removes
//! no folder that is a mount point (`EBUSY`), such as the `.git` of a repository in `rm -rf library`: the thread asks the host.
//!
//! The thread has the rights of the command and no more: the system call filter and Landlock apply to it, so that whatever a
//! command makes it do, the command could do itself.

mod removal;
mod tree;

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::FileExt;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use rustix::fs::{AtFlags, FileType, Mode, OFlags, RenameFlags};
use rustix::io::Errno;

use super::step::StepFailure;
use crate::seccomp::{CallAnswer, CallListener, ListenedCall, WaitingCall};

#[cfg(target_arch = "x86_64")]
const RENAMES: &[i64] = &[libc::SYS_rename, libc::SYS_renameat, libc::SYS_renameat2];
#[cfg(not(target_arch = "x86_64"))]
const RENAMES: &[i64] = &[libc::SYS_renameat, libc::SYS_renameat2];

/// As the kernel has it.
const LONGEST_PATH: usize = 4096;
const PAGE: u64 = 4096;

/// What the thread answers.
#[derive(Debug, Default)]
pub(super) struct FolderCalls {
    /// Renames of folders, where the command sees an overlay.
    pub(super) renames: bool,
    /// The host, which is asked to remove repositories.
    pub(super) removals: Option<UnixStream>,
}

impl FolderCalls {
    fn listened(&self) -> Vec<ListenedCall> {
        let renames = RENAMES.iter().filter(|_| self.renames).map(|number| ListenedCall { number: *number, only_with: None });
        let removals = removal::CALLS.iter().filter(|_| self.removals.is_some()).copied();
        renames.chain(removals).collect()
    }
}

/// Answers these calls of every process that this thread starts from now on. A kernel without listeners keeps its refusal.
pub(super) fn start(calls: FolderCalls) -> Result<(), StepFailure> {
    let listened = calls.listened();
    if listened.is_empty() {
        return Ok(());
    }
    let (sender, receiver) = mpsc::channel::<CallListener>();
    // Started before this thread listens to itself: its own calls are not asked about.
    let serve = move || receiver.recv().map(|listener| serve(&listener, calls.removals));
    let started = thread::Builder::new().name("mover".into()).spawn(serve);
    started.map_err(|error| format!("cannot start the thread for folders: {error}"))?;
    if let Ok(listener) = CallListener::install(&listened) {
        sender.send(listener).map_err(|_| "the thread for folders has ended".to_owned())?;
    }
    Ok(())
}

fn serve(listener: &CallListener, mut removals: Option<UnixStream>) {
    while let Ok(call) = listener.next() {
        let answer = match &mut removals {
            Some(host) if removal::is_one(&call) => removal::answer(&call, host),
            _ => Rename::from_call(&call).map_or(CallAnswer::Carry, |rename| rename.run()),
        };
        listener.answer(&call, answer);
    }
}

/// A rename as a process asked for it.
struct Rename {
    from: Place,
    to: Place,
    flags: RenameFlags,
}

/// A path, relative to a folder.
struct Place {
    folder: OwnedFd,
    path: PathBuf,
}

impl Rename {
    /// The rename that a call asks for; `None` where its arguments cannot be read, which the kernel then says.
    fn from_call(call: &WaitingCall) -> Option<Self> {
        let [first, second, third, fourth, flags, _] = call.arguments;
        let here = i64::from(libc::AT_FDCWD).cast_unsigned();
        let (from, to, flags) = match call.number {
            libc::SYS_renameat2 => ((first, second), (third, fourth), flags),
            libc::SYS_renameat => ((first, second), (third, fourth), 0),
            _ => ((here, first), (here, second), 0),
        };
        let place = |(folder, path)| Place::from_arguments(call.process, folder, path).ok();
        let flags = RenameFlags::from_bits(u32::try_from(flags).ok()?)?;
        Some(Self { from: place(from)?, to: place(to)?, flags })
    }

    fn run(&self) -> CallAnswer {
        let Self { from, to, flags } = self;
        if !from.is_folder() {
            return CallAnswer::Carry;
        }
        let renamed = rustix::fs::renameat_with(&from.folder, &from.path, &to.folder, &to.path, *flags);
        let is_plain = *flags == RenameFlags::empty() || *flags == RenameFlags::NOREPLACE;
        CallAnswer::Result(match renamed {
            Err(Errno::XDEV) if is_plain => tree::move_folder(from.entry(), to.entry(), *flags),
            other => other,
        })
    }
}

impl Place {
    fn from_arguments(process: u32, folder: u64, address: u64) -> io::Result<Self> {
        // The kernel reads descriptors as 32 bits.
        #[expect(clippy::cast_possible_truncation, reason = "as the kernel does")]
        let descriptor = folder as i32;
        let folder = match descriptor {
            libc::AT_FDCWD => format!("/proc/{process}/cwd"),
            other => format!("/proc/{process}/fd/{other}"),
        };
        let path = PathBuf::from(std::ffi::OsStr::from_bytes(&text_at(process, address)?));
        let folder = if path.is_absolute() { "/".into() } else { folder };
        let folder = rustix::fs::open(folder, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Self { folder, path })
    }

    fn is_folder(&self) -> bool {
        let found = rustix::fs::statat(&self.folder, &self.path, AtFlags::SYMLINK_NOFOLLOW);
        found.is_ok_and(|found| FileType::from_raw_mode(found.st_mode).is_dir())
    }

    fn entry(&self) -> (&OwnedFd, &Path) {
        (&self.folder, &self.path)
    }
}

/// The text at an address of a process, up to its zero byte.
fn text_at(process: u32, address: u64) -> io::Result<Vec<u8>> {
    let memory = File::open(format!("/proc/{process}/mem"))?;
    let mut text = Vec::new();
    while text.len() < LONGEST_PATH {
        let position = address + text.len() as u64;
        // The next page may be none.
        let mut page = vec![0; usize::try_from(PAGE - position % PAGE).unwrap_or(1)];
        memory.read_exact_at(&mut page, position)?;
        if let Some(end) = page.iter().position(|byte| *byte == 0) {
            text.extend_from_slice(&page[..end]);
            return Ok(text);
        }
        text.extend(page);
    }
    Err(io::ErrorKind::InvalidFilename.into())
}
