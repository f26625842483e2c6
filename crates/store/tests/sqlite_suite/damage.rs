//! Rows and pages that make no sense: they hide nothing else, and the next start recovers what can be read.

use std::fs;
use std::path::Path;

use haft_store::{CallFilter, CallLog, CallRecord, CallStatus, SessionFilter, SessionStore, SqliteCallLog};
use tempfile::tempdir;

use super::{damage, expected_ids, filled, open, outsider};
use crate::common::{ids, message, messages, new_session, record};

/// Overwrites a page of the table that is neither the first nor an inner one; says how many rows it held.
fn damage_leaf(folder: &Path, table: &str) -> usize {
    let connection = outsider(folder);
    connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(())).unwrap();
    drop(connection);
    let path = folder.join("haft.db");
    let mut content = fs::read(&path).unwrap();
    // A leaf of a table begins with 13, and the number of its rows follows.
    let root = {
        let sql = "SELECT rootpage FROM sqlite_schema WHERE name = ?1";
        outsider(folder).query_row(sql, [table], |row| row.get::<_, u32>(0)).unwrap() as usize
    };
    assert_eq!(content[(root - 1) * 4096], 5, "the table has several pages");
    let child = |at: usize| u32::from_be_bytes(content[at..at + 4].try_into().unwrap()) as usize;
    let first_cell = (root - 1) * 4096 + u16::from_be_bytes(content[(root - 1) * 4096 + 12..][..2].try_into().unwrap()) as usize;
    let leaf = (child(first_cell) - 1) * 4096;
    assert_eq!(content[leaf], 13);
    let rows = u16::from_be_bytes(content[leaf + 3..][..2].try_into().unwrap()) as usize;
    content[leaf..leaf + 4096].fill(0xA5);
    fs::write(&path, content).unwrap();
    rows
}

#[tokio::test]
async fn a_damaged_page_hides_its_own_calls_and_no_others() {
    let folder = filled(200).await;
    let lost = damage_leaf(folder.path(), "calls");
    assert!((1..20).contains(&lost), "{lost}");
    let left = &expected_ids(200)[..200 - lost];
    {
        let log = open(folder.path());
        assert_eq!(ids(&log).await, left);
        let filter = CallFilter { limit: Some(3), tool: Some("write_file".into()), ..CallFilter::default() };
        assert_eq!(log.list(filter).await.unwrap(), [record("r0199"), record("r0198"), record("r0197")]);
        let none = CallFilter { failed: true, ..CallFilter::default() };
        assert_eq!(log.list(none).await.unwrap(), []);
    }
    // The next start recovers them.
    let opened = SqliteCallLog::open(folder.path()).unwrap();
    let notice = opened.notice.unwrap();
    let expected = format!(
        "it was set aside as haft.db.damaged-1 and a new one started, with the {} calls and 0 sessions that could be read; {lost} rows \
         could not be read",
        200 - lost
    );
    assert!(notice.ends_with(&expected), "{notice}");
    assert_eq!(ids(&opened.log).await, left);
    assert_eq!(opened.log.get("r0150").await.unwrap(), record("r0150"));
    opened.log.append(record("r9999")).unwrap();
    opened.log.flush().await.unwrap();
    drop(opened.log);
    assert_eq!(ids(&open(folder.path())).await.len(), 201 - lost);
}

#[tokio::test]
async fn sessions_are_recovered_with_their_messages() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    let sessions = log.sessions();
    for id in ["s1", "s2"] {
        sessions.create(new_session(id)).await.unwrap();
        sessions.append(id, None, (0..200).map(|number| message(number, "some text")).collect()).await.unwrap();
    }
    drop((log, sessions));
    let lost = damage_leaf(folder.path(), "messages");
    let sessions = open(folder.path()).sessions();
    sessions.messages("s1", 0, 500).await.unwrap_err();
    assert_eq!(messages(&sessions, "s2").await.len(), 200);
    drop(sessions);
    let opened = SqliteCallLog::open(folder.path()).unwrap();
    let sessions = opened.log.sessions();
    assert_eq!(messages(&sessions, "s1").await.len() + lost, 200);
    assert_eq!((messages(&sessions, "s2").await.len(), sessions.open("s2").await.unwrap().messages), (200, 200));
}

#[tokio::test]
async fn a_damaged_table_of_sessions_still_lists_the_readable_ones() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    for number in 0..200 {
        log.sessions().create(new_session(&format!("s{number:03}"))).await.unwrap();
    }
    drop(log);
    let lost = damage_leaf(folder.path(), "sessions");
    let found = open(folder.path()).sessions().list(SessionFilter::default()).await.unwrap();
    let expected: Vec<String> = (lost..200).rev().map(|number| format!("s{number:03}")).collect();
    assert_eq!(found.into_iter().map(|session| session.id).collect::<Vec<_>>(), expected);
}

#[tokio::test]
async fn a_row_with_values_that_make_no_sense_is_shown_as_damaged_between_the_others() {
    let folder = filled(3).await;
    let log = open(folder.path());
    log.sessions().create(new_session("s1")).await.unwrap();
    log.sessions().create(new_session("s2")).await.unwrap();
    log.sessions().append("s2", None, vec![message(1, "one"), message(2, "two")]).await.unwrap();
    let outsider = outsider(folder.path());
    outsider.execute("UPDATE calls SET arguments = '{\"half', tool = CAST(x'ff6f' AS TEXT) WHERE id = 'r0001'", []).unwrap();
    outsider.execute("UPDATE sessions SET title = CAST(x'ff' AS TEXT) WHERE id = 's2'", []).unwrap();
    outsider.execute("UPDATE messages SET body = CAST(x'ff' AS TEXT) WHERE number = 0", []).unwrap();
    let calls = log.list(CallFilter::default()).await.unwrap();
    assert_eq!((&calls[0], &calls[2]), (&record("r0002"), &record("r0000")));
    let summary = calls[1].summary.clone();
    assert!(summary.starts_with("Parts of this record are damaged (") && summary.ends_with("wrote 3 bytes"), "{summary}");
    let expected = CallRecord {
        tool: "\u{fffd}o".into(),
        arguments: serde_json::Value::Null,
        original_arguments: None,
        status: CallStatus::Error("damaged_record".into()),
        summary,
        ..record("r0001")
    };
    assert_eq!(calls[1], expected);
    let sessions = log.sessions().list(SessionFilter::default()).await.unwrap();
    let titles: Vec<_> = sessions.into_iter().map(|session| (session.id, session.title.unwrap())).collect();
    assert_eq!(titles, [("s2".to_owned(), "(damaged) \u{fffd}".to_owned()), ("s1".into(), "Fix the test".into())]);
    let bodies: Vec<_> = messages(&log.sessions(), "s2").await.into_iter().map(|message| message.body).collect();
    assert_eq!(bodies, ["\u{fffd}", "two"]);
}

#[tokio::test]
async fn damage_is_found_before_anyone_reads_the_page() {
    let folder = filled(200).await;
    assert_eq!(open(folder.path()).find_damage().await.unwrap(), None);
    damage(folder.path(), "pre_images");
    let found = open(folder.path()).find_damage().await.unwrap().unwrap();
    assert!(!found.is_empty());
    let opened = SqliteCallLog::open(folder.path()).unwrap();
    assert!(opened.notice.unwrap().contains("with the 200 calls"));
    assert_eq!(opened.log.find_damage().await.unwrap(), None);
    assert_eq!(ids(&opened.log).await, expected_ids(200));
}
