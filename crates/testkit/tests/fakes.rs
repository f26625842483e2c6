//! The fakes keep the promises of the traits they implement; a test on a lax fake would prove nothing.

use std::path::Path;
use std::sync::Arc;

use haft_contract::{
    CommandSpec, DynTool, ErrorKind, Exec, HttpRequest, Location, Notice, Plan, PlanContext, Progress, ToolOutput, WriteMode, Zone,
    ports::{FileSystem, Host, Journal, PreImage},
};
use haft_testkit::{
    DenyAll, FakeFiles, FakeHost, FileOperation, KeptImage, ProgressRecorder, ReadRecord, Reply, ScriptedTool, Trial, context_for,
    expect_error, expect_text, run_tool,
};
use serde_json::json;

#[test]
fn paths_are_resolved_lexically_and_know_their_zone() {
    let files = FakeFiles::default();
    for (asked, path, display, zone) in [
        ("a.txt", "/workspace/a.txt", "a.txt", Zone::Workspace),
        ("./d/../a.txt", "/workspace/a.txt", "a.txt", Zone::Workspace),
        ("/workspace/d/a", "/workspace/d/a", "d/a", Zone::Workspace),
        ("d/..", "/workspace", ".", Zone::Workspace),
        ("../secret", "/secret", "/secret", Zone::Outside),
        ("a/../../../../secret", "/secret", "/secret", Zone::Outside),
        ("/workspaces/a", "/workspaces/a", "/workspaces/a", Zone::Outside),
        ("/spills/1.txt", "/spills/1.txt", "/spills/1.txt", Zone::ReadOnlyRoot),
    ] {
        let at = files.locate(Path::new(asked)).unwrap();
        assert_eq!((at.path(), at.display(), at.zone()), (Path::new(path), display, zone), "{asked}");
    }
    for bad in ["", "a\0b"] {
        assert_eq!(expect_error(files.locate(Path::new(bad))).0, ErrorKind::ValidationError);
    }
}

#[test]
fn forbidden_paths_say_why() {
    let files = FakeFiles::default();
    files.forbid_write(".git", "git's own");
    files.forbid_read("key.pem", "a key");
    let git = files.locate(Path::new(".git/config")).unwrap();
    assert_eq!((git.no_write(), git.no_read()), (Some("git's own"), None));
    let key = files.locate(Path::new("key.pem")).unwrap();
    assert_eq!((key.no_write(), key.no_read()), (None, Some("a key")));
}

#[tokio::test]
async fn a_write_is_journalled_first_and_can_be_taken_back() {
    let host = FakeHost::new();
    let at = host.files.locate(Path::new("a/b/c.txt")).unwrap();
    let files = host.files();
    assert!(files.write(&at, b"one".to_vec(), WriteMode::Overwrite, &*host.journal).await.unwrap().created);
    let first = files.fingerprint(&at).await.unwrap();
    assert!(!files.write(&at, b"two".to_vec(), WriteMode::Append, &*host.journal).await.unwrap().created);
    assert_eq!(host.files.text("a/b/c.txt").unwrap(), "onetwo");
    let second = files.fingerprint(&at).await.unwrap();
    assert_ne!(first, second);
    let kept = |content: Option<&str>, after, directories: &[&str]| KeptImage {
        path: "/workspace/a/b/c.txt".into(),
        content: content.map(Into::into),
        mode: content.map(|_| 0o644),
        after,
        created_directories: directories.iter().map(Into::into).collect(),
    };
    assert_eq!(host.journal.kept(), [kept(None, first, &["/workspace/a", "/workspace/a/b"]), kept(Some("one"), second.clone(), &[])]);

    let back = |content: Option<&'static [u8]>, after: &Option<String>| PreImage {
        path: at.path().to_owned(),
        content: content.map(|bytes| Box::new(bytes) as _),
        mode: None,
        after: after.clone(),
        created_directories: Vec::new(),
        metadata_from: None,
        modified: None,
    };
    let first = files.fingerprint_of(Box::new(&b"one"[..])).await.map(Some).unwrap();
    let early = files.restore(&at, back(None, &first), &*host.journal).await;
    assert_eq!(expect_error(early).1, "'a/b/c.txt' was changed since, so it was not put back");
    files.restore(&at, back(Some(b"one"), &second), &*host.journal).await.unwrap();
    assert_eq!(host.files.text("a/b/c.txt").unwrap(), "one");
    assert_eq!(host.journal.kept().pop(), Some(kept(Some("onetwo"), first.clone(), &[])));
    files.restore(&at, back(None, &first), &*host.journal).await.unwrap();
    assert_eq!((host.files.paths(), files.fingerprint(&at).await.unwrap()), (Vec::new(), None));
}

#[tokio::test]
async fn a_change_that_fails_at_its_last_step_is_withdrawn() {
    let host = FakeHost::new();
    host.files.put("a", "old");
    host.files.fail(FileOperation::Finish, "a", ErrorKind::ExecutionError, "gone");
    let at = host.files.locate(Path::new("a")).unwrap();
    assert_eq!(expect_error(host.files().write(&at, b"new".to_vec(), WriteMode::Overwrite, &*host.journal).await).1, "gone");
    assert_eq!(expect_error(host.files().delete(&at, &*host.journal).await).1, "gone");
    assert_eq!((host.files.text("a").as_deref(), host.journal.kept()), (Some("old"), Vec::new()));
}

#[tokio::test]
async fn a_location_of_other_files_is_refused() {
    let (host, other) = (FakeHost::new(), FakeHost::new());
    host.files.put("a", "x");
    let theirs = other.files.locate(Path::new("a")).unwrap();
    let made_up = Location::new("a".into(), "/workspace/a".into(), "a".into(), Zone::Workspace, Arc::new(()));
    for at in [theirs, made_up] {
        let journal = &*host.journal;
        let refused = (ErrorKind::PermissionDenied, "the location of 'a' was not made by these files".to_owned());
        assert_eq!(expect_error(host.files().info(&at).await), refused);
        assert_eq!(expect_error(host.files().open(&at).await), refused);
        assert_eq!(expect_error(host.files().fingerprint(&at).await), refused);
        assert_eq!(expect_error(host.files().write(&at, Vec::new(), WriteMode::Overwrite, journal).await), refused);
        assert_eq!(expect_error(host.files().delete(&at, journal).await), refused);
    }
}

#[tokio::test]
async fn nothing_changes_when_the_journal_fails() {
    let host = FakeHost::new();
    host.files.put("a", "old");
    host.journal.fail(ErrorKind::ExecutionError, "disk full");
    let at = host.files.locate(Path::new("a")).unwrap();
    let outcome = host.files().write(&at, b"new".to_vec(), WriteMode::Overwrite, &*host.journal).await;
    assert_eq!(expect_error(outcome), (ErrorKind::ExecutionError, "disk full".into()));
    assert_eq!(expect_error(host.files().delete(&at, &*host.journal).await).1, "disk full");
    assert_eq!(host.files.text("a").unwrap(), "old");
}

#[tokio::test]
async fn files_and_directories_are_told_apart() {
    let host = FakeHost::new();
    host.files.put("d/a", "x");
    host.files.make_directory("empty");
    for directory in ["d", "empty", "."] {
        let at = host.files.locate(Path::new(directory)).unwrap();
        let expected = (ErrorKind::ValidationError, format!("Path is a directory, not a file: {directory}"));
        assert_eq!(expect_error(host.files().open(&at).await), expected);
        assert_eq!(expect_error(host.files().write(&at, Vec::new(), WriteMode::Overwrite, &*host.journal).await), expected);
    }
    let at = host.files.locate(Path::new("nope")).unwrap();
    assert_eq!(expect_error(host.files().info(&at).await), (ErrorKind::FileNotFound, "File not found: nope".into()));
}

#[tokio::test]
async fn reads_are_bounded_recorded_and_can_fail() {
    let host = FakeHost::new();
    host.files.put("a", "0123456789");
    let at = host.files.locate(Path::new("a")).unwrap();
    let reader = host.files().open(&at).await.unwrap();
    assert_eq!(reader.read_at(8, 5).await.unwrap(), b"89");
    assert_eq!(reader.read_at(99, 5).await.unwrap(), b"");
    let record = |offset| ReadRecord { path: "/workspace/a".into(), offset, length: 5 };
    assert_eq!(host.files.reads(), [record(8), record(99)]);
    host.files.fail(FileOperation::Read, "a", ErrorKind::ExecutionError, "bad sector");
    assert_eq!(expect_error(reader.read_at(0, 1).await).1, "bad sector");
    host.files.fail(FileOperation::Open, "a", ErrorKind::PermissionDenied, "locked");
    assert_eq!(expect_error(host.files().open(&at).await), (ErrorKind::PermissionDenied, "locked".into()));
}

#[tokio::test]
async fn a_finished_spill_is_a_file_that_may_only_be_read() {
    let host = FakeHost::new();
    let mut spill = host.journal.spill("txt").await.unwrap();
    spill.write(b"much ").await.unwrap();
    spill.write(b"text").await.unwrap();
    assert_eq!(host.files.get("/spills/1.txt"), None);
    let file = spill.finish().await.unwrap();
    assert_eq!((file.path.as_path(), file.bytes), (Path::new("/spills/1.txt"), 9));
    assert_eq!(host.files.text(&file.path).unwrap(), "much text");
    drop(host.journal.spill("json").await.unwrap());
    assert_eq!((host.journal.spills_opened(), host.files.paths().len()), (2, 1));
}

fn get(url: &str) -> HttpRequest {
    HttpRequest { method: "GET".into(), url: url.into(), headers: Vec::new(), body: None, redirects: 2 }
}

#[tokio::test]
async fn redirects_are_checked_followed_and_counted() {
    let host = FakeHost::new();
    host.http.answer("GET", "http://a.test/", Reply::redirect("http://b.test/"));
    host.http.answer("GET", "http://b.test/", Reply::ok("text/plain", "here"));
    host.http.answer("GET", "http://loop.test/", Reply::redirect("http://loop.test/"));
    let plan = |url| Plan::nothing().connect(PlanContext::new(&*host).connect("GET", url).unwrap());

    let mut response = context_for(plan("http://a.test/"), Arc::clone(&host)).http().send(get("http://a.test/")).await.unwrap();
    assert_eq!((response.url.as_str(), response.redirected_from.as_slice()), ("http://b.test/", &["http://a.test/".to_owned()][..]));
    assert_eq!(response.body.chunk().await.unwrap().unwrap(), b"here");
    assert_eq!(response.body.chunk().await.unwrap(), None);

    let shut = Trial { gate: Arc::new(DenyAll), ..Trial::new(Arc::clone(&host)) }.context("t", plan("http://a.test/"));
    let refused = expect_error(shut.http().send(get("http://a.test/")).await);
    assert_eq!(refused, (ErrorKind::PermissionDenied, "denied: GET http://b.test:80".into()));

    let looping = context_for(plan("http://loop.test/"), Arc::clone(&host)).http().send(get("http://loop.test/")).await;
    assert_eq!(expect_error(looping), (ErrorKind::NetworkError, "too many redirects".into()));
    let sent: Vec<_> = host.http.requests().into_iter().map(|request| request.url).collect();
    assert_eq!(sent, ["http://a.test/", "http://b.test/", "http://a.test/", "http://loop.test/", "http://loop.test/", "http://loop.test/"]);
}

#[tokio::test]
async fn bodies_can_break_off_and_urls_can_be_unreachable() {
    let host = FakeHost::new();
    host.http.answer("GET", "http://a.test/", Reply::new(200, "OK").chunk("x").breaks_off(ErrorKind::NetworkError, "reset"));
    host.http.refuse("inner.test", "a private address");
    let client = host.http();
    let plan = Plan::nothing().connect(client.locate("GET", "http://a.test/").unwrap());
    let mut response = context_for(plan, Arc::clone(&host)).http().send(get("http://a.test/")).await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap().unwrap(), b"x");
    assert_eq!(expect_error(response.body.chunk().await).1, "reset");
    assert_eq!(client.locate("GET", "http://inner.test/").unwrap().refused.unwrap(), "a private address");
    for bad in ["", "nonsense", "file:///etc/passwd", "ftp://x/"] {
        assert_eq!(expect_error(client.locate("GET", bad)), (ErrorKind::ValidationError, format!("Invalid URL: {bad}")));
    }
}

#[tokio::test]
async fn programs_and_notices_are_written_down() {
    let host = FakeHost::new();
    let exec = Exec::new("/bin/ls", vec!["-l".into()], "/workspace");
    let command = CommandSpec {
        exec: exec.clone(),
        environment: Vec::new(),
        input: None,
        output_limit: 10,
        timeout: std::time::Duration::from_secs(1),
    };
    let cx = context_for(Plan::nothing().exec(exec.clone()), Arc::clone(&host));
    host.processes.answer_with("listing");
    assert_eq!(cx.process().run(command.clone()).await.unwrap().stdout, b"listing");
    assert_eq!(expect_error(cx.process().run(command).await).1, "no output was scripted for '/bin/ls'");
    assert_eq!(host.processes.started()[0].exec, exec);

    let notice = Notice { message: "hi".into(), urgency: "low".into(), recipient: "me".into() };
    assert_eq!(host.notifier().notify(notice.clone()).await.unwrap(), "shown on the fake desktop");
    assert_eq!(host.notifier.shown(), [notice]);
}

#[tokio::test]
async fn a_scripted_tool_does_as_it_is_told() {
    let host = FakeHost::new();
    let echo = ScriptedTool::new("echo");
    let log = echo.log();
    assert_eq!(expect_text(run_tool(&echo, json!({"a": 1}), Arc::clone(&host)).await), r#"{"a":1}"#);
    assert_eq!((log.count(), log.arguments()), (1, vec![json!({"a": 1})]));

    let big = ScriptedTool::new("big").returns_bytes(5);
    assert_eq!(expect_text(run_tool(&big, json!({}), Arc::clone(&host)).await), "xxxxx");
    let failing = ScriptedTool::new("failing").fails(ErrorKind::NetworkError, "no route");
    assert_eq!(expect_error(run_tool(&failing, json!({}), Arc::clone(&host)).await), (ErrorKind::NetworkError, "no route".into()));

    let reader = ScriptedTool::new("reader").plans_read();
    let prepared = reader.prepare(json!({"path": "a"}), &PlanContext::new(&*host)).unwrap();
    assert_eq!(serde_json::to_value(prepared.plan().effects()).unwrap(), json!([{"effect": "read", "path": "/workspace/a"}]));

    let panicking = ScriptedTool::new("panicking").panics("boom");
    let panic = tokio::spawn(async move { run_tool(&panicking, json!({}), host).await }).await.unwrap_err().into_panic();
    assert_eq!(panic.downcast_ref::<String>().unwrap(), "boom");
}

#[tokio::test]
async fn progress_and_cancellation_reach_the_trial() {
    let recorder = Arc::new(ProgressRecorder::default());
    let trial = Trial { progress: Some(Arc::clone(&recorder) as _), ..Trial::new(FakeHost::new()) };
    let chatty = ScriptedTool::new("chatty").body(|_, cx| async move {
        cx.progress(Progress::message("half"));
        Ok(ToolOutput::text("done"))
    });
    assert_eq!(expect_text(trial.run(&chatty, json!({})).await), "done");
    assert_eq!((recorder.messages(), recorder.seen()[0].0.as_str()), (vec!["half".to_owned()], "call-1"));

    trial.cancel.cancel();
    let waiting = ScriptedTool::new("waiting").waits_for_cancel();
    assert_eq!(expect_error(trial.run(&waiting, json!({})).await).0, ErrorKind::Cancelled);
}
