//! A data folder that is removed or replaced while it is used.

use std::fs;
use std::io::Cursor;

use haft_store::{Blobs, CallLog, FileBlobs};
use tempfile::tempdir;

use super::open;
use crate::common::{ids, record};

#[tokio::test]
async fn a_folder_that_vanishes_is_reported_by_what_is_written_next() {
    for replaced in [false, true] {
        let outer = tempdir().unwrap();
        let folder = outer.path().join("data");
        let (log, blobs) = (open(&folder), FileBlobs::open(&folder).unwrap());
        log.append(record("r1")).unwrap();
        log.flush().await.unwrap();
        fs::remove_dir_all(&folder).unwrap();
        if replaced {
            assert_eq!(ids(&open(&folder)).await, [""; 0]);
        }
        log.append(record("r2")).unwrap();
        let expected = format!(
            "the database {} was removed or replaced while haft was running, so nothing more is recorded: end this haft and start it \
             again; bring the folder back first if it was moved",
            folder.canonicalize().unwrap_or(folder.clone()).join("haft.db").display()
        );
        assert_eq!(log.flush().await.unwrap_err().to_string(), expected, "replaced: {replaced}");
        assert_eq!(log.append(record("r3")).unwrap_err().to_string(), expected, "replaced: {replaced}");
        let error = blobs.keep(Box::new(Cursor::new(b"x"))).await.unwrap_err().to_string();
        assert!(error.contains("the folder is gone; bring it back or start haft again"), "{error}");
    }
}

#[tokio::test]
async fn a_folder_that_comes_back_gets_what_waited() {
    let outer = tempdir().unwrap();
    let (folder, away) = (outer.path().join("data"), outer.path().join("away"));
    let log = open(&folder);
    log.append(record("r1")).unwrap();
    log.flush().await.unwrap();
    fs::rename(&folder, &away).unwrap();
    log.append(record("r2")).unwrap();
    log.flush().await.unwrap_err();
    fs::rename(&away, &folder).unwrap();
    log.flush().await.unwrap();
    assert_eq!(ids(&log).await, ["r2", "r1"]);
}
