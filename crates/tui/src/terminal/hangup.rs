//! A terminal that disappears while keys are read from it.
//!
//! The library that reads keys takes the end of a terminal for "no key yet" and tries again at once, for ever: a whole core, until
//! somebody looks. The system sends SIGHUP only to the processes in front of the terminal that they were started from. So another
//! thread waits for the end of the terminal and sends SIGHUP itself, and then nothing differs from the ordinary case.

use std::fs::File;
use std::io::{self, IsTerminal};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::sleep;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;
use rustix::process::{Signal, getpid, kill_process};

use crate::failure::Exit;
use crate::interrupt::leave;

/// How long the system's own signal may take.
const GRACE: Duration = Duration::from_millis(300);
/// How long an orderly end may take.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often is looked whether keys are read again.
const PERIOD: Duration = Duration::from_millis(200);

/// How many read keys now.
static READERS: AtomicUsize = AtomicUsize::new(0);
/// Whether a SIGHUP was taken notice of.
static HUNG_UP: AtomicBool = AtomicBool::new(false);
static WATCH: Once = Once::new();

/// Reads keys: if the terminal disappears meanwhile, the process ends.
pub fn reading_keys<T>(read: impl FnOnce() -> T) -> T {
    let _reading = KeysRead::begin();
    read()
}

/// While it exists, keys are read.
struct KeysRead;

impl KeysRead {
    fn begin() -> Self {
        READERS.fetch_add(1, Ordering::AcqRel);
        // As the library does: it reads another terminal only if standard input is none. The thread cannot ask: it may begin when the
        // terminal is gone, and standard input is none any more.
        let is_standard = io::stdin().is_terminal();
        // Without the thread, all is as the library has it.
        WATCH.call_once(|| drop(std::thread::Builder::new().name("haft-hangup".into()).spawn(move || watch(is_standard))));
        Self
    }
}

impl Drop for KeysRead {
    fn drop(&mut self) {
        READERS.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Remembers that the system's signal came: it must not come twice, because the second one ends a process that is ending.
pub(crate) fn note_signal() {
    HUNG_UP.store(true, Ordering::Release);
}

fn watch(is_standard: bool) {
    let is_gone = if is_standard {
        wait_for_end(io::stdin().as_fd())
    } else {
        File::open("/dev/tty").is_ok_and(|terminal| wait_for_end(terminal.as_fd()))
    };
    if !is_gone {
        return;
    }
    sleep(GRACE);
    loop {
        // A process that continues without a terminal may do so until it reads keys.
        while READERS.load(Ordering::Acquire) == 0 {
            sleep(PERIOD);
        }
        if !HUNG_UP.load(Ordering::Acquire) {
            kill_process(getpid(), Signal::HUP).ok();
        }
        sleep(PATIENCE);
        if READERS.load(Ordering::Acquire) > 0 {
            leave(Exit::HungUp);
        }
    }
}

/// Waits until a terminal is gone; `false` where that cannot be waited for.
fn wait_for_end(terminal: BorrowedFd<'_>) -> bool {
    loop {
        // Nothing is asked for: the end is reported all the same.
        let mut asked = [PollFd::from_borrowed_fd(terminal, PollFlags::empty())];
        match poll(&mut asked, None) {
            Ok(_) if asked[0].revents().intersects(PollFlags::HUP | PollFlags::ERR) => return true,
            Ok(_) if asked[0].revents().is_empty() => {}
            Err(Errno::INTR) => {}
            Ok(_) | Err(_) => return false,
        }
    }
}
