//! A real shell in a folder of its own, with programs that only write down how they were called.

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use tempfile::TempDir;

/// Programs that write down their name and their words, each with a NUL behind it, and a mark behind all of them.
const STUB: &str = "#!/bin/sh\nprintf '%s\\0' \"${0##*/}\" \"$@\" '<end>' >>\"$SEEN\"\n";
/// Bash calls this for a name that is no program: it must not go unseen.
const MISSING: &str = "() { builtin printf '%s\\0' \"$@\" '<end>' >>\"$SEEN\"; }";
/// Real ones: they start the others.
const REAL: &[&str] = &["env", "nice", "timeout", "nohup", "stdbuf", "sh", "bash", "xargs"];

/// A folder with stubs, and one where lines run.
pub(super) struct RealShell {
    home: TempDir,
    names: Vec<&'static str>,
}

/// What a line did.
#[derive(Debug)]
pub(super) struct Ran {
    /// Each program that was started, with its words.
    pub(super) calls: Vec<Vec<String>>,
    /// Files that were not there before.
    pub(super) files: BTreeSet<String>,
}

impl RealShell {
    pub(super) fn new(names: &[&'static str]) -> Self {
        let home = TempDir::new().expect("a folder");
        let shell = Self { home, names: names.to_vec() };
        fs::create_dir(shell.programs()).expect("a folder for programs");
        for name in &shell.names {
            let path = shell.programs().join(name);
            fs::write(&path, STUB).expect("a stub");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("a stub that runs");
        }
        for name in REAL {
            if let Some(real) = installed(name) {
                symlink(real, shell.programs().join(name)).expect("a link");
            }
        }
        shell
    }

    fn programs(&self) -> PathBuf {
        self.home.path().join("programs")
    }

    /// Runs a line in a fresh folder, with nothing to read. It is over when nobody holds its output any more, so what it leaves in the
    /// background is over, too.
    pub(super) fn run(&self, shell: &Path, line: &str) -> Ran {
        let folder = TempDir::new_in(self.home.path()).expect("a folder");
        let (place, seen) = (folder.path().join("place"), folder.path().join("seen"));
        fs::create_dir(&place).expect("a folder to run in");
        for name in ["f1", "f2"] {
            fs::write(place.join(name), "").expect("a file");
        }
        let mut command = Command::new(shell);
        command.args(["-c", line]).env_clear().env("PATH", self.programs()).env("HOME", &place).env("SEEN", &seen);
        command.env("BASH_FUNC_command_not_found_handle%%", MISSING);
        command.current_dir(&place).stdin(Stdio::null()).output().expect("the shell starts");
        Ran { calls: calls(&seen), files: new_files(&place) }
    }
}

/// What was written down.
fn calls(seen: &Path) -> Vec<Vec<String>> {
    let text = fs::read(seen).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let mut calls = vec![Vec::new()];
    for word in text.split_terminator('\0') {
        if word == "<end>" {
            calls.push(Vec::new());
        } else {
            calls.last_mut().expect("one call").push(word.to_owned());
        }
    }
    // The last one is empty, or not whole.
    calls.pop();
    calls
}

fn new_files(place: &Path) -> BTreeSet<String> {
    let entries = fs::read_dir(place).expect("the folder").map(|entry| entry.expect("an entry").file_name().to_string_lossy().into_owned());
    entries.filter(|name| name != "f1" && name != "f2").collect()
}

/// Where a program is.
pub(super) fn installed(name: &str) -> Option<PathBuf> {
    ["/bin", "/usr/bin", "/usr/local/bin"].iter().map(|folder| Path::new(folder).join(name)).find(|path| path.exists())
}
