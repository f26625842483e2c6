use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::time::{Duration, UNIX_EPOCH};

use haft_store::{BlobId, CallLog, CallRecord, PreImageRecord};

use crate::common::{ids, record};

fn image(record: &str, path: &str) -> PreImageRecord {
    PreImageRecord {
        record: record.into(),
        path: path.into(),
        content: Some(BlobId("blob".into())),
        mode: Some(0o644),
        after: Some("ab12".into()),
        created_directories: Vec::new(),
        modified: None,
    }
}

fn not_text(bytes: &[u8]) -> PathBuf {
    OsStr::from_bytes(bytes).into()
}

pub(crate) async fn pre_images_come_back_whole_and_in_order(log: &dyn CallLog) {
    log.append(record("r1")).unwrap();
    log.append(record("r2")).unwrap();
    let images = [
        PreImageRecord {
            created_directories: vec!["/w/new".into(), not_text(b"/w/new/\xff"), "/w/new/\u{e9}".into()],
            ..image("r1", "/w/z")
        },
        PreImageRecord { path: not_text(b"/w/\xf0\x9f"), content: None, mode: None, after: None, ..image("r1", "") },
        PreImageRecord { modified: UNIX_EPOCH.checked_sub(Duration::from_nanos(1)), ..image("r1", "/w/b") },
        PreImageRecord {
            mode: Some(u32::MAX),
            modified: Some(UNIX_EPOCH + Duration::new(1_700_000_000, 5)),
            created_directories: vec!["/one".into()],
            ..image("r1", "/w/a")
        },
        image("r1", "/w/a"),
    ];
    log.keep(images[0].clone()).await.unwrap();
    log.keep(images[1].clone()).await.unwrap();
    log.keep(image("r2", "/w/other")).await.unwrap();
    log.keep(images[2].clone()).await.unwrap();
    log.keep(images[3].clone()).await.unwrap();
    log.keep(images[4].clone()).await.unwrap();
    assert_eq!(log.pre_images("r1").await.unwrap(), images);
    assert_eq!(log.pre_images("r2").await.unwrap(), [image("r2", "/w/other")]);
    assert_eq!(log.pre_images("r").await.unwrap(), []);
}

pub(crate) async fn pre_images_survive_the_end_of_their_call(log: &dyn CallLog) {
    log.append(record("r1")).unwrap();
    log.keep(image("r1", "/w/a")).await.unwrap();
    log.append(CallRecord { summary: "done".into(), ..record("r1") }).unwrap();
    log.flush().await.unwrap();
    assert_eq!(log.pre_images("r1").await.unwrap(), [image("r1", "/w/a")]);
}

pub(crate) async fn a_pre_image_needs_its_call(log: &dyn CallLog) {
    log.append(record("r1")).unwrap();
    let error = log.keep(image("r2", "/w/a")).await.unwrap_err();
    assert!(error.to_string().starts_with("no call 'r2': "), "{error}");
    assert_eq!(log.pre_images("r2").await.unwrap(), []);
    assert_eq!(ids(log).await, ["r1"]);
}

pub(crate) async fn of_calls_that_ran_at_once_the_last_change_is_the_newest(log: &dyn CallLog) {
    log.append(record("r1")).unwrap();
    log.append(record("r2")).unwrap();
    log.keep(image("r2", "/w/a")).await.unwrap();
    log.keep(image("r1", "/w/a")).await.unwrap();
    assert_eq!(log.newest_undoable().await.unwrap().unwrap().id, "r1");
    log.mark_undone("r1").await.unwrap();
    assert_eq!(log.newest_undoable().await.unwrap().unwrap().id, "r2");
}

pub(crate) async fn a_session_has_the_pre_images_of_its_calls_in_the_order_they_were_kept(log: &dyn CallLog) {
    for id in ["r1", "r2", "r3"] {
        log.append(record(id)).unwrap();
    }
    log.append(CallRecord { session: "s2".into(), ..record("r4") }).unwrap();
    let kept = [("r2", "/w/a"), ("r4", "/w/a"), ("r1", "/w/b"), ("r3", "/w/b"), ("r2", "/w/c")].map(|(record, path)| image(record, path));
    for image in &kept {
        log.keep(image.clone()).await.unwrap();
    }
    log.mark_undone("r3").await.unwrap();
    let [first, other, second, _, third] = kept;
    assert_eq!(log.session_images("s1").await.unwrap(), [first, second, third]);
    assert_eq!(log.session_images("s2").await.unwrap(), [other]);
    assert_eq!(log.session_images("s").await.unwrap(), []);
}

pub(crate) async fn a_pre_image_that_is_withdrawn_is_gone_and_no_other(log: &dyn CallLog) {
    let kept =
        |record, path, after: Option<&str>, mode| PreImageRecord { after: after.map(Into::into), mode: Some(mode), ..image(record, path) };
    log.append(record("r1")).unwrap();
    log.append(record("r2")).unwrap();
    let images = [
        kept("r1", "/w/a", Some("x"), 1),
        kept("r1", "/w/a", Some("y"), 2),
        kept("r1", "/w/b", Some("x"), 3),
        kept("r1", "/w/a", Some("x"), 4),
        kept("r1", "/w/a", None, 5),
    ];
    for image in images.iter().chain([&kept("r2", "/w/a", Some("x"), 6)]) {
        log.keep(image.clone()).await.unwrap();
    }
    let mut left: Vec<_> = images.to_vec();
    // The newest of two alike, one that removed the file, then the older of the two, then one that is not there.
    for (after, gone) in [(Some("x"), Some(4)), (None, Some(5)), (Some("x"), Some(1)), (Some("x"), None)] {
        log.withdraw("r1", Path::new("/w/a"), after).await.unwrap();
        left.retain(|image| image.mode != gone);
        assert_eq!(log.pre_images("r1").await.unwrap(), left, "{after:?}");
    }
    assert_eq!(log.pre_images("r2").await.unwrap().len(), 1);
    log.withdraw("r2", Path::new("/w/a"), Some("x")).await.unwrap();
    assert_eq!(log.newest_undoable().await.unwrap(), Some(record("r1")), "without pre-images there is nothing to undo");
}

pub(crate) async fn the_newest_undoable_call_has_pre_images_and_is_not_undone(log: &dyn CallLog) {
    assert_eq!(log.newest_undoable().await.unwrap(), None);
    for id in ["r1", "r2", "r3", "r4"] {
        log.append(record(id)).unwrap();
    }
    assert_eq!(log.newest_undoable().await.unwrap(), None);
    for id in ["r3", "r1", "r2", "r3"] {
        log.keep(image(id, "/w/a")).await.unwrap();
    }
    for id in ["r3", "r2", "r1"] {
        assert_eq!(log.newest_undoable().await.unwrap(), Some(record(id)));
        log.mark_undone(id).await.unwrap();
    }
    assert_eq!(log.newest_undoable().await.unwrap(), None);
}

pub(crate) async fn what_is_undone_stays_so(log: &dyn CallLog) {
    log.append(record("r1")).unwrap();
    log.append(record("r2")).unwrap();
    log.mark_undone("r1").await.unwrap();
    log.mark_undone("r1").await.unwrap();
    // The end of a call may be written after it was taken back.
    log.append(CallRecord { summary: "done".into(), ..record("r1") }).unwrap();
    assert_eq!(log.get("r1").await.unwrap(), CallRecord { summary: "done".into(), undone: true, ..record("r1") });
    assert_eq!(log.get("r2").await.unwrap(), record("r2"));
}

pub(crate) async fn a_call_that_is_not_there_cannot_be_undone(log: &dyn CallLog) {
    let error = log.mark_undone("r1").await.unwrap_err();
    assert!(error.to_string().starts_with("no call 'r1': "), "{error}");
}

pub(crate) async fn a_path_has_the_pre_images_of_all_calls_in_order(log: &dyn CallLog) {
    log.append(record("r2")).unwrap();
    log.append(record("r1")).unwrap();
    let odd = PreImageRecord { path: not_text(b"/w/\xff"), ..image("r1", "") };
    for image in [image("r2", "/w/a"), image("r1", "/w/a"), image("r1", "/w/b"), odd.clone()] {
        log.keep(image).await.unwrap();
    }
    log.mark_undone("r2").await.unwrap();
    assert_eq!(log.path_images(Path::new("/w/a")).await.unwrap(), [image("r2", "/w/a"), image("r1", "/w/a")]);
    assert_eq!(log.path_images(Path::new("/w")).await.unwrap(), []);
    assert_eq!(log.changed_paths().await.unwrap(), ["/w/a".into(), "/w/b".into(), odd.path].into());
}
