//! The index is compared by what it tracks.

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
