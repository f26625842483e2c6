use std::fs;

use super::*;
use crate::WorkspaceOptions;

fn paths_of(options: WorkspaceOptions) -> SandboxPaths {
    LocalFiles::open(options).unwrap().sandbox_paths(&ScanCache::default())
}

#[test]
fn rules_of_the_tools_are_those_of_the_sandbox() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("w");
    let library = folder.path().canonicalize().unwrap().join("library");
    for directory in ["w/.git/info", "w/a/b/.idea", "w/node_modules/x", "w/.vscode", "w/state", "library/deep", "library/.idea"] {
        fs::create_dir_all(folder.path().join(directory)).unwrap();
    }
    for file in [
        ".git/config",
        "a/b/.env",
        "a/server.pem",
        "node_modules/x/.env",
        "node_modules/x/private.txt",
        "src.rs",
        "a/.bashrc",
        ".vscode/tasks.json",
        ".vscode/other.json",
        "hook.sh",
        "../library/deep/.env",
    ] {
        fs::write(root.join(file), "x").unwrap();
    }
    std::os::unix::fs::symlink("/etc", root.join(".claude")).unwrap();
    let options = WorkspaceOptions {
        protected: vec![root.join("state"), root.join("hook.sh"), "/elsewhere".into()],
        read_only_roots: vec![library.clone()],
        deny_read: vec!["private.txt".into()],
        ..WorkspaceOptions::new(&root)
    };
    let paths = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
    let expected = SandboxPaths {
        writable: vec![root.clone()],
        read_only: vec![library.clone()],
        protected: paths(&[".vscode/tasks.json", "a/.bashrc", "a/b/.idea", "hook.sh"]),
        masked: [vec![library.join("deep/.env")], paths(&["a/b/.env", "a/server.pem", "node_modules/x/private.txt", "state"])].concat(),
        pinned: paths(&["hook.sh", "state"]),
        repositories: paths(&[".git"]),
        uncovered: Vec::new(),
    };
    assert_eq!(paths_of(options), expected);
}

#[test]
fn paths_that_rules_know_by_their_place_are_pinned() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for file in ["a/b/secret/key", "a/b/named.key", "a/b/.env", "top/key", "x/config/prod/key"] {
        fs::create_dir_all(root.join(file).parent().unwrap()).unwrap();
        fs::write(root.join(file), "x").unwrap();
    }
    let deny_read = ["a/b/secret/**", "**/*.key", "top/**", "**/config/prod"].map(String::from).to_vec();
    let denied_by_rules = vec!["a/b/.env".to_owned()];
    let found = paths_of(WorkspaceOptions { deny_read, denied_by_rules, ..WorkspaceOptions::new(&root) });
    let paths = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
    assert_eq!(found.masked, paths(&["a/b/.env", "a/b/named.key", "a/b/secret", "top", "x/config/prod"]));
    assert_eq!(found.pinned, paths(&["a/b/.env", "a/b/secret", "x/config/prod"]));
}

#[test]
fn repositories_are_found_at_any_depth_and_pointers_are_protected() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for directory in [".git", "a/.git/objects", "b/c/.git", "node_modules/x/.git", "tree"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::write(root.join("tree/.git"), "gitdir: ../a/.git/worktrees/tree").unwrap();
    let paths = paths_of(WorkspaceOptions::new(&root));
    assert_eq!(paths.repositories, [".git", "a/.git", "b/c/.git"].map(|name| root.join(name)));
    assert_eq!(paths.protected, [root.join("tree/.git")]);
}

#[test]
fn repositories_beyond_the_bound_are_protected_whole() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for number in 0..70 {
        fs::create_dir_all(root.join(format!("{number}/.git"))).unwrap();
    }
    let paths = paths_of(WorkspaceOptions::new(&root));
    assert_eq!((paths.repositories.len(), paths.protected.len(), paths.uncovered.len()), (64, 6, 0));
}

#[test]
fn git_folder_of_a_linked_worktree_is_found_outside_if_it_names_the_workspace() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    let (main, work) = (root.join("main/.git"), root.join("work"));
    fs::create_dir_all(main.join("worktrees/work")).unwrap();
    fs::create_dir(&work).unwrap();
    fs::write(work.join(".git"), format!("gitdir: {}\n", main.join("worktrees/work").display())).unwrap();
    fs::write(main.join("worktrees/work/commondir"), "../..\n").unwrap();
    assert_eq!(paths_of(WorkspaceOptions::new(&work)).repositories, Vec::<PathBuf>::new(), "it does not name the workspace");
    fs::write(main.join("worktrees/work/gitdir"), format!("{}\n", work.join(".git").display())).unwrap();
    assert_eq!(paths_of(WorkspaceOptions::new(&work)).repositories, [main]);
}

#[test]
fn cached_folder_is_searched_again_when_it_changes() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("a/b")).unwrap();
    let files = LocalFiles::open(WorkspaceOptions::new(&root)).unwrap();
    let cache = ScanCache::default();
    assert_eq!(files.sandbox_paths(&cache).masked, Vec::<PathBuf>::new());
    for name in ["a/b/.env", "a/.env", ".env"] {
        fs::write(root.join(name), "x").unwrap();
        assert!(files.sandbox_paths(&cache).masked.contains(&root.join(name)), "{name}");
    }
    fs::rename(root.join("a"), root.join("c")).unwrap();
    assert_eq!(files.sandbox_paths(&cache).masked, [".env", "c/.env", "c/b/.env"].map(|name| root.join(name)));
}

#[test]
fn other_names_of_a_hidden_file_are_hidden_too() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("w");
    let library = folder.path().canonicalize().unwrap().join("library");
    for directory in [root.join("a/node_modules/x"), library.clone()] {
        fs::create_dir_all(directory).unwrap();
    }
    for name in [".env", "plain.txt"] {
        fs::write(root.join(name), "x").unwrap();
    }
    for (secret, link) in [(".env", root.join("a/notes.txt")), (".env", root.join("a/node_modules/x/y")), (".env", library.join("z"))] {
        fs::hard_link(root.join(secret), link).unwrap();
    }
    fs::hard_link(root.join("plain.txt"), root.join("a/plain.txt")).unwrap();
    let options = || WorkspaceOptions { read_only_roots: vec![library.clone()], ..WorkspaceOptions::new(&root) };
    let hidden = [library.join("z"), root.join(".env"), root.join("a/node_modules/x/y"), root.join("a/notes.txt")];
    assert_eq!(paths_of(options()).masked, hidden);
    // A name elsewhere stays to be found, which takes a search of everything and nothing else.
    fs::hard_link(root.join(".env"), folder.path().join("elsewhere")).unwrap();
    assert_eq!(paths_of(options()).masked, hidden);
}

#[test]
fn other_names_of_files_in_hidden_folders_are_hidden_too() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap().join("w");
    fs::create_dir_all(root.join("vault/deep")).unwrap();
    fs::create_dir_all(root.join("open")).unwrap();
    for name in ["vault/one", "vault/deep/two", "open/three"] {
        fs::write(root.join(name), "x").unwrap();
    }
    for (secret, link) in [("vault/one", "open/a"), ("vault/deep/two", "b"), ("vault/one", "vault/deep/c"), ("open/three", "open/d")] {
        fs::hard_link(root.join(secret), root.join(link)).unwrap();
    }
    let options = || WorkspaceOptions { deny_read: vec!["vault/**".into()], ..WorkspaceOptions::new(&root) };
    let paths = paths_of(options());
    let beside: Vec<_> = paths.masked.iter().filter(|path| !path.starts_with(root.join("vault"))).cloned().collect();
    assert_eq!(beside, [root.join("b"), root.join("open/a")]);
}

#[test]
fn what_settings_of_git_run_is_protected_for_tools_and_commands() {
    use haft_contract::ports::FileSystem;

    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for directory in [".git", "tools", ".husky/_", "src"] {
        fs::create_dir_all(root.join(directory)).unwrap();
    }
    fs::write(root.join("tools/clean"), "").unwrap();
    fs::write(root.join(".git/config"), "[core]\nhooksPath = .husky/_\nfsmonitor = ./gone\n[filter \"x\"]\nclean = tools/clean\n").unwrap();
    let files = LocalFiles::open(WorkspaceOptions::new(&root)).unwrap();
    assert_eq!(files.sandbox_paths(&ScanCache::default()).protected, [".husky", "tools/clean"].map(|name| root.join(name)));
    for (path, is_protected) in [
        (".husky/pre-commit", true),
        (".HUSKY/x", true),
        ("tools/clean", true),
        ("gone", true),
        ("tools/other", false),
        ("src/a.rs", false),
    ] {
        let location = files.locate(Path::new(path)).unwrap();
        assert_eq!(location.no_write().is_some(), is_protected, "{path}: {:?}", location.no_write());
    }
    // The repository above a workspace runs files in it as well.
    let files = LocalFiles::open(WorkspaceOptions::new(root.join("tools"))).unwrap();
    assert!(files.locate(Path::new("clean")).unwrap().no_write().is_some());
}

#[test]
fn sockets_in_the_roots_are_hidden_and_lists_of_submodules_can_be_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    fs::create_dir_all(root.join("run/deep")).unwrap();
    fs::write(root.join(".gitmodules"), "").unwrap();
    let sockets = [root.join("db.sock"), root.join("run/deep/plain")];
    let listeners = sockets.each_ref().map(|path| std::os::unix::net::UnixListener::bind(path).unwrap());
    let paths = paths_of(WorkspaceOptions::new(&root));
    assert_eq!((paths.masked, paths.protected), (sockets.to_vec(), Vec::new()));
    drop(listeners);
}
