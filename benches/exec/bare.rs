//! The same without us: a shell, and bubblewrap with the mounts that the sandbox makes and nothing of ours inside.

use std::ffi::OsString;
use std::process::{Child, Command, Stdio};

pub(crate) struct Bare {
    arguments: Vec<OsString>,
}

impl Bare {
    /// Runs a line with the arguments that the sandbox gave to bubblewrap.
    pub(crate) fn new(mut words: Vec<OsString>, line: &str) -> Self {
        let inside = words.iter().rposition(|word| word == "--").expect("a command is named");
        words.truncate(inside + 1);
        // Ours is the first process of its namespace and clears up after the others; in its place bubblewrap's own is, as ever.
        words.retain(|word| word != "--as-pid-1");
        // What only our launcher knows, each with a value: bubblewrap neither compares what it mounts on nor tells when it is done.
        while let Some(at) = words.iter().position(|word| ["--expect", "--expect-source", "--report"].iter().any(|ours| word == ours)) {
            words.drain(at..at + 2);
        }
        words.extend(["/bin/bash", "-c", line].map(OsString::from));
        Self { arguments: words }
    }

    fn start(&self) -> Child {
        let mut command = Command::new(&self.arguments[0]);
        command.args(&self.arguments[1..]).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.spawn().expect("it starts")
    }

    pub(crate) fn run(&self) {
        ended(self.start());
    }

    pub(crate) fn run_together(&self, count: usize) {
        let started: Vec<Child> = (0..count).map(|_| self.start()).collect();
        started.into_iter().for_each(ended);
    }
}

fn ended(child: Child) {
    let output = child.wait_with_output().expect("it ends");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

/// One line by a shell of its own.
pub(crate) fn shell(line: &str) {
    let status = Command::new("/bin/bash").args(["-c", line]).status().expect("a shell");
    assert!(status.success(), "{line}: {status}");
}
