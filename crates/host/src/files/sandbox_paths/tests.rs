use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

use super::scan::ReadHook;
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
        identities: BTreeMap::new(),
        uncovered: Vec::new(),
        moving: Vec::new(),
    };
    let found = paths_of(options);
    let searched = [&expected.writable, &expected.read_only, &expected.protected, &expected.masked, &expected.repositories];
    let identities: BTreeMap<_, _> = searched.into_iter().flatten().map(|path| (path.clone(), identity_of(path).unwrap())).collect();
    assert_eq!(found, SandboxPaths { identities, ..expected });
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

/// A cache whose hook moves something when a folder is read.
fn moving_cache(mover: impl FnMut(&Path) + Send + 'static) -> ScanCache {
    let cache = ScanCache::default();
    cache.lock().before_read = Some(ReadHook(Box::new(mover)));
    cache
}

/// A root with folders `a` to `h`, and a secret in `a/moved`.
fn root_with_folders() -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().canonicalize().unwrap();
    for name in ["a", "b", "c", "d", "e", "f", "g", "h"] {
        fs::create_dir_all(root.join(name).join("inner")).unwrap();
    }
    fs::create_dir(root.join("a/moved")).unwrap();
    fs::write(root.join("a/moved/.env"), "x").unwrap();
    (folder, root)
}

#[test]
fn secret_that_is_moved_while_the_roots_are_searched_is_found() {
    let (_folder, root) = root_with_folders();
    let files = LocalFiles::open(WorkspaceOptions::new(&root)).unwrap();
    let inside = root;
    let (mut read, mut moves) = (Vec::new(), 0);
    // From where the search goes next to where it was just before.
    let cache = moving_cache(move |folder| {
        if let Some(before) = read.last().filter(|before: &&PathBuf| before.parent() == Some(&inside) && moves < 6) {
            let from = ["a", "b", "c", "d", "e", "f", "g", "h"].map(|name| inside.join(name).join("moved"));
            let from = from.iter().find(|path| path.exists()).unwrap();
            moves += usize::from(fs::rename(from, before.join("moved")).is_ok());
        }
        read.push(folder.to_owned());
    });
    let found = files.sandbox_paths(&cache);
    let wanted = files.sandbox_paths(&ScanCache::default());
    assert_eq!((found.masked.len(), found), (1, wanted));
}

#[test]
fn folder_that_is_exchanged_before_it_is_read_is_not_taken_for_another_later() {
    let (_folder, root) = root_with_folders();
    let files = LocalFiles::open(WorkspaceOptions::new(&root)).unwrap();
    let (inside, mut is_away) = (root.clone(), false);
    let exchange = |root: &Path| {
        let (one, other) = (root.join("a/moved"), root.join("b/inner"));
        rustix::fs::renameat_with(rustix::fs::CWD, one, rustix::fs::CWD, other, rustix::fs::RenameFlags::EXCHANGE).unwrap();
    };
    let cache = moving_cache(move |folder| {
        if folder == inside.join("a/moved") && !is_away {
            exchange(&inside);
            is_away = true;
        }
    });
    assert_eq!(files.sandbox_paths(&cache).masked, [root.join("b/inner/.env")]);
    cache.lock().before_read = None;
    exchange(&root);
    assert_eq!(files.sandbox_paths(&cache).masked, [root.join("a/moved/.env")], "the cache knows the folders by what they are");
}

#[test]
fn search_that_finds_no_moment_of_rest_says_so() {
    let (_folder, root) = root_with_folders();
    let files = LocalFiles::open(WorkspaceOptions::new(&root)).unwrap();
    let inside = root.clone();
    let cache = moving_cache(move |_| {
        let (one, other) = (inside.join("a/moved"), inside.join("b/moved"));
        fs::rename(&one, &other).or_else(|_| fs::rename(&other, &one)).unwrap();
    });
    let moving = files.sandbox_paths(&cache).moving;
    assert!(moving.len() == 1 && moving[0].starts_with(&root), "{moving:?}");
}

#[test]
fn files_that_are_written_and_renamed_all_the_time_delay_nothing() {
    let (_folder, root) = root_with_folders();
    let files = LocalFiles::open(WorkspaceOptions::new(&root)).unwrap();
    let (inside, mut count) = (root.clone(), 0);
    let cache = moving_cache(move |_| {
        for folder in ["", "a", "a/moved", "h"] {
            count += 1;
            let path = inside.join(folder).join(format!("written-{}", count % 50));
            fs::write(&path, "x").unwrap();
            fs::rename(&path, path.with_extension("js")).unwrap();
        }
    });
    for _ in 0..20 {
        let found = files.sandbox_paths(&cache);
        assert_eq!((found.masked, found.moving), (vec![root.join("a/moved/.env")], Vec::new()));
    }
}

#[test]
fn secret_that_was_moved_into_a_generated_folder_stays_hidden_until_it_is_gone() {
    let (folder, root) = root_with_folders();
    fs::create_dir_all(root.join("target/debug")).unwrap();
    fs::write(root.join("target/debug/cert.pem"), "x").unwrap();
    let files = LocalFiles::open(WorkspaceOptions::new(&root)).unwrap();
    let data = folder.path().join("h/secrets");
    let masked = || files.sandbox_paths(&ScanCache::with_secrets_in(data.clone())).masked;
    let same = ScanCache::with_secrets_in(data.clone());
    assert_eq!(files.sandbox_paths(&same).masked, [root.join("a/moved/.env")]);
    for (from, to) in [("a/moved", "target/debug/x"), ("target/debug/x", "b/.git"), ("b", "node_modules"), ("node_modules", "c/b")] {
        fs::rename(root.join(from), root.join(to)).unwrap();
        let secrets = if to == "target/debug/x" { root.join("target/debug/x/.env") } else { masked()[0].clone() };
        assert_eq!(masked(), std::slice::from_ref(&secrets), "{to}");
        assert_eq!(files.sandbox_paths(&same).masked, [secrets], "{to}");
    }
    assert_eq!(masked(), [root.join("c/b/.git/.env")]);
    fs::remove_file(root.join("c/b/.git/.env")).unwrap();
    assert_eq!(masked(), Vec::<PathBuf>::new(), "what was generated stays visible");
}

#[test]
fn folder_that_its_owner_has_closed_is_hidden() {
    if rustix::process::geteuid().is_root() {
        // Root reads every folder.
        return;
    }
    let (_folder, root) = root_with_folders();
    let files = LocalFiles::open(WorkspaceOptions::new(&root)).unwrap();
    let cache = ScanCache::default();
    for (mode, hidden) in [(0o000, "a"), (0o100, "a"), (0o400, "a"), (0o600, "a"), (0o700, "a/moved/.env")] {
        fs::set_permissions(root.join("a"), Permissions::from_mode(mode)).unwrap();
        let found = files.sandbox_paths(&cache);
        assert_eq!((found.masked, found.moving), (vec![root.join(hidden)], Vec::new()), "{mode:o}");
    }
}

#[test]
fn tests_of_closed_folders_pass_as_an_unprivileged_user() {
    let again = haft_testkit::again_as_an_ordinary_user(&["folder_that_its_owner_has_closed_is_hidden"], &[]);
    again.unwrap_or_else(|output| panic!("{output}"));
}
