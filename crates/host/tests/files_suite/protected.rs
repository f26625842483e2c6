//! What may not be written, or not be read, in the workspace itself.

use std::path::{Path, PathBuf};

use haft_contract::{ErrorKind, ports::FileSystem};
use haft_host::LocalFiles;

use crate::support::{BOTH, Disk, names, open, write};

fn is_protected(files: &LocalFiles, path: impl AsRef<Path>) -> bool {
    files.locate(path.as_ref()).unwrap().no_write().is_some()
}

#[tokio::test]
async fn a15_a16_a18_a20_git_is_protected_in_every_spelling_even_when_missing() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    for path in [
        ".git/hooks/pre-commit",
        ".git/config",
        ".git",
        ".gitmodules",
        ".GIT/hooks/x",
        ".Git/Config",
        ".g\u{200c}it/hooks/x",
        ".git./config",
        ".git /config",
        "git~1/config",
        "sub/../.git/config",
        "sub/.git/config",
    ] {
        let error = write(&files, path, "x").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PathNotAllowed, "{path:?}");
        assert!(error.message().ends_with("because Git runs or trusts what is in it. Ask the user to make this change."), "{error}");
    }
    assert_eq!(names(&disk.ws), Vec::<String>::new());
}

#[test]
fn a18_a_git_folder_under_another_name_is_protected() {
    let disk = Disk::new();
    disk.put("meta/worktrees/w/commondir", "../..\n");
    disk.put("meta/config", "x");
    disk.put(".git", &format!("gitdir: {}\n", disk.ws.join("meta/worktrees/w").display()));
    let files = disk.files(BOTH[0]);
    assert!(is_protected(&files, "meta/hooks/pre-commit"));
    assert!(is_protected(&files, "meta/worktrees/w/gitdir"));
    assert!(!is_protected(&files, "other"));

    let disk = Disk::new();
    disk.put("real/config", "x");
    disk.link("real", ".git");
    disk.link(".git", "alias");
    let files = disk.files(BOTH[0]);
    for path in ["real/hooks/x", "alias/hooks/x", ".git/hooks/x"] {
        assert!(is_protected(&files, path), "{path}");
    }

    // A pointer that leads nowhere is Git's problem, not ours.
    for pointer in ["gitdir: \0", "gitdir: loop", "garbage", ""] {
        let disk = Disk::new();
        disk.link("loop", "loop");
        disk.put(".git", pointer);
        assert!(!is_protected(&disk.files(BOTH[0]), "file"), "{pointer:?}");
    }
}

#[test]
fn a_protected_name_on_the_way_is_enough() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    disk.put("plain", "x");
    // Made after the session began: `.git` is a link, and the path that is asked for names another link to it.
    disk.put("store/config", "x");
    disk.link("store", ".git");
    disk.link(".git", "alias");
    disk.link("plain", ".bashrc");
    assert!(is_protected(&files, "alias/hooks/x"));
    assert!(is_protected(&files, ".bashrc"));
    assert!(!is_protected(&files, "plain"));
}

#[test]
fn a19_a20_own_folders_are_protected_wherever_they_are_and_before_they_exist() {
    let disk = Disk::new();
    disk.put("state/real/x", "x");
    disk.link("state/real", "linked_state");
    let mut options = disk.options();
    options.protected = vec![disk.ws.join("linked_state"), disk.ws.join("not/yet"), disk.outside.join("config"), PathBuf::from("relative")];
    let files = open(options, BOTH[0]);
    for path in [
        "state/real/db",
        "linked_state/db",
        "STATE/Real/db",
        "not/yet/x",
        "not/yet",
        "../outside/config/haft.toml",
        "relative/x",
        ".haft/x",
    ] {
        let at = files.locate(Path::new(path)).unwrap();
        let why = at.no_write();
        assert!(
            why.is_some_and(|why| why.contains("Haft keeps its settings and records there, or one of its hooks runs it")),
            "{path}: {why:?}"
        );
    }
    for path in ["state/realx", "not/yetx", "not", "../outside/other"] {
        assert!(!is_protected(&files, path), "{path}");
    }
}

#[test]
fn a22_files_that_something_runs_are_protected_by_name() {
    let disk = Disk::new();
    let files = disk.files(BOTH[0]);
    for path in [
        ".bashrc",
        "x/.zshenv",
        ".config/fish/config.fish",
        ".ssh/authorized_keys",
        ".vscode/tasks.json",
        ".idea/x",
        ".envrc",
        ".npmrc",
        "/etc/crontab",
    ] {
        assert!(is_protected(&files, path), "{path}");
    }
}

#[tokio::test]
async fn what_may_not_be_read_is_not_read_under_any_name() {
    let disk = Disk::new();
    disk.put("a.key", "x");
    disk.put("plain", "x");
    disk.link("a.key", "innocent");
    disk.link("plain", "b.key");
    let mut options = disk.options();
    options.deny_read = vec!["**/*.key".into()];
    for way in BOTH {
        let files = open(options.clone(), way);
        for path in ["a.key", "A.KEY", "innocent", "b.key", "missing.key", "../outside/x.key", "/nowhere/y.key"] {
            let at = files.locate(Path::new(path)).unwrap();
            let expected = format!("'{path}' may not be read: workspace.deny_read has '**/*.key'. Ask the user for what you need of it.");
            assert_eq!(at.no_read(), Some(expected.as_str()));
            assert!(files.open(&at).await.is_err_and(|error| error.message() == expected), "{path}");
        }
        assert_eq!(files.locate(Path::new("plain")).unwrap().no_read(), None);
    }
}

#[test]
fn a_pattern_that_cannot_work_stops_the_session_before_it_begins() {
    let disk = Disk::new();
    let mut options = disk.options();
    options.deny_read = vec!["*.{pem,key}".into()];
    let error = LocalFiles::open(options).unwrap_err();
    let expected = "workspace.deny_read: the pattern '*.{pem,key}' contains '{'; only '*', '?' and '**' are special, so write one pattern for each case.";
    assert_eq!(error.message(), expected);
}

#[tokio::test]
async fn a_read_only_root_is_read_and_not_written() {
    let disk = Disk::new();
    let mut options = disk.options();
    options.read_only_roots = vec![disk.outside.clone()];
    for way in BOTH {
        let files = open(options.clone(), way);
        let path = disk.outside.join("secret");
        assert_eq!(crate::support::read(&files, &files.locate(&path).unwrap()).await.unwrap(), crate::support::SECRET);
        let error = write(&files, path.to_str().unwrap(), "x").await.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::PathNotAllowed);
        let error = files.delete(&files.locate(&path).unwrap(), &crate::support::Kept::default()).await.unwrap_err();
        assert_eq!(error.message(), format!("'{}' lies in a folder that may only be read.", path.display()));
    }
}
