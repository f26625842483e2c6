//! The same without us: a shell, and bubblewrap with the mounts that the sandbox makes and nothing of ours inside.

use std::ffi::OsString;
use std::path::Path;
use std::process::{Child, Command, Stdio};

use haft_sandbox::{self as sandbox, Bubblewrap, Launcher, Sandbox, SandboxGuard, SandboxPolicy};

pub(crate) struct Bare {
    program: OsString,
    arguments: Vec<OsString>,
    _guard: SandboxGuard,
}

impl Bare {
    pub(crate) fn new(workspace: &Path) -> Self {
        Self::with_line(workspace, "true")
    }

    pub(crate) fn with_line(workspace: &Path, line: &str) -> Self {
        let sandbox = Bubblewrap::detect(Launcher::current().expect("this program")).expect("bubblewrap works");
        let masked = std::env::home_dir().map(|home| sandbox::usual_secrets(&home)).unwrap_or_default();
        let policy = SandboxPolicy { writable: vec![workspace.to_owned()], masked, ..SandboxPolicy::default() };
        let wrapped = sandbox.wrap(sandbox::ProcessSpec::new("/bin/bash", workspace), &policy).expect("a command");
        // The stage that joins the control groups stands before it, and the one inside behind the dashes.
        let mut words: Vec<OsString> = std::iter::once(wrapped.command.program.into_os_string()).chain(wrapped.command.arguments).collect();
        let program = words.iter().position(|word| word.to_string_lossy().ends_with("/bwrap")).expect("bubblewrap is named");
        let inside = words.iter().rposition(|word| word == "--").expect("a command is named");
        words.truncate(inside + 1);
        // Ours is the first process of its namespace and clears up after the others; in its place bubblewrap's own is, as ever.
        words.retain(|word| word != "--as-pid-1");
        words.extend(["/bin/bash", "-c", line].map(OsString::from));
        Self { program: words[program].clone(), arguments: words.split_off(program + 1), _guard: wrapped.guard }
    }

    fn start(&self) -> Child {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).env_clear().stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
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
