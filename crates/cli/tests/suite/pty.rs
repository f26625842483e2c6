//! A terminal with somebody in front of it, who waits for what it shows and types.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{Mode, OFlags};
use rustix::process::{Pid, Signal, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};

/// A longer wait is in vain.
const PATIENCE: Duration = Duration::from_mins(1);
/// How often is looked whether something has ended.
const LOOKED: Duration = Duration::from_millis(20);
/// What a program asks a terminal, and what this one answers: where the cursor is, and what it can do.
const QUESTIONS: [(&[u8], &[u8]); 2] = [(b"\x1b[6n", b"\x1b[1;1R"), (b"\x1b[c", b"\x1b[?62c")];

/// A process in a terminal of its own.
#[derive(Debug)]
pub(crate) struct Pty {
    child: Child,
    keyboard: File,
    shown: Arc<Shown>,
    /// How much of it has been waited for.
    looked_at: usize,
    reader: Option<JoinHandle<()>>,
    /// How it stood before the process began.
    before: String,
}

#[derive(Debug, Default)]
struct Shown {
    state: Mutex<(Vec<u8>, bool)>,
    changed: Condvar,
    /// The terminal goes while it is read.
    closes: AtomicBool,
}

impl Pty {
    pub(crate) fn start(mut command: Command, columns: u16) -> Self {
        // A process that had this end as well would never see the terminal disappear.
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let name = ptsname(&master, Vec::new()).unwrap();
        let slave: OwnedFd = rustix::fs::open(name.as_c_str(), OFlags::RDWR | OFlags::NOCTTY, Mode::empty()).unwrap();
        tcsetwinsize(&slave, Winsize { ws_row: 24, ws_col: columns, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let before = modes(&slave);
        command.stdin(slave.try_clone().unwrap()).stdout(slave.try_clone().unwrap()).stderr(Stdio::from(slave));
        let child = command.spawn().unwrap();
        // Our own copies of the slave's end go with the command, so that the read ends with the child.
        drop(command);
        let (keyboard, shown) = (File::from(master), Arc::new(Shown::default()));
        let (terminal, seen) = (keyboard.try_clone().unwrap(), Arc::clone(&shown));
        let reader = Some(thread::spawn(move || seen.fill(terminal)));
        Self { child, keyboard, shown, looked_at: 0, reader, before }
    }

    /// Types this.
    pub(crate) fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).unwrap();
    }

    /// As the terminal does when Ctrl-C is pressed.
    pub(crate) fn signals(&self, signal: Signal) {
        kill_process(Pid::from_child(&self.child), signal).unwrap();
    }

    /// Waits until it shows this, behind what was waited for before; gives what came until then.
    pub(crate) fn waits_for(&mut self, text: &str) -> String {
        let mut state = self.shown.state();
        loop {
            let all = plain(&state.0);
            let new = all.get(self.looked_at..).unwrap_or_default();
            if let Some(at) = new.find(text) {
                let until = new[..at].to_owned();
                self.looked_at += at + text.len();
                return until;
            }
            assert!(!state.1, "it ended without {text:?}:\n{new}");
            let (next, waited) = self.shown.changed.wait_timeout(state, PATIENCE).unwrap();
            assert!(!waited.timed_out(), "{text:?} was never shown:\n{}", plain(&next.0));
            state = next;
        }
    }

    /// How its keys are read.
    pub(crate) fn local_modes(&self) -> LocalModes {
        tcgetattr(&self.keyboard).unwrap().local_modes
    }

    /// Waits for its end: how it ended and all it showed. The terminal is as it was.
    pub(crate) fn ends(mut self) -> (ExitStatus, String) {
        self.reader.take().unwrap().join().unwrap();
        let status = self.child.wait().unwrap();
        assert_eq!(modes(&self.keyboard), self.before, "the terminal was left changed");
        let all = self.shown.state().0.clone();
        (status, plain(&all))
    }

    /// The terminal disappears, as that of a window that is closed; how the process ended, if it did within this time.
    pub(crate) fn closes(mut self, within: Duration) -> Option<ExitStatus> {
        self.shown.closes.store(true, Ordering::Release);
        self.reader.take().unwrap().join().unwrap();
        // The last copy of the master's end.
        self.keyboard = File::open("/dev/null").unwrap();
        let started = Instant::now();
        while started.elapsed() < within {
            if let Some(status) = self.child.try_wait().unwrap() {
                return Some(status);
            }
            thread::sleep(LOOKED);
        }
        None
    }

    /// Everything that was sent to the terminal so far, as it was sent.
    pub(crate) fn raw(&self) -> Vec<u8> {
        self.shown.state().0.clone()
    }
}

impl Drop for Pty {
    /// A test that failed leaves nobody behind.
    fn drop(&mut self) {
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

impl Shown {
    /// A test that failed while it looked leaves it as it is.
    fn state(&self) -> MutexGuard<'_, (Vec<u8>, bool)> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until there is something to read; false when the terminal goes.
    fn is_readable(&self, terminal: &File) -> bool {
        let often = LOOKED.try_into().unwrap();
        while !self.closes.load(Ordering::Acquire) {
            if poll(&mut [PollFd::new(terminal, PollFlags::IN)], Some(&often)).is_ok_and(|ready| ready > 0) {
                return true;
            }
        }
        false
    }

    fn fill(&self, mut terminal: File) {
        let mut piece = [0; 4096];
        // At the end of the child Linux answers with an error where others say end of file; either way all has been read.
        while self.is_readable(&terminal)
            && let Ok(count @ 1..) = terminal.read(&mut piece)
        {
            let mut state = self.state();
            let before = state.0.len();
            state.0.extend_from_slice(&piece[..count]);
            answer(&state.0, before, &mut terminal);
            self.changed.notify_all();
        }
        self.state().1 = true;
        self.changed.notify_all();
    }
}

/// Answers every question that ended among the new bytes.
fn answer(shown: &[u8], before: usize, terminal: &mut File) {
    for (question, reply) in QUESTIONS {
        let ends = (before..shown.len()).filter(|at| shown[..=*at].ends_with(question));
        ends.for_each(|_| terminal.write_all(reply).unwrap());
    }
}

/// Without what moves the cursor and sets colours.
fn plain(bytes: &[u8]) -> String {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n");
    anstream::adapter::strip_str(&text).to_string()
}

fn modes(terminal: impl std::os::fd::AsFd) -> String {
    format!("{:?}", tcgetattr(terminal).unwrap())
}
