//! Sessions when the database cannot be used, and how fast they are when it can.

use std::fs;
use std::time::Instant;

use haft_store::{CallLog, NewMessage, SessionOwner, SessionStore, SqliteCallLog, StoreError};
use tempfile::tempdir;

use super::{damage, open, open_impatient, outsider};
use crate::common::{ids, message, messages, new_session, record};

#[tokio::test]
async fn what_could_not_be_written_is_not_written_later() {
    let folder = tempdir().unwrap();
    let log = open_impatient(folder.path()).unwrap();
    let sessions = log.sessions();
    sessions.create(new_session("s1")).await.unwrap();
    sessions.append("s1", None, vec![message(1, "a")]).await.unwrap();
    let holder = outsider(folder.path());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    log.append(record("r1")).unwrap();
    let outcomes = [
        sessions.append("s1", None, vec![message(2, "b")]).await.map(drop),
        sessions.rewrite("s1", 0, vec![message(2, "b")], "why").await.map(drop),
        sessions.delete("s1").await,
        sessions.fork("s1", None).await.map(drop),
        sessions.claim("s1", SessionOwner::this_process()).await.map(drop),
    ];
    for outcome in outcomes {
        assert!(matches!(outcome, Err(StoreError::Locked { .. })), "{outcome:?}");
    }
    // Reading needs no space and no lock, though the history waits for both.
    assert_eq!((messages(&sessions, "s1").await.len(), sessions.open("last").await.unwrap().messages), (1, 1));
    holder.execute_batch("ROLLBACK").unwrap();
    assert_eq!(ids(&log).await, ["r1"]);
    assert_eq!((messages(&sessions, "s1").await.len(), sessions.replaced("s1", 9).await.unwrap()), (1, vec![]));
    assert_eq!(sessions.append("s1", Some(1), vec![message(2, "b")]).await.unwrap(), 2);
    drop(sessions.claim("s1", SessionOwner::this_process()).await.unwrap());
}

#[tokio::test]
async fn a_claim_that_was_refused_leaves_nothing_to_release() {
    let folder = tempdir().unwrap();
    let log = open_impatient(folder.path()).unwrap();
    let sessions = log.sessions();
    sessions.create(new_session("s1")).await.unwrap();
    let holder = outsider(folder.path());
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    assert!(sessions.claim("s1", SessionOwner::this_process()).await.is_err());
    assert!(sessions.append("s1", None, vec![message(1, "a")]).await.is_err());
    // It would be told of anything that is still to be written.
    log.append(record("r1")).unwrap();
}

#[tokio::test]
async fn a_change_that_fails_leaves_nothing_and_spoils_no_other() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    let sessions = log.sessions();
    sessions.create(new_session("s1")).await.unwrap();
    sessions.append("s1", None, vec![message(1, "a")]).await.unwrap();
    let poison = "CREATE TRIGGER poison BEFORE INSERT ON messages WHEN NEW.body = 'poison' BEGIN SELECT RAISE(ABORT, 'not this one'); END";
    let holder = outsider(folder.path());
    holder.execute_batch(poison).unwrap();
    // Held until all are queued, so that the last two at least are written as one group.
    holder.execute_batch("BEGIN IMMEDIATE").unwrap();
    let bad = || vec![message(2, "b"), message(3, "poison"), message(4, "c")];
    let (appended, rewritten, good, release) = tokio::join!(
        sessions.append("s1", None, bad()),
        sessions.rewrite("s1", 0, bad(), "why"),
        sessions.append("s1", Some(1), vec![message(5, "d")]),
        async { holder.execute_batch("ROLLBACK") },
    );
    release.unwrap();
    let told = "the database could not be used: not this one";
    assert_eq!((appended.unwrap_err().to_string(), rewritten.unwrap_err().to_string(), good.unwrap()), (told.into(), told.into(), 2));
    let bodies: Vec<_> = messages(&sessions, "s1").await.into_iter().map(|message| message.body).collect();
    assert_eq!((bodies, sessions.replaced("s1", 9).await.unwrap()), (vec!["a".to_owned(), "d".to_owned()], vec![]));
    log.flush().await.unwrap();
}

#[tokio::test]
async fn damage_says_what_to_do_and_is_set_aside_at_the_next_start() {
    for table in ["messages", "sessions"] {
        let folder = tempdir().unwrap();
        let log = open(folder.path());
        let sessions = log.sessions();
        sessions.create(new_session("s1")).await.unwrap();
        sessions.append("s1", None, (0..200).map(|number| message(number, "some text")).collect()).await.unwrap();
        drop((log, sessions));
        damage(folder.path(), table);
        let sessions = open(folder.path()).sessions();
        let read = sessions.messages("s1", 0, 500).await.map(drop);
        let written = sessions.append("s1", None, vec![message(1, "a")]).await.map(drop);
        for outcome in [read, written] {
            let error = outcome.unwrap_err().to_string();
            assert!(
                error.contains("is damaged (database disk image is malformed): the next start of haft sets it aside"),
                "{table}: {error}"
            );
        }
        drop(sessions);
        let opened = SqliteCallLog::open(folder.path()).unwrap();
        assert!(opened.notice.unwrap().contains("it was set aside as haft.db.damaged-1"), "{table}");
        opened.log.sessions().create(new_session("s2")).await.unwrap();
    }
}

#[tokio::test]
async fn what_was_deleted_is_not_left_in_the_file() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    let sessions = log.sessions();
    for id in ["s1", "s2"] {
        sessions.create(new_session(id)).await.unwrap();
        let secret = format!("secret of {id} ");
        sessions.append(id, None, vec![message(1, &secret), message(2, &secret.repeat(10_000))]).await.unwrap();
        sessions.rewrite(id, 1, vec![message(3, &secret)], "why").await.unwrap();
    }
    sessions.delete("s1").await.unwrap();
    drop((log, sessions));
    let content = ["haft.db", "haft.db-wal"].map(|name| fs::read(folder.path().join(name)).unwrap_or_default()).concat();
    let holds = |text: &str| content.windows(text.len()).any(|piece| piece == text.as_bytes());
    assert_eq!((holds("secret of s1"), holds("secret of s2")), (false, true));
}

/// Prints what opening a long session takes; machines differ too much to fail for it.
#[tokio::test]
async fn ten_thousand_messages_are_read() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    let sessions = log.sessions();
    for id in ["other", "s1"] {
        sessions.create(new_session(id)).await.unwrap();
    }
    let body = format!("{{\"text\":\"{}\"}}", "word ".repeat(100));
    for _ in 0..100 {
        let new = || (0..100).map(|_| NewMessage::new("assistant", body.clone())).collect();
        sessions.append("s1", None, new()).await.unwrap();
        sessions.append("other", None, new()).await.unwrap();
    }
    drop((log, sessions));
    let started = Instant::now();
    let sessions = open(folder.path()).sessions();
    let opened = started.elapsed();
    let session = sessions.open("last").await.unwrap();
    let found = messages(&sessions, "s1").await;
    let whole = started.elapsed();
    let mut read = 0;
    while let Some(last) = sessions.messages("s1", read, 1000).await.unwrap().last() {
        read = last.number + 1;
    }
    let twice = started.elapsed();
    println!("10,000 messages: database opened after {opened:?}, all read after {whole:?}, once more in pages of 1,000 after {twice:?}");
    assert_eq!((session.messages, found.len(), read), (10_000, 10_000, 10_000));
    assert!((0..).zip(&found).all(|(number, message)| message.number == number && message.body == body));
}

#[tokio::test]
async fn revision_differs_after_each_change_also_by_another_process() {
    let folder = tempdir().unwrap();
    let log = open(folder.path());
    let sessions = log.sessions();
    sessions.create(new_session("s1")).await.unwrap();
    let mut seen = vec![sessions.revision().unwrap()];
    assert_eq!(sessions.revision(), Some(seen[0]), "a question changes nothing");
    sessions.rename("s1", Some("one")).await.unwrap();
    seen.push(sessions.revision().unwrap());
    outsider(folder.path()).execute_batch("UPDATE sessions SET title = 'two'").unwrap();
    seen.push(sessions.revision().unwrap());
    log.append(record("r1")).unwrap();
    log.flush().await.unwrap();
    seen.push(sessions.revision().unwrap());
    sessions.open("s1").await.unwrap();
    assert_eq!(sessions.revision().as_ref(), seen.last());
    for (at, revision) in seen.iter().enumerate() {
        assert!(!seen[..at].contains(revision), "{at}");
    }
}
