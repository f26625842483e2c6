//! What ignore files leave out. The check is the library that ripgrep itself walks with.

use std::collections::BTreeSet;
use std::path::Path;

use haft_contract::TreeOptions;
use ignore::WalkBuilder;
use proptest::prelude::*;

use crate::support::{BOTH, Disk};
use crate::walking::walk;

async fn visited(disk: &Disk, path: &str, options: TreeOptions) -> Vec<String> {
    walk(&disk.files(BOTH[0]), path, options).await.unwrap().0
}

#[tokio::test]
async fn ignore_files_are_heeded_unless_asked_otherwise() {
    let disk = Disk::new();
    for path in ["a.rs", "a.log", "target/x", "src/b.rs", "src/b.log", "src/keep.log", "src/target/y", "node_modules/m/i.js", "c.tmp"] {
        disk.put(path, "x");
    }
    disk.put(".gitignore", "*.log\n/target\nnode_modules/\n");
    disk.put("src/.gitignore", "!keep.log\n");
    disk.put(".ignore", "*.tmp\n");
    let expected = ["a.rs", "src/b.rs", "src/keep.log", "src/target/y"];
    // Without a repository, and with one.
    assert_eq!(visited(&disk, ".", TreeOptions::default()).await, expected);
    std::fs::create_dir(disk.ws.join(".git")).unwrap();
    assert_eq!(visited(&disk, ".", TreeOptions::default()).await, expected);
    let all = visited(&disk, ".", TreeOptions::default().with_ignored(true)).await;
    assert_eq!(all, ["a.log", "a.rs", "c.tmp", "node_modules/m/i.js", "src/b.log", "src/b.rs", "src/keep.log", "src/target/y", "target/x"]);
}

#[tokio::test]
async fn folders_above_the_search_count_and_a_named_folder_is_searched_itself() {
    let disk = Disk::new();
    for path in ["src/a.rs", "src/a.log", "target/b.rs", "target/b.log"] {
        disk.put(path, "x");
    }
    disk.put(".gitignore", "*.log\ntarget/\n");
    assert_eq!(visited(&disk, "src", TreeOptions::default()).await, ["a.rs"]);
    assert_eq!(visited(&disk, "target", TreeOptions::default()).await, ["b.rs"]);
    // Above the workspace, only a repository that it lies in counts.
    std::fs::write(disk.base.join(".gitignore"), "*.rs\n").unwrap();
    assert_eq!(visited(&disk, "src", TreeOptions::default()).await, ["a.rs"]);
    std::fs::create_dir(disk.base.join(".git")).unwrap();
    assert_eq!(visited(&disk, "src", TreeOptions::default()).await, Vec::<String>::new());
    // A repository within another is checked by its own rules.
    std::fs::create_dir(disk.ws.join(".git")).unwrap();
    assert_eq!(visited(&disk, "src", TreeOptions::default()).await, ["a.rs"]);
}

#[tokio::test]
async fn a_repositorys_own_list_counts_also_in_a_working_tree_elsewhere() {
    let disk = Disk::new();
    disk.put("a.rs", "x");
    disk.put("a.local", "x");
    disk.put(".git/info/exclude", "*.local\n");
    assert_eq!(visited(&disk, ".", TreeOptions::default()).await, ["a.rs"]);

    let disk = Disk::new();
    disk.put("tree/a.rs", "x");
    disk.put("tree/a.local", "x");
    disk.put("main/.git/info/exclude", "*.local\n");
    disk.put("main/.git/worktrees/t/commondir", "../..\n");
    disk.put("tree/.git", &format!("gitdir: {}\n", disk.ws.join("main/.git/worktrees/t").display()));
    assert_eq!(visited(&disk, "tree", TreeOptions::default()).await, ["a.rs"]);
}

#[tokio::test]
async fn ignore_files_that_are_broken_huge_or_no_files_do_no_harm() {
    let disk = Disk::new();
    disk.put("a.rs", "x");
    disk.put("b.log", "x");
    let not_text = [b"\xff\xfe\n".as_slice(), b"[a\n{\n\\\n*.log\n"].concat();
    std::fs::write(disk.ws.join(".gitignore"), not_text).unwrap();
    assert_eq!(visited(&disk, ".", TreeOptions::default()).await, ["a.rs"], "the lines that can be read count");

    std::fs::write(disk.ws.join(".gitignore"), format!("*.log\n{}", "#".repeat(5 << 20))).unwrap();
    assert_eq!(visited(&disk, ".", TreeOptions::default()).await, ["a.rs"]);

    std::fs::remove_file(disk.ws.join(".gitignore")).unwrap();
    rustix::fs::mknodat(rustix::fs::CWD, disk.ws.join(".gitignore"), rustix::fs::FileType::Fifo, rustix::fs::Mode::RWXU, 0).unwrap();
    std::fs::create_dir(disk.ws.join(".ignore")).unwrap();
    assert_eq!(visited(&disk, ".", TreeOptions::default()).await, ["a.rs", "b.log"]);

    // One that is a link would bring in what is outside.
    std::fs::remove_file(disk.ws.join(".gitignore")).unwrap();
    std::fs::write(disk.outside.join("rules"), "*.rs\n").unwrap();
    disk.link(disk.outside.join("rules"), ".gitignore");
    assert_eq!(visited(&disk, ".", TreeOptions::default()).await, ["a.rs", "b.log"]);
}

#[tokio::test]
async fn a_folder_too_large_to_hold_finds_its_rules_all_the_same() {
    let disk = Disk::new();
    for number in 0..5000 {
        disk.put(&format!("{number}.{}", if number % 2 == 0 { "rs" } else { "log" }), "");
    }
    disk.put(".gitignore", "*.log\n");
    assert_eq!(visited(&disk, ".", TreeOptions::default()).await.len(), 2500);
}

/// What ripgrep's library visits.
fn checked(root: &Path, hidden: bool, in_repository: bool) -> BTreeSet<String> {
    let mut builder = WalkBuilder::new(root);
    builder.hidden(!hidden).add_custom_ignore_filename(".rgignore").current_dir(root);
    // Without a repository, our rule is: as if there were one, but not above the workspace.
    builder.require_git(in_repository).parents(in_repository);
    let files = builder.build().map(Result::unwrap).filter(|entry| entry.file_type().is_some_and(|kind| kind.is_file()));
    let paths = files.map(|entry| entry.path().strip_prefix(root).unwrap().display().to_string());
    paths.filter(|path| !path.split('/').any(|name| name == ".git")).collect()
}

fn names() -> impl Strategy<Value = String> {
    prop_oneof![Just("a"), Just("b"), Just("c.x"), Just("d.y"), Just(".h"), Just("e f")].prop_map(str::to_owned)
}

fn lines() -> impl Strategy<Value = String> {
    let one = prop_oneof![
        Just("a"),
        Just("/a"),
        Just("a/"),
        Just("*.x"),
        Just("!*.x"),
        Just("b/c.x"),
        Just("/b/*"),
        Just("!b/a"),
        Just("**/d.y"),
        Just("a/**"),
        Just("# a"),
        Just(""),
        Just("!.h"),
        Just("\\!a"),
        Just("[ab]"),
        Just("e f"),
        Just("e\\ f "),
        Just("!/a/"),
        Just("*"),
        Just("!a"),
        Just("b/**/a")
    ];
    proptest::collection::vec(one, 1..4).prop_map(|lines| lines.join("\n"))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]
    #[test]
    fn what_is_visited_is_what_ripgreps_library_visits(
        files in proptest::collection::vec(proptest::collection::vec(names(), 1..4), 1..12),
        rules in proptest::collection::vec((proptest::collection::vec(names(), 0..3), 0..3_usize, lines()), 0..5),
        exclude in proptest::option::of(lines()),
        inner in proptest::option::of(names()),
        in_repository: bool,
        hidden: bool,
    ) {
        let disk = Disk::new();
        let make = |path: String, content: &str| {
            let path = disk.ws.join(path);
            // A name that is a file already stays one.
            if std::fs::create_dir_all(path.parent().unwrap()).is_ok() && !path.is_dir() {
                let _ = std::fs::write(path, content);
            }
        };
        for names in &files {
            make(names.join("/"), "x");
        }
        for (mut names, kind, lines) in rules {
            names.push([".gitignore", ".ignore", ".rgignore"][kind].to_owned());
            make(names.join("/"), &lines);
        }
        if in_repository {
            make(".git/info/exclude".into(), &exclude.unwrap_or_default());
            if let Some(inner) = inner {
                make(format!("{inner}/.git/HEAD"), "x");
            }
        }
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let visited = runtime.block_on(visited(&disk, ".", TreeOptions::default().with_hidden(hidden)));
        let visited: BTreeSet<String> = visited.into_iter().collect();
        prop_assert_eq!(visited, checked(&disk.ws, hidden, in_repository));
    }
}
