//! The index follows the files, and can be lost.

use std::os::unix::fs::PermissionsExt;

use super::world::World;

#[tokio::test]
async fn every_change_is_found_by_the_next_search() {
    let world = World::new(&[("MEMORY.md", "alpha\n")]);
    assert_eq!(world.found("alpha").await, ["MEMORY.md#L1"]);
    world.write("MEMORY.md", "bravo\n");
    assert_eq!((world.found("alpha").await, world.found("bravo").await), (vec![], vec!["MEMORY.md#L1".to_owned()]));
    // The same size, right after the last search: the time of the change may be the same, too.
    for word in ["delta", "gamma", "kappa", "omega", "sigma", "theta"] {
        world.write("MEMORY.md", format!("{word}\n"));
        assert_eq!(world.found(word).await, ["MEMORY.md#L1"], "{word}");
    }
    world.write("memory/new.md", "charlie\n");
    assert_eq!(world.found("charlie").await, ["memory/new.md#L1"]);
    std::fs::rename(world.path("memory/new.md"), world.path("memory/moved.md")).unwrap();
    assert_eq!(world.found("charlie").await, ["memory/moved.md#L1"]);
    std::fs::remove_file(world.path("memory/moved.md")).unwrap();
    assert_eq!(world.found("charlie").await, Vec::<String>::new());
}

/// What happens to an index.
type Damage = fn(&std::path::Path);

#[tokio::test]
async fn an_index_that_is_deleted_damaged_or_of_another_version_is_built_anew() {
    let mut world = World::new(&[("MEMORY.md", "alpha\n")]);
    world.search("alpha").await;
    let damages: [(&str, Damage); 4] = [
        ("", |path| std::fs::remove_dir_all(path.parent().unwrap()).unwrap()),
        ("was damaged and is built anew", |path| {
            remove_log(path);
            std::fs::write(path, vec![7; 20_000]).unwrap();
        }),
        ("was damaged and is built anew", |path| {
            remove_log(path);
            let mut bytes = std::fs::read(path).unwrap();
            let length = bytes.len();
            bytes[4096..length.min(4096 * 12)].fill(0xa5);
            std::fs::write(path, bytes).unwrap();
        }),
        ("is of another version of haft and is built anew", |path| {
            rusqlite::Connection::open(path).unwrap().pragma_update(None, "user_version", 999).unwrap();
        }),
    ];
    for (warning, damage) in damages {
        world = world.restart(None);
        damage(&world.index());
        let answer = world.search("alpha").await;
        assert_eq!(answer.hits.len(), 1, "{warning}");
        assert_eq!(
            answer.warnings.iter().filter(|said| !warning.is_empty() && said.contains(warning)).count(),
            usize::from(!warning.is_empty()),
            "{:?}",
            answer.warnings
        );
    }
}

fn remove_log(path: &std::path::Path) {
    for end in ["-wal", "-shm"] {
        std::fs::remove_file(format!("{}{end}", path.display())).ok();
    }
}

#[tokio::test]
async fn an_index_that_another_process_locks_is_replaced_by_one_in_memory() {
    let world = World::new(&[("MEMORY.md", "alpha\n")]);
    world.search("alpha").await;
    let world = world.restart(None);
    // As while another process opens it.
    let folder = std::fs::File::open(world.index().parent().unwrap()).unwrap();
    rustix::fs::flock(&folder, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let answer = world.search("alpha").await;
    assert_eq!(answer.hits.len(), 1);
    assert!(answer.warnings[0].starts_with("An index in memory is used for this process, because the database"), "{:?}", answer.warnings);
}

#[tokio::test]
async fn a_write_that_is_locked_out_leaves_the_old_state_and_says_so() {
    let world = World::new(&[("MEMORY.md", "alpha\n")]);
    world.search("alpha").await;
    let other = rusqlite::Connection::open(world.index()).unwrap();
    other.execute_batch("BEGIN IMMEDIATE").unwrap();
    world.write("memory/b.md", "bravo\n");
    let answer = world.search("alpha").await;
    assert_eq!(answer.hits.len(), 1);
    assert!(answer.warnings[0].starts_with("The newest changes of memory are not found yet"), "{:?}", answer.warnings);
    other.execute_batch("ROLLBACK").unwrap();
    assert_eq!(world.found("bravo").await, ["memory/b.md#L1"]);
}

#[tokio::test]
async fn the_index_is_private_and_outside_of_the_workspace() {
    let world = World::new(&[("MEMORY.md", "alpha\n")]);
    world.search("alpha").await;
    let mode = |path: std::path::PathBuf| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(world.index()), mode(world.data().join("memory"))), (0o600, 0o700));
    assert_eq!(std::fs::read_dir(world.path("")).unwrap().count(), 1, "nothing is written beside the notes");
}

#[tokio::test]
async fn what_may_not_be_read_is_not_found() {
    let mut world = World::new(&[("memory/open.md", "the word is swordfish\n"), ("memory/secret/a.md", "the other word is marlin\n")]);
    assert_eq!(world.found("marlin").await, ["memory/secret/a.md#L1"]);
    world.deny_read = vec!["memory/secret/**".into()];
    assert_eq!(world.found("marlin").await, Vec::<String>::new(), "although the index had it");
    assert_eq!(world.found("swordfish").await, ["memory/open.md#L1"]);
}

#[tokio::test]
async fn two_searches_at_once_agree() {
    let world = World::new(&[("MEMORY.md", "alpha\n"), ("memory/b.md", "bravo\n")]);
    let (one, other) = tokio::join!(world.found("alpha"), world.found("bravo"));
    assert_eq!((one, other), (vec!["MEMORY.md#L1".to_owned()], vec!["memory/b.md#L1".to_owned()]));
}
