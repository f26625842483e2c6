//! Random trees of links and random paths through them: our resolution is the kernel's, and never leaves the workspace.

use std::path::{Path, PathBuf};

use haft_contract::{WriteMode, Zone, ports::FileSystem};
use proptest::prelude::*;

use crate::support::{BOTH, Disk, Kept, SECRET, read, tree};

const FOLDERS: [&str; 4] = ["", "a", "a/b", "c"];

fn name() -> impl Strategy<Value = &'static str> {
    prop::sample::select(vec![
        "..", "..", ".", "", "a", "b", "c", "file", "secret", "outside", "ws", "missing", "l0", "l1", "l2", "l3", "l4",
    ])
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(name(), 1..8).prop_map(|names| names.join("/"))
}

/// What a link points to: somewhere relative, in the workspace by its full path, or outside by its full path.
#[derive(Debug, Clone)]
enum Target {
    Relative(String),
    Workspace(String),
    Outside(String),
}

fn target() -> impl Strategy<Value = Target> {
    prop_oneof![path().prop_map(Target::Relative), path().prop_map(Target::Workspace), path().prop_map(Target::Outside)]
}

fn links() -> impl Strategy<Value = Vec<(&'static str, usize, Target)>> {
    prop::collection::vec((prop::sample::select(FOLDERS.to_vec()), 0_usize..5, target()), 0..8)
}

fn plant(disk: &Disk, links: &[(&'static str, usize, Target)]) {
    for folder in FOLDERS {
        disk.put(Path::new(folder).join("file").to_str().unwrap(), "inside");
    }
    std::fs::create_dir_all(disk.outside.join("a/b")).unwrap();
    for path in ["file", "a/file", "a/b/file", "a/secret"] {
        std::fs::write(disk.outside.join(path), SECRET).unwrap();
    }
    for (folder, number, target) in links {
        let target = match target {
            Target::Relative(path) if path.is_empty() => PathBuf::from("."),
            Target::Relative(path) => PathBuf::from(path),
            Target::Workspace(path) => PathBuf::from(format!("{}/{path}", disk.ws.display())),
            Target::Outside(path) => PathBuf::from(format!("{}/{path}", disk.outside.display())),
        };
        // Two links may want one name; the first has it.
        let _ = std::os::unix::fs::symlink(target, disk.ws.join(folder).join(format!("l{number}")));
    }
}

/// One path, through one tree: everything that must hold.
async fn holds(disk: &Disk, requested: &str) {
    let real = disk.ws.join(requested).canonicalize();
    let outside = tree(&disk.outside);
    for way in BOTH {
        let files = disk.files(way);
        let at = match files.locate(Path::new(requested)) {
            Ok(at) => at,
            Err(error) => {
                assert!(real.is_err(), "{requested} is {real:?}, but: {error}");
                continue;
            }
        };
        if let Ok(real) = &real {
            assert_eq!(at.path(), real, "{requested}");
        }
        assert_eq!(at.zone() == Zone::Workspace, at.path().starts_with(&disk.ws), "{requested}");
        if at.zone() == Zone::Outside {
            continue;
        }
        if let Ok(again) = at.path().canonicalize() {
            assert_eq!(again, at.path(), "{requested} is not free of links");
        }
        if let Ok(content) = read(&files, &at).await {
            assert_eq!(content, "inside", "{requested}");
        }
        if files.write(&at, "inside".into(), WriteMode::Overwrite, &Kept::default()).await.is_ok() {
            assert_eq!(std::fs::read_to_string(at.path()).unwrap(), "inside", "{requested}");
        }
        assert_eq!(tree(&disk.outside), outside, "{requested}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn no_path_through_any_links_leaves_the_workspace(links in links(), paths in prop::collection::vec(path(), 1..6)) {
        let disk = Disk::new();
        plant(&disk, &links);
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        for path in paths.iter().filter(|path| !path.is_empty() && !path.starts_with('/')) {
            runtime.block_on(holds(&disk, path));
        }
    }
}
