//! Files and folders that only this user can read.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use haft_store::{CallLog, SqliteCallLog};
use tempfile::tempdir;

use super::{listing, mode, open, set_mode};
use crate::common::{ids, record};

fn modes(folder: &Path) -> Vec<(String, u32)> {
    listing(folder, mode)
}

#[tokio::test]
async fn everything_is_private() {
    let outer = tempdir().unwrap();
    let folder = outer.path().join("a/b");
    let private: Vec<_> = ["haft.db", "haft.db-shm", "haft.db-wal"].map(|name| (name.to_owned(), 0o600)).into();
    let log = open(&folder);
    log.append(record("r1")).unwrap();
    log.flush().await.unwrap();
    assert_eq!((mode(&outer.path().join("a")), mode(&folder), modes(&folder)), (0o700, 0o700, private.clone()));

    set_mode(&folder, 0o755);
    for (name, _) in &private {
        set_mode(&folder.join(name), 0o664);
    }
    let second = open(&folder);
    assert_eq!((mode(&folder), modes(&folder)), (0o700, private));
    assert_eq!(ids(&second).await, ["r1"]);
}

#[tokio::test]
async fn folders_and_files_that_may_be_someone_elses_are_refused() {
    let outer = tempdir().unwrap();
    let folder = |name: &str| {
        let folder = outer.path().join(name);
        fs::create_dir(&folder).unwrap();
        folder
    };
    let real = folder("real");
    let link = outer.path().join("link");
    symlink(&real, &link).unwrap();
    let shared = folder("shared");
    set_mode(&shared, 0o1777);
    let linked_file = folder("linked-file");
    symlink(outer.path().join("target"), linked_file.join("haft.db")).unwrap();

    let is_link = "it is a symbolic link or a file: move it away, or set HAFT_HOME to a real folder";
    let cases = [
        (link.clone(), link.clone(), is_link),
        (link.join(""), link, is_link),
        (shared.clone(), shared.clone(), "it is a folder that users share: set HAFT_HOME to a folder of your own"),
        (linked_file.clone(), linked_file.join("haft.db"), "it is not an ordinary file: move it away"),
    ];
    for (folder, culprit, problem) in cases {
        let error = SqliteCallLog::open(&folder).unwrap_err().to_string();
        assert_eq!(error, format!("{} cannot hold private data: {problem}", culprit.display()));
    }
    assert_eq!((mode(&shared), modes(&real).len(), outer.path().join("target").exists()), (0o1777, 0, false));
}

#[test]
fn a_folder_of_another_user_is_refused() {
    let folder = tempdir().unwrap();
    let me = rustix::process::geteuid().as_raw();
    // Root can give a folder away; for everyone else the root folder is someone else's.
    let (path, owner) = if me == 0 { (folder.path(), 1) } else { (Path::new("/"), 0) };
    if me == 0 {
        std::os::unix::fs::chown(path, Some(owner), None).unwrap();
    }
    let problem = format!("it belongs to user {owner}, this is user {me}: set HAFT_HOME to a folder of your own");
    let error = SqliteCallLog::open(path).unwrap_err().to_string();
    assert_eq!(error, format!("{} cannot hold private data: {problem}", path.display()));
}
