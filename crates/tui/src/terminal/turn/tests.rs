use std::time::Duration;

use haft_agent::Micros;
use haft_contract::ports::{Attachment, MessageLevel, Todo, TodoStatus, UserMessage};
use haft_contract::{ErrorKind, ToolError, ToolOutput};
use serde_json::{Value, json};

use super::style::SymbolSet;
use super::*;
use crate::terminal::screen::testing::{CapturedOutput, pipes, terminal};

/// A turn with a controlled clock.
pub(super) struct TestTurn {
    turn: TurnPrinter,
    now: Arc<Mutex<Duration>>,
    pub(super) output: CapturedOutput,
}

impl TestTurn {
    fn new(screen: Arc<Screen>, output: CapturedOutput, style: TurnStyle) -> Self {
        let (began, now) = (Instant::now(), Arc::new(Mutex::new(Duration::ZERO)));
        let clock = Arc::clone(&now);
        let turn = TurnPrinter::on(screen, style, Arc::new(move || began + *clock.lock().unwrap()));
        Self { turn, now, output }
    }

    fn on_terminal(style: TurnStyle) -> Self {
        Self::begun(false, style)
    }

    pub(super) fn in_colour(style: TurnStyle) -> Self {
        Self::begun(true, style)
    }

    fn begun(coloured: bool, style: TurnStyle) -> Self {
        let (screen, output) = terminal(coloured);
        let turn = Self::new(screen, output, style);
        turn.tell(&TurnEvent::Start { session: "s", model: "work/m1" });
        turn
    }

    pub(super) fn tell(&self, event: &TurnEvent<'_>) {
        self.turn.event(event);
    }
    /// Ticks at this time after the start.
    pub(super) fn at(&self, seconds: u64) {
        self.set(seconds);
        self.turn.view.tick();
    }
    fn set(&self, seconds: u64) {
        *self.now.lock().unwrap() = Duration::from_secs(seconds);
    }
    pub(super) fn starts(&self, id: &str, tool: &str, arguments: &Value) {
        self.tell(&TurnEvent::ToolStart { call_id: id, tool, arguments: &arguments.to_string() });
    }
    pub(super) fn ends(&self, id: &str, tool: &'static str, outcome: Result<ToolOutput, ToolError>) {
        let result = ToolResult { call_id: id.into(), tool: tool.into(), outcome, elapsed: Duration::from_millis(12), stored: None };
        self.tell(&TurnEvent::ToolEnd(&result));
    }
    pub(super) fn is_over(&self, reason: EndReason, error: Option<&str>) {
        let mut end = TurnEnd::new(reason);
        (end.usage.input, end.usage.cached, end.usage.output) = (12_300, 9_000, 840);
        (end.cost, end.calls, end.rounds, end.elapsed) = (Some(Micros(21_000)), 3, 2, Duration::from_secs(8));
        end.error = error.map(str::to_owned);
        self.tell(&TurnEvent::End(&end));
    }
}

const LIVE: TurnStyle = TurnStyle { symbols: SymbolSet::Symbols, columns: || Some(80), live: || Some(80), verbose: false, markdown: false };
const NARROW: TurnStyle =
    TurnStyle { symbols: SymbolSet::Symbols, columns: || Some(40), live: || Some(40), verbose: false, markdown: false };
const PLAIN: TurnStyle = TurnStyle { symbols: SymbolSet::Words, columns: || Some(80), live: || None, verbose: false, markdown: false };
const PIPE: TurnStyle = TurnStyle { symbols: SymbolSet::Words, columns: || None, live: || None, verbose: false, markdown: false };

fn read(lines: u64) -> ToolOutput {
    ToolOutput::text("one\n").with_details(json!({"first_line": 1, "last_line": lines, "total_lines": lines}))
}

fn missing() -> ToolError {
    let error = ToolError::new(ErrorKind::FileNotFound, "There is no file 'gone.txt' in the workspace. Look with glob_search.");
    error.with_details(json!({"to_change": "set access"}))
}

/// Erases a whole line.
fn erased(columns: usize) -> String {
    format!("\r{}\r", " ".repeat(columns))
}

/// Erases the end of a line.
fn erased_after_text(columns: usize) -> String {
    let back = "\u{8}".repeat(columns);
    format!("{back}{}{back}", " ".repeat(columns))
}

#[test]
fn live_turn_redraws_only_its_last_line() {
    let turn = TestTurn::on_terminal(LIVE);
    turn.at(9);
    turn.at(11);
    turn.at(12);
    turn.tell(&TurnEvent::Thinking("hm"));
    turn.at(15);
    turn.tell(&TurnEvent::Text("Let me look."));
    turn.starts("1", "read_file", &json!({"path": "README.md"}));
    turn.at(16);
    turn.at(18);
    turn.at(19);
    turn.ends("1", "read_file", Ok(read(120)));
    turn.tell(&TurnEvent::Text("It says"));
    turn.at(29);
    turn.at(30);
    turn.tell(&TurnEvent::Text(" one.\n"));
    turn.is_over(EndReason::Done, None);
    turn.at(99);
    let expected = [
        "\rwaiting for work/m1… 11 s\rwaiting for work/m1… 12 s",
        &format!("\rthinking…{}\rthinking… 3 s{}", " ".repeat(16), erased(13)),
        "Let me look.\n",
        &format!("\r◒ read_file README.md 3 s\r◐ read_file README.md 4 s{}", erased(25)),
        "✓ read_file README.md · 120 lines · 12 ms\n",
        &format!("It says waiting for work/m1… 10 s{} waiting for work/m1… 11 s{}", "\u{8}".repeat(26), erased_after_text(26)),
        " one.\n",
        "↑12.3k (9k cached) ↓840 · $0.0210 · 3 tools · 8 s\n",
    ];
    assert_eq!(turn.output.read(), expected.concat());
}

#[test]
fn command_of_the_user_shows_the_wait_line_outside_of_turns() {
    let turn = TestTurn::on_terminal(LIVE);
    turn.is_over(EndReason::Done, None);
    turn.output.read();
    turn.starts("1", "exec", &json!({"command": "cargo test"}));
    turn.tell(&TurnEvent::ToolUpdate { call_id: "1", tool: "exec", message: "12 of 40" });
    turn.at(4);
    turn.ends("1", "exec", Ok(ToolOutput::text("a\n").with_details(json!({"exit_code": 0}))));
    turn.at(9);
    let shown = turn.output.read();
    assert!(shown.contains("◐ exec cargo test 4 s · 12 of 40") && shown.ends_with("✓ exec cargo test · exit 0 · a · 12 ms\n"), "{shown:?}");
}

#[test]
fn parallel_calls_share_the_wait_line_and_show_progress() {
    let turn = TestTurn::on_terminal(LIVE);
    turn.starts("1", "exec", &json!({"command": "cargo test"}));
    turn.set(1);
    turn.starts("2", "read_file", &json!({"path": "a"}));
    turn.starts("3", "noop", &json!({}));
    turn.at(4);
    turn.tell(&TurnEvent::ToolUpdate { call_id: "1", tool: "exec", message: "12 of 40\n" });
    turn.at(5);
    turn.ends("2", "read_file", Ok(read(1)));
    turn.ends("1", "exec", Ok(ToolOutput::text("a\nb\n").with_details(json!({"exit_code": 0}))));
    turn.at(6);
    turn.ends("3", "noop", Ok(ToolOutput::text("done")));
    let expected = [
        "\r◐ 3 calls running · exec cargo test 4 s",
        &format!("\r◓ 3 calls running · exec cargo test 5 s · 12 of 40\\n{}", erased(52)),
        "✓ read_file a · 1 line · 12 ms\n",
        "✓ exec cargo test · exit 0 · 2 lines · 12 ms\n",
        &format!("\r◓ noop 5 s{}", erased(10)),
        "✓ noop · done · 12 ms\n",
    ];
    assert_eq!(turn.output.read(), expected.concat());
}

#[test]
fn narrow_turn_fits_forty_columns() {
    let turn = TestTurn::on_terminal(NARROW);
    turn.starts("1", "read_file", &json!({"path": "docs/漢字/a/rather/long/path.md"}));
    turn.at(3);
    turn.ends("1", "read_file", Ok(read(120)));
    turn.starts("2", "read_file", &json!({"path": "gone.txt"}));
    turn.ends("2", "read_file", Err(missing()));
    turn.is_over(EndReason::Budget, Some("The budget is used up: $1.00 of the $1.00 for this turn are spent."));
    let expected = [
        &format!("\r◒ read_file docs/漢字/a/rather/long/pa…{}", erased(39)),
        "✓ read_file docs/漢… · 120 lines · 12 ms\n",
        "✗ read_file gone.txt · file_not_found\n",
        "  There is no file 'gone.txt' in the\n  workspace.\n  help: set access\n",
        "warning: The budget is used up: $1.00 of\nthe $1.00 for this turn are spent.\n",
        "↑12.3k (9k cached) ↓840 · $0.0210\n3 tools · 8 s\n",
    ];
    assert_eq!(turn.output.read(), expected.concat());
}

#[test]
fn plain_turn_has_lines_and_words() {
    let turn = TestTurn::on_terminal(PLAIN);
    turn.at(12);
    turn.tell(&TurnEvent::Thinking("hm\n"));
    turn.tell(&TurnEvent::Text("I will."));
    turn.starts("1", "write_file", &json!({"path": "a.txt", "content": "x"}));
    turn.at(60);
    turn.tell(&TurnEvent::ToolUpdate { call_id: "1", tool: "write_file", message: "half" });
    let diff = "--- a.txt\n+++ a.txt\n@@ -1 +1,2 @@\n-a\n+b\n+c\n";
    turn.ends("1", "write_file", Ok(ToolOutput::text("").with_details(json!({"bytes": 4, "created": false, "diff": diff}))));
    turn.starts("2", "read_file", &json!({"path": "gone.txt"}));
    turn.ends("2", "read_file", Err(missing()));
    turn.tell(&TurnEvent::Notice("the answer broke\noff"));
    turn.is_over(EndReason::Cancelled, None);
    let expected = [
        "I will.\n",
        "ok write_file a.txt: 2 lines added, 1 removed, 4 bytes, 12 ms\n  @@ -1 +1,2 @@\n  -a\n  +b\n  +c\n",
        "failed read_file gone.txt: file_not_found, 12 ms\n",
        "  There is no file 'gone.txt' in the workspace.\n  help: set access\n",
        "the answer broke\\noff\n",
        "The turn was cancelled. Messages and results so far are kept.\n",
        "12,300 tokens in (9,000 cached), 840 out, $0.0210, 3 calls, 8 s\n",
    ];
    assert_eq!(turn.output.read(), expected.concat());
}

#[test]
fn notices_are_broken_at_words() {
    let turn = TestTurn::on_terminal(NARROW);
    turn.tell(&TurnEvent::Notice("The provider failed: no answer. Retry 1 of 4 in 0.9 s; Ctrl-C stops it."));
    turn.is_over(EndReason::Cancelled, None);
    let text = anstream::adapter::strip_str(&turn.output.read()).to_string();
    for lines in [
        "The provider failed: no answer. Retry 1\nof 4 in 0.9 s; Ctrl-C stops it.\n",
        "The turn was cancelled.\nMessages and results so far are kept.\n",
    ] {
        assert!(text.contains(lines), "{lines}: {text}");
    }
}

#[test]
fn piped_turn_writes_only_model_output_to_stdout() {
    let (screen, out, err) = pipes();
    let turn = TestTurn::new(screen, err, PIPE);
    turn.tell(&TurnEvent::Start { session: "s", model: "work/m1" });
    turn.tell(&TurnEvent::Text("Let me\u{1b}[2J see"));
    turn.at(99);
    turn.starts("1", "read_file", &json!({"path": "x".repeat(50)}));
    turn.ends("1", "read_file", Ok(read(2)));
    turn.tell(&TurnEvent::Text("It says one."));
    turn.is_over(EndReason::Failed, Some("The key is wrong."));
    assert_eq!(out.read(), "Let me\u{1b}[2J see\nIt says one.\n");
    let expected = [
        &format!("ok read_file {}: 2 lines, 12 ms\n", "x".repeat(50)),
        "error: The key is wrong.\n",
        "12,300 tokens in (9,000 cached), 840 out, $0.0210, 3 calls, 8 s\n",
    ];
    assert_eq!(turn.output.read(), expected.concat());
}

#[test]
fn verbose_turn_shows_details_of_each_call() {
    let turn = TestTurn::on_terminal(TurnStyle { verbose: true, ..PLAIN });
    turn.tell(&TurnEvent::Thinking("first\nsec"));
    turn.tell(&TurnEvent::Thinking("ond"));
    turn.starts("1", "read_file", &json!({"path": "a.txt"}));
    turn.tell(&TurnEvent::ToolUpdate { call_id: "1", tool: "read_file", message: "half" });
    turn.ends("1", "read_file", Ok(read(1)));
    let expected = [
        "  thinking: first\n  thinking: second\n",
        "read_file: half\n",
        "ok read_file a.txt: 1 line, 12 ms\n",
        "  id: 1 (haft history 1 shows what was decided)\n  with path: a.txt\n  result:\n    one\n",
    ];
    assert_eq!(turn.output.read(), expected.concat());
}

/// Output of a function after a turn with this many calls.
fn output_after(calls: usize, show: impl Fn(&TurnPrinter)) -> String {
    let turn = TestTurn::on_terminal(PLAIN);
    for number in 0..calls {
        turn.starts(&number.to_string(), "noop", &json!({}));
        turn.ends(&number.to_string(), "noop", Ok(ToolOutput::text("done")));
    }
    turn.is_over(EndReason::Done, None);
    let before = turn.output.read().len();
    show(&turn.turn);
    turn.output.read().split_off(before)
}

#[test]
fn details_of_calls_are_shown_on_request() {
    let call = |number: usize| {
        format!("ok noop: done, 12 ms\n  id: {number} (haft history {number} shows what was decided)\n  result:\n    done\n")
    };
    assert_eq!(output_after(0, TurnPrinter::show_last_details), "The last turn has no calls.\n");
    assert_eq!(output_after(2, TurnPrinter::show_last_details), call(1));
    assert_eq!(output_after(2, TurnPrinter::show_all_details), [call(0), call(1)].concat());
    let kept: String = (5..105).map(call).collect();
    assert_eq!(output_after(105, TurnPrinter::show_all_details), kept);
}

#[test]
fn new_turn_forgets_earlier_calls() {
    let turn = TestTurn::on_terminal(PLAIN);
    turn.ends("1", "noop", Ok(ToolOutput::text("done")));
    turn.tell(&TurnEvent::Start { session: "s", model: "work/m1" });
    turn.turn.show_all_details();
    assert_eq!(turn.output.read(), "ok noop: done, 12 ms\nThe last turn has no calls.\n");
}

#[test]
fn failed_calls_are_red() {
    let (screen, output) = terminal(true);
    let turn = TestTurn::new(screen, output, LIVE);
    turn.ends("1", "noop", Ok(ToolOutput::text("done")));
    turn.ends("2", "exec", Err(ToolError::new(ErrorKind::Timeout, "late\u{1b}[2J")));
    let expected = [
        "\u{1b}[32m✓\u{1b}[0m noop\u{1b}[2m · done · 12 ms\u{1b}[0m\n",
        "\u{1b}[1m\u{1b}[31m✗\u{1b}[0m\u{1b}[31m exec\u{1b}[0m\u{1b}[31m · timeout · 12 ms\u{1b}[0m\n",
        "  \u{1b}[31mlate\\u{1b}[2J\u{1b}[0m\n",
    ];
    assert_eq!(turn.output.read(), expected.concat());
}

#[test]
fn error_message_of_a_call_is_bounded() {
    let turn = TestTurn::on_terminal(PLAIN);
    turn.ends("1", "noop", Err(ToolError::new(ErrorKind::Timeout, "late\n".repeat(210))));
    let expected = format!("failed noop: timeout, 12 ms\n{}  (10 more lines)\n", "  late\n".repeat(200));
    assert_eq!(turn.output.read(), expected);
}

#[test]
fn failed_command_shows_its_exit_code_and_last_lines() {
    let turn = TestTurn::on_terminal(PLAIN);
    let output: Vec<String> = (1..=130).map(|number| format!("line {number}")).collect();
    let error = ToolError::execution(format!("Exit code: 101\n\n{}", output.join("\n")));
    turn.ends("1", "exec", Err(error.with_details(json!({"exit_code": 101, "signal": null}))));
    let shown: Vec<String> = (31..=130).map(|number| format!("  line {number}")).collect();
    assert_eq!(turn.output.read(), format!("failed exec: exit 101, 12 ms\n  (32 lines before)\n{}\n", shown.join("\n")));
    turn.ends("2", "exec", Err(ToolError::execution("Ended by signal 9").with_details(json!({"exit_code": null, "signal": 9}))));
    assert!(turn.output.read().ends_with("failed exec: signal 9, 12 ms\n  Ended by signal 9\n"));
}

#[test]
fn wait_line_does_not_touch_a_question() {
    let turn = TestTurn::on_terminal(LIVE);
    let screen = Arc::clone(&turn.turn.view.screen);
    turn.starts("1", "exec", &json!({"command": "make"}));
    let question = crate::terminal::screen::ScreenQuestion::begin(Arc::clone(&screen));
    screen.prompt("Yes? ");
    turn.at(1);
    turn.at(3);
    screen.end_answer();
    drop(question);
    turn.at(4);
    assert_eq!(turn.output.read(), "Yes? \r◐ exec make 4 s");
}

fn todo(content: &str, active: Option<&str>, status: TodoStatus) -> Todo {
    Todo { content: content.into(), active_form: active.map(str::to_owned), status, id: None }
}

#[test]
fn todo_list_fits_every_terminal() {
    let todos = [
        todo("Read the code", None, TodoStatus::Completed),
        todo("Write tests for the parser", Some("Writing tests for the parser and the other parts"), TodoStatus::InProgress),
        todo("Fix \u{1b}[2J what fails", Some("Fixing"), TodoStatus::Pending),
    ];
    for (style, expected) in [
        (
            LIVE,
            "To-do · 1 of 3 done\n  ✓ Read the code\n  ▸ Writing tests for the parser and the other parts\n  ○ Fix \\u{1b}[2J what fails\n",
        ),
        (NARROW, "To-do · 1 of 3 done\n  ✓ Read the code\n  ▸ Writing tests for the parser and th…\n  ○ Fix \\u{1b}[2J what fails\n"),
        (
            PLAIN,
            "To-do, 1 of 3 done\n  done: Read the code\n  now: Writing tests for the parser and the other parts\n  open: Fix \\u{1b}[2J what fails\n",
        ),
        (
            PIPE,
            "To-do, 1 of 3 done\n  done: Read the code\n  now: Writing tests for the parser and the other parts\n  open: Fix \\u{1b}[2J what fails\n",
        ),
    ] {
        let turn = TestTurn::on_terminal(style);
        turn.tell(&TurnEvent::Todos(&todos));
        assert_eq!(turn.output.read(), expected, "{style:?}");
    }
}

#[test]
fn long_todo_list_shows_what_is_open() {
    let status = |number: usize| match number {
        0..10 => TodoStatus::Completed,
        10 => TodoStatus::InProgress,
        _ => TodoStatus::Pending,
    };
    let todos: Vec<Todo> = (0..50).map(|number| todo(&format!("Step {number}"), None, status(number))).collect();
    let turn = TestTurn::on_terminal(NARROW);
    turn.tell(&TurnEvent::Todos(&todos));
    let output = turn.output.read();
    let lines: Vec<&str> = output.lines().collect();
    assert_eq!(lines.len(), 23, "{output}");
    assert_eq!(
        (lines[0], lines[1], lines[20], lines[21], lines[22]),
        ("To-do · 10 of 50 done", "  ▸ Step 10", "  ○ Step 29", "  (20 items more)", "  (10 items completed)")
    );
}

#[test]
fn message_of_the_model_is_shown_with_its_attachments() {
    let attachment = |path: &str, size: u64, is_image: bool| Attachment { path: path.into(), size, is_image };
    let message = |level: MessageLevel| UserMessage {
        message: "The build takes about ten minutes more.\nShall I continue?".into(),
        level,
        proactive: false,
        attachments: vec![attachment("out/plot.png", 2_048, true), attachment("log\u{7}.txt", 12, false)],
    };
    for (style, level, expected) in [
        (
            LIVE,
            MessageLevel::Question,
            "? The build takes about ten minutes more.\n  Shall I continue?\n  out/plot.png · image, 2.0 KB\n  log\\u{7}.txt · file, 12 bytes\n",
        ),
        (
            NARROW,
            MessageLevel::Info,
            "• The build takes about ten minutes\n  more.\n  Shall I continue?\n  out/plot.png · image, 2.0 KB\n  log\\u{7}.txt · file, 12 bytes\n",
        ),
        (
            PLAIN,
            MessageLevel::Warning,
            "warning: The build takes about ten minutes more.\n  Shall I continue?\n  out/plot.png, image, 2.0 KB\n  log\\u{7}.txt, file, 12 bytes\n",
        ),
    ] {
        let turn = TestTurn::on_terminal(style);
        turn.tell(&TurnEvent::Message(&message(level)));
        assert_eq!(turn.output.read(), expected, "{style:?}");
    }
}
