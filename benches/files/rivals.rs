//! The programs to compare with.

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) struct Rivals {
    pub(crate) rg: Option<PathBuf>,
    pub(crate) fd: Option<PathBuf>,
    pub(crate) patch: Option<PathBuf>,
    pub(crate) git: Option<PathBuf>,
}

impl Rivals {
    pub(crate) fn find() -> Self {
        let rivals = Self {
            rg: program("HAFT_RG", &["rg"]),
            fd: program("HAFT_FD", &["fd", "fdfind"]),
            patch: program("HAFT_PATCH", &["patch"]),
            git: program("HAFT_GIT", &["git"]),
        };
        for (name, found) in [("ripgrep", &rivals.rg), ("fd", &rivals.fd), ("patch", &rivals.patch), ("git", &rivals.git)] {
            match found {
                Some(path) => println!("{name}: {} ({})", version(path), path.display()),
                None => println!("{name} is not here, so there is nothing to compare with"),
            }
        }
        rivals
    }
}

fn program(variable: &str, names: &[&str]) -> Option<PathBuf> {
    let chosen = std::env::var_os(variable).map(PathBuf::from);
    let mut all = chosen.into_iter().chain(names.iter().map(PathBuf::from));
    all.find(|program| Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success()))
}

fn version(program: &Path) -> String {
    let output = Command::new(program).arg("--version").output().expect("it ran before");
    String::from_utf8_lossy(&output.stdout).lines().next().unwrap_or_default().to_owned()
}
