//! What is missing on this machine, as one command of its package manager. Nothing is installed here.

use std::path::PathBuf;

use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::output::{Output, note};

/// Something that a package manager has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Package {
    Bubblewrap,
    Certificates,
    Notices,
    TimeZones,
}

/// A package manager: its program, how it installs, and what it calls the notices of a desktop.
struct Manager {
    program: &'static str,
    install: &'static str,
    notices: &'static str,
}

const MANAGERS: &[Manager] = &[
    Manager { program: "apt-get", install: "apt-get install -y", notices: "libnotify-bin" },
    Manager { program: "dnf", install: "dnf install -y", notices: "libnotify" },
    Manager { program: "pacman", install: "pacman -S --noconfirm", notices: "libnotify" },
    Manager { program: "apk", install: "apk add", notices: "libnotify" },
    Manager { program: "zypper", install: "zypper install -y", notices: "libnotify-tools" },
];

/// Prints the command; says so if nothing is missing, or if no package manager is known.
pub(super) fn print(missing: &[Package], output: &Output) -> Result<Exit, Failure> {
    if missing.is_empty() {
        note("nothing is missing here that a package would bring; `haft doctor` has the details");
        return output.show(|| json!({ "command": null }), String::new);
    }
    let folders: Vec<PathBuf> = std::env::var_os("PATH").iter().flat_map(std::env::split_paths).collect();
    let manager = MANAGERS.iter().find(|manager| folders.iter().any(|folder| folder.join(manager.program).is_file()));
    let Some(manager) = manager else {
        let names: Vec<&str> = missing.iter().map(|package| name(*package, "libnotify")).collect();
        return Err(Failure::failed("not_found", "no package manager is known here").help(format!("install {}", names.join(", "))));
    };
    let command = command(manager, missing, rustix::process::geteuid().is_root());
    output.show(|| json!({ "command": command }), || format!("{command}\n"))
}

fn command(manager: &Manager, missing: &[Package], is_root: bool) -> String {
    let mut names: Vec<&str> = missing.iter().map(|package| name(*package, manager.notices)).collect();
    names.sort_unstable();
    names.dedup();
    format!("{}{} {}", if is_root { "" } else { "sudo " }, manager.install, names.join(" "))
}

fn name(package: Package, notices: &'static str) -> &'static str {
    match package {
        Package::Bubblewrap => "bubblewrap",
        Package::Certificates => "ca-certificates",
        Package::Notices => notices,
        Package::TimeZones => "tzdata",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_command_names_each_package_once() {
        let missing = [Package::Notices, Package::Bubblewrap, Package::Notices];
        assert_eq!(command(&MANAGERS[0], &missing, false), "sudo apt-get install -y bubblewrap libnotify-bin");
        assert_eq!(command(&MANAGERS[1], &missing, true), "dnf install -y bubblewrap libnotify");
    }
}
