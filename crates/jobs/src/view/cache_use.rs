//! Which commands may add to the package caches of the user. An overlay for each cache is what most of the start of a command in a
//! repository would go to, and most commands touch none: those see the caches read-only.
//!
//! This is no barrier. A command that is taken for one that adds nothing cannot add anything.

use std::path::Path;

use haft_contract::{Effect, Exec, ShellCommand, Zone};
use haft_programs::{PROGRAMS, ProgramEffect, family_of, file_name, is_git_command};
use haft_sandbox::is_system_path;

/// Programs that are not in the table of programs, and start no others here: what they could start is an effect of its own.
const OTHERS: &[&str] = &["sed", "find", "dd", "tar"];
/// Global options of Git with a value behind them.
const GIT_VALUES: &[&str] = &["-c", "-C"];
const SAMPLE: &str = "sample";

/// Whether a command may add packages to a cache, or is not known well enough.
pub(crate) fn may_add_packages(command: &ShellCommand) -> bool {
    command.effects().is_empty() || !command.effects().iter().all(adds_nothing)
}

fn adds_nothing(effect: &Effect) -> bool {
    match effect {
        Effect::Exec(exec) => is_plain(exec),
        Effect::Read(_) => true,
        Effect::Write(path) | Effect::Delete(path) => path.location.zone() == Zone::Workspace,
        _ => false,
    }
}

/// Whether a program does its own work and starts no other.
fn is_plain(exec: &Exec) -> bool {
    if exec.reach.is_any || !exec.reach.commands.is_empty() || !is_system_path(&exec.program) {
        return false;
    }
    let name = file_name(&exec.named);
    let is_known = |name: &str| PROGRAMS.iter().any(|row| row.name == name && row.effect != ProgramEffect::Connects);
    is_known(&name) || OTHERS.contains(&&*name) || (name == "git" && is_plain_git(exec))
}

/// Whether Git runs a command of its own, in a repository without hooks.
fn is_plain_git(exec: &Exec) -> bool {
    let mut words = exec.arguments.iter().map(String::as_str);
    let part = loop {
        match words.next() {
            Some(option) if GIT_VALUES.contains(&option) => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            other => break other,
        }
    };
    let runs_others = |part: &str| family_of("git").is_some_and(|git| git.running.contains(&part));
    part.is_some_and(|part| is_git_command(part) && !runs_others(part)) && !has_hooks(&exec.directory)
}

/// Whether the repository around a folder has hooks of its own. A linked worktree counts as one that has.
fn has_hooks(folder: &Path) -> bool {
    let Some(git) = folder.ancestors().map(|above| above.join(".git")).find(|git| git.symlink_metadata().is_ok()) else { return false };
    let is_hook = |entry: std::fs::DirEntry| entry.path().extension().is_none_or(|extension| extension != SAMPLE);
    !git.is_dir() || std::fs::read_dir(git.join("hooks")).is_ok_and(|hooks| hooks.flatten().any(is_hook))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn git(folder: &Path, words: &[&str]) -> bool {
        let arguments = words.iter().map(|word| (*word).to_owned()).collect();
        is_plain(&Exec::new("/usr/bin/git", arguments, folder))
    }

    #[test]
    fn git_without_hooks_adds_no_packages() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        fs::create_dir_all(root.join(".git/hooks")).unwrap();
        fs::create_dir_all(root.join("src")).unwrap();
        fs::write(root.join(".git/hooks/pre-commit.sample"), "").unwrap();
        assert!(git(root, &["commit", "-m", "x"]) && git(&root.join("src"), &["-c", "user.name=a", "--no-pager", "commit"]));
        for words in [&["install"][..], &[], &["-c", "commit"], &["submodule", "update"], &["rebase", "-x", "npm test", "main"]] {
            assert!(!git(root, words), "{words:?}");
        }
        fs::write(root.join(".git/hooks/pre-commit"), "").unwrap();
        assert!(!git(root, &["commit"]) && !git(&root.join("src"), &["commit"]), "a hook may run anything");
    }

    #[test]
    fn builders_and_programs_of_projects_may_add_packages() {
        let called = |path: &str| Exec::new(path, Vec::new(), "/");
        for path in ["/usr/bin/touch", "/usr/bin/mkdir", "/usr/bin/sed", "/usr/bin/rm"] {
            assert!(is_plain(&called(path)), "{path}");
        }
        for path in ["/usr/bin/npm", "/usr/bin/make", "/usr/bin/python3", "/w/touch", "/usr/bin/curl", "/usr/bin/frobnicate", "/bin/sh"] {
            assert!(!is_plain(&called(path)), "{path}");
        }
    }
}
