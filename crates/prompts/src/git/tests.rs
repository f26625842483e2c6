use std::fs;
use std::process::Command;

use super::*;

fn git(root: &Path, arguments: &[&str]) {
    let output = Command::new("git")
        .args(["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main"])
        .args(arguments)
        .current_dir(root)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .output()
        .unwrap();
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
}

fn repository() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    git(folder.path(), &["init", "-q"]);
    fs::create_dir(folder.path().join("src")).unwrap();
    for name in ["a.txt", "b.txt", "src/long_name_of_a_file.rs", "src/long_name_of_b.rs"] {
        fs::write(folder.path().join(name), "one\n").unwrap();
    }
    git(folder.path(), &["add", "."]);
    git(folder.path(), &["commit", "-qm", "one"]);
    folder
}

fn said(root: &Path) -> String {
    GitState::read(root).map_or_else(|| "nothing".into(), |state| state.to_string())
}

#[test]
fn branch_and_changes_are_read_in_every_version_of_the_index() {
    let folder = repository();
    let root = folder.path();
    for version in ["2", "3", "4"] {
        git(root, &["update-index", "--index-version", version]);
        assert_eq!(said(root), "branch main, no changed files", "{version}");
        fs::write(root.join("src/long_name_of_b.rs"), "other content\n").unwrap();
        fs::remove_file(root.join("a.txt")).unwrap();
        assert_eq!(said(root), "branch main, 2 changed files not staged", "{version}");
        git(root, &["checkout", "-q", "--", "."]);
    }
    git(root, &["checkout", "-q", "-b", "feature/x"]);
    fs::write(root.join(".git/MERGE_HEAD"), "").unwrap();
    assert_eq!(said(root), "branch feature/x, no changed files, a merge is in progress");
    fs::remove_file(root.join(".git/MERGE_HEAD")).unwrap();
    git(root, &["checkout", "-q", "--detach"]);
    assert!(said(root).starts_with("on commit "), "{}", said(root));
}

#[test]
fn worktree_is_read_and_a_file_that_points_elsewhere_is_not() {
    let folder = repository();
    let tree = tempfile::tempdir().unwrap();
    let path = tree.path().join("tree");
    git(folder.path(), &["worktree", "add", "-q", "-b", "other", path.to_str().unwrap()]);
    assert_eq!(said(&path), "branch other, no changed files");
    let hostile = tempfile::tempdir().unwrap();
    fs::write(hostile.path().join(".git"), format!("gitdir: {}\n", folder.path().join(".git").display())).unwrap();
    assert_eq!(said(hostile.path()), "nothing", "that repository does not name this folder");
}

#[test]
fn hostile_repositories_are_read_without_running_anything_or_following_links() {
    let folder = repository();
    let root = folder.path();
    let ran = root.join("ran");
    for setting in ["core.fsmonitor", "core.hooksPath", "filter.x.clean", "core.editor"] {
        git(root, &["config", setting, &format!("touch {}", ran.display())]);
    }
    fs::write(root.join(".gitattributes"), "* filter=x\n").unwrap();
    fs::write(root.join("a.txt"), "changed\n").unwrap();
    assert_eq!(said(root), "branch main, 1 changed file not staged");
    assert!(!ran.exists());
    for (name, content) in [("HEAD", "ref: refs/heads/\u{1b}[2Jx\n"), ("index", "DIRC\0\0\0\x02\0\0\x10\0short")] {
        fs::write(root.join(".git").join(name), content).unwrap();
    }
    assert_eq!(said(root), "branch \\u{1b}[2Jx");
    fs::remove_file(root.join(".git/HEAD")).unwrap();
    std::os::unix::fs::symlink("/etc/hostname", root.join(".git/HEAD")).unwrap();
    assert_eq!(said(root), "nothing");
    assert_eq!(repository_root(&root.join("src")).as_deref(), Some(root));
}
