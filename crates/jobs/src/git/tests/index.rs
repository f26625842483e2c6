//! The index is compared by what it tracks, and tracks nothing outside of the working tree.

use super::super::content::Content;
use super::*;

#[test]
fn refreshed_times_are_no_conflict_and_other_entries_are() {
    for version in ["2", "4"] {
        let world = World::new();
        world.git_ok(&["config", "index.version", version]);
        world.git_ok(&["update-index", "--index-version", version]);
        let refresh = || {
            let old = std::time::SystemTime::now() - std::time::Duration::from_secs(1000);
            fs::File::options().write(true).open(world.work.join("a")).unwrap().set_modified(old).unwrap();
            let before = fs::read(world.git_dir().join("index")).unwrap();
            world.git_ok(&["status"]);
            assert_ne!(fs::read(world.git_dir().join("index")).unwrap(), before, "the index was refreshed");
        };
        let report = world.run_then("echo b > b; git add b; git commit -qm b", refresh);
        assert_eq!((report.conflicts, report.refused), (vec![], vec![]));
        assert_eq!(world.git_ok(&["status", "--porcelain"]), "");
        let report = world.run_then("echo c > c; git add c; git commit -qm c", || {
            fs::write(world.work.join("staged"), "x").unwrap();
            world.git_ok(&["add", "staged"]);
        });
        assert!(report.conflicts.contains(&world.git_dir().join("index")), "{report:?}");
        assert!(world.git_ok(&["diff", "--cached", "--name-only"]).contains("staged"));
    }
}

#[test]
fn every_kind_of_index_that_git_writes_is_accepted() {
    for script in [
        "echo b > b; git add b",
        "git update-index --index-version 4; mkdir -p x/y; echo b > x/y/one; echo c > x/y/other; git add x",
        "echo b > b; git add -N b",
        "git update-index --split-index; echo b > b; git add b; git rm -q --cached a",
        "git update-index --untracked-cache; mkdir d; echo b > d/b; git add d; git status",
        "mkdir d e; echo b > d/b; echo c > e/c; git add d e; git commit -qm c; git sparse-checkout set --cone --sparse-index d",
        "git rm -q --cached a",
    ] {
        let world = World::new();
        let report = world.run(script);
        assert!(report.refused.is_empty() && report.applied > 0, "{script}: {report:?}");
        let index = fs::read(world.git_dir().join("index")).unwrap();
        assert!(Content::Index.accepts(&index), "{script}");
    }
}

/// An index with one entry, and one with what follows it.
fn stored(name: &[u8], length: u16, rest: &[u8]) -> Vec<u8> {
    let mut bytes = b"DIRC\0\0\0\x02\0\0\0\x01".to_vec();
    let mut entry = vec![0; 60];
    entry.extend(length.to_be_bytes());
    entry.extend(name);
    entry.resize((entry.len() + 8) & !7, 0);
    bytes.extend(entry);
    bytes.extend(rest);
    bytes.extend([0; 20]);
    bytes
}

#[test]
fn index_that_leads_git_elsewhere_is_refused() {
    let index = |name: &str| stored(name.as_bytes(), u16::try_from(name.len()).unwrap(), b"");
    for (name, is_usual) in [
        ("a", true),
        ("src/.github/x", true),
        (".gitignore", true),
        ("a/..b/...", true),
        ("folder/", true),
        (".git/hooks/post-checkout", false),
        ("sub/.GIT/config", false),
        ("sub/git~1/config", false),
        (".git", false),
        ("../x", false),
        ("a/../../x", false),
        ("./x", false),
        ("/etc/x", false),
        ("a//b", false),
        ("", false),
    ] {
        assert_eq!(Content::Index.accepts(&index(name)), is_usual, "{name}");
    }
    // Git would read other entries than we.
    assert!(!Content::Index.accepts(&stored(b"harmless", 1, b"")));
    for (extension, is_usual) in
        [(&b"TREE\0\0\0\x01x"[..], true), (b"IEOT\0\0\0\0", false), (b"EOIE\0\0\0\0", false), (b"TREE\0\0\0\x09x", false)]
    {
        assert_eq!(Content::Index.accepts(&stored(b"a", 1, extension)), is_usual, "{extension:?}");
    }
    for bytes in [&b""[..], b"DIRC", b"garbage"] {
        assert!(!Content::Index.accepts(bytes), "{bytes:?}");
    }
}
