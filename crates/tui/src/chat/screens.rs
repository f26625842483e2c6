//! The screens of a conversation between its turns.

use std::fmt::Write as _;
use std::time::{Duration, SystemTime};

use haft_contract::{ExecHost, JobStatus};
use haft_engine::SessionFile;
use haft_provider::{Block, Message};
use haft_store::{CallRecord, CallStatus, SessionRecord, UsageSum};
use haft_text::truncate::ellipsize_to_width;
use serde_json::{Value, json};

use super::completion::menu;
use super::cost::CostSummary;
use super::input::fit_options;
use super::jobs::{self, JobLine};
use super::picker::{Picker, PickerOption};
use super::session_choice::LastMessages;
use super::{changes, jump, session_choice};
use crate::golden::check_screen;
use crate::output::{CYAN, DIM};
use crate::table::wrap_hard;

const HOUR: Duration = Duration::from_hours(1);

fn now() -> SystemTime {
    SystemTime::UNIX_EPOCH + HOUR
}

/// A list to choose from, as it is drawn.
fn picker(question: &str, options: Vec<String>, columns: usize) -> String {
    let mut page = String::new();
    for line in wrap_hard(&format!("? {question}"), columns) {
        writeln!(page, "{line}").unwrap();
    }
    for (index, option) in fit_options(options, Some(columns)).into_iter().enumerate() {
        let line = if index == 0 { format!("{CYAN}> {option}{CYAN:#}") } else { format!("  {option}") };
        writeln!(page, "{line}").unwrap();
    }
    page
}

fn call(tool: &str, arguments: Value, minutes: u64, status: CallStatus, summary: &str) -> CallRecord {
    CallRecord {
        id: format!("01a1e0fc-507f-7000-8000-5514{minutes:08}"),
        call_id: "c1".into(),
        session: "s".into(),
        agent: "main".into(),
        tool: tool.into(),
        workspace: "/home/ann/work".into(),
        arguments,
        original_arguments: None,
        effects: Value::Null,
        decision: Value::Null,
        started: now() - Duration::from_secs(minutes * 60),
        elapsed: Duration::ZERO,
        status,
        summary: summary.into(),
        undone: false,
    }
}

#[test]
fn screen_of_the_menu_lists_matching_commands() {
    check_screen("menu", "the menu of commands opens with a slash", |columns| {
        let rows = |typed: &str| {
            let rows: Vec<String> = menu(typed, &[], columns).iter().map(|row| format!("{DIM}{row}{DIM:#}")).collect();
            format!("> {typed}\n{}\n", rows.join("\n"))
        };
        rows("/") + &rows("/co")
    });
}

#[test]
fn screen_of_jobs_shows_what_runs_and_its_last_line() {
    let job = |id: &str, command: &str, seconds: u64, last: &str| JobLine {
        status: JobStatus {
            id: id.into(),
            session: "s".into(),
            command: command.into(),
            directory: "/home/ann/work".into(),
            host: ExecHost::Sandbox,
            sandbox: "bubblewrap".into(),
            pid: None,
            started: now() - Duration::from_secs(seconds),
            end: None,
            bytes: 0,
            kept_from: 0,
        },
        last: last.into(),
    };
    let jobs = [
        job("serve-1", "python3 -m http.server", 12, "Serving HTTP on 127.0.0.1"),
        job("test-1", "cargo test --workspace", 75, "running 48 tests"),
    ];
    check_screen("jobs", "commands in the background: a line above the prompt, and /jobs", |columns| {
        let mut page = String::new();
        for job in &jobs {
            writeln!(page, "{}", ellipsize_to_width(&job.line(now()), columns - 1)).unwrap();
        }
        page + "> /jobs\n" + &jobs::table(&jobs, now()).render(Some(columns))
    });
}

#[test]
fn screen_of_the_diff_shows_all_changes_of_the_conversation() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    write("before", "fn main() {\n    let n = 1;\n    run(n);\n}\n");
    write("lib.rs", "fn main() {\n    let n = 2;\n    run(n);\n}\n");
    write("new.txt", "a new file\n");
    let file = |name: &str, before: Option<&str>| SessionFile {
        path: folder.path().join(name),
        before: before.map(|name| folder.path().join(name)),
    };
    let files = [file("lib.rs", Some("before")), file("new.txt", None)];
    check_screen("diff", "/diff: all changes of the conversation", |_| changes::all_changes(&files, folder.path()));
    assert_eq!(changes::all_changes(&[file("lib.rs", Some("lib.rs"))], folder.path()), "", "a file that is as before is no change");
    let gone = changes::all_changes(&[file("gone.rs", Some("before"))], folder.path());
    assert!(anstream::adapter::strip_str(&gone).to_string().contains("-fn main() {"), "a deleted file is a change: {gone}");
}

#[test]
fn screen_of_undo_lists_the_calls_that_changed_files() {
    let calls = [
        call("edit_file", json!({"path": "src/lib.rs"}), 2, CallStatus::Success, ""),
        call("exec", json!({"command": "cargo fmt --all"}), 5, CallStatus::Success, ""),
        call("write_file", json!({"path": "docs/a/rather/long/path/notes.txt"}), 59, CallStatus::Success, ""),
    ];
    check_screen("undo", "/undo: choose what to take back", |columns| {
        let options = calls.iter().map(|call| changes::describe(call, now())).collect();
        picker("Undo which call? Only its own changes are taken back.", options, columns)
    });
}

#[test]
fn screen_of_why_leaves_out_what_the_model_is_told() {
    let summary = "Access denied: path is outside the workspace: '/home/ann/outside.txt'. Use a path inside the workspace; only the user can \
                   grant full-access.";
    let call = call("write_file", json!({"path": "../outside.txt"}), 1, CallStatus::Error("path_not_allowed".into()), summary);
    check_screen("why", "/why: the last refusal, before its explanation", |columns| {
        wrap_hard(&changes::refusal(&call, now()), columns).join("\n") + "\n"
    });
    assert!(!changes::refusal(&call, now()).contains("only the user"));
}

#[test]
fn screen_of_cost_has_turn_session_and_day() {
    let session = UsageSum { requests: 4, input: 48_300, output: 3_840, cached: 36_000, cost_micros: 120_000, ..UsageSum::default() };
    let turn = UsageSum { requests: 1, input: 12_300, output: 840, cached: 9_000, cost_micros: 21_000, ..UsageSum::default() };
    let cost = CostSummary { turn: Some(turn), session, today: UsageSum { cost_micros: 940_000, ..session } };
    check_screen("cost", "/cost: tokens and money", |columns| cost.table().render(Some(columns)));
}

#[test]
fn screen_of_the_jump_list_shows_prompts_and_one_answer() {
    let call = Block::Call { id: "1".into(), name: "read_file".into(), arguments: "{}".into(), opaque: None };
    let result = Block::Result { id: "1".into(), name: "read_file".into(), content: Vec::new(), is_error: false };
    let messages = [
        Message::user("the test in store/ fails, please fix it and tell me what was wrong with the last row"),
        Message::assistant(vec![Block::text("I look at it."), call]),
        Message::results(vec![result]),
        Message::assistant(vec![Block::text("The **last row** was dropped:\n\n- it is kept now")]),
        Message::user("and now the docs"),
    ];
    let exchanges = jump::exchanges(&messages);
    assert_eq!((exchanges.len(), exchanges[0].calls, exchanges[0].answers.len()), (2, 1, 2));
    check_screen("jump", "/jump: your prompts, and the answer to one", |columns| {
        let options = (1..).zip(&exchanges).map(|(number, exchange)| jump::describe(number, exchange)).collect();
        picker("Which prompt?", options, columns) + &jump::page(1, &exchanges[0], Some(columns))
    });
}

#[test]
fn screen_of_sessions_shows_folder_and_last_message() {
    let session = |id: u64, title: &str, folder: &str, minutes: u64| SessionRecord {
        id: format!("01a1e0fc-507f-7000-8000-5514{id:08}"),
        title: Some(title.into()),
        agent: "main".into(),
        model: None,
        workspace: folder.into(),
        created: now(),
        updated: now() - Duration::from_secs(minutes * 60),
        parent: None,
        closed: false,
        messages: 5,
        access: None,
    };
    let sessions = [session(1, "Fix the failing test", "/home/ann/work/haft", 3), session(2, "Invoices", "/home/ann/books", 59)];
    let last = LastMessages { user: "and now the docs".into(), model: "They are written.\n\n- CHAT.md".into() };
    check_screen("sessions", "/resume: sessions with their folder, and a preview of the last messages", |columns| {
        let option = |session: &SessionRecord| {
            let text = session_choice::describe(session, &last.user, now());
            PickerOption { text, preview: last.preview(session), is_here: true }
        };
        Picker::new("Which one?", sessions.iter().map(option).collect()).rows(columns).join("\n") + "\n"
    });
}
