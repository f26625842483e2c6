use std::time::Duration;

use haft_agent::Micros;
use haft_contract::{ErrorKind, ToolError, ToolOutput};
use serde_json::{Value, json};

use super::face::Marks;
use super::*;
use crate::terminal::screen::testing::{Paper, pipes, terminal};

/// A turn that is watched, at times of our own.
struct Stage {
    turn: TurnOnTerminal,
    now: Arc<Mutex<Duration>>,
    paper: Paper,
}

impl Stage {
    fn new(screen: Arc<Screen>, paper: Paper, face: Face) -> Self {
        let (began, now) = (Instant::now(), Arc::new(Mutex::new(Duration::ZERO)));
        let clock = Arc::clone(&now);
        let turn = TurnOnTerminal::on(screen, face, Arc::new(move || began + *clock.lock().unwrap()));
        Self { turn, now, paper }
    }

    fn on_terminal(face: Face) -> Self {
        let (screen, paper) = terminal(false);
        let stage = Self::new(screen, paper, face);
        stage.tell(&TurnEvent::Start { session: "s", model: "work/m1" });
        stage
    }

    fn tell(&self, event: &TurnEvent<'_>) {
        self.turn.event(event);
    }
    /// So many seconds after the beginning, the last line is looked at.
    fn at(&self, seconds: u64) {
        self.set(seconds);
        self.turn.shown.tick();
    }
    fn set(&self, seconds: u64) {
        *self.now.lock().unwrap() = Duration::from_secs(seconds);
    }
    fn starts(&self, id: &str, tool: &str, arguments: &Value) {
        self.tell(&TurnEvent::ToolStart { call_id: id, tool, arguments: &arguments.to_string() });
    }
    fn ends(&self, id: &str, tool: &'static str, outcome: Result<ToolOutput, ToolError>) {
        let result = ToolResult { call_id: id.into(), tool: tool.into(), outcome, elapsed: Duration::from_millis(12) };
        self.tell(&TurnEvent::ToolEnd(&result));
    }
    fn is_over(&self, reason: EndReason, error: Option<&str>) {
        let mut end = TurnEnd::new(reason);
        (end.usage.input, end.usage.cached, end.usage.output) = (12_300, 9_000, 840);
        (end.cost, end.calls, end.rounds, end.elapsed) = (Some(Micros(21_000)), 3, 2, Duration::from_secs(8));
        end.error = error.map(str::to_owned);
        self.tell(&TurnEvent::End(&end));
    }
}

const LIVE: Face = Face { marks: Marks::Symbols, columns: || Some(80), live: || Some(80), verbose: false };
const NARROW: Face = Face { marks: Marks::Symbols, columns: || Some(40), live: || Some(40), verbose: false };
const PLAIN: Face = Face { marks: Marks::Words, columns: || Some(80), live: || None, verbose: false };
const PIPE: Face = Face { marks: Marks::Words, columns: || None, live: || None, verbose: false };

fn read(lines: u64) -> ToolOutput {
    ToolOutput::text("one\n").with_details(json!({"first_line": 1, "last_line": lines, "total_lines": lines}))
}

fn missing() -> ToolError {
    let error = ToolError::new(ErrorKind::FileNotFound, "There is no file 'gone.txt' in the workspace. Look with glob_search.");
    error.with_details(json!({"to_change": "set access"}))
}

/// Takes away what stands alone on a line.
fn wiped(columns: usize) -> String {
    format!("\r{}\r", " ".repeat(columns))
}

/// The same for what stands behind words.
fn wiped_behind(columns: usize) -> String {
    let back = "\u{8}".repeat(columns);
    format!("{back}{}{back}", " ".repeat(columns))
}

#[test]
fn a_live_turn_moves_its_last_line_alone() {
    let stage = Stage::on_terminal(LIVE);
    stage.at(9);
    stage.at(11);
    stage.at(12);
    stage.tell(&TurnEvent::Thinking("hm"));
    stage.at(15);
    stage.tell(&TurnEvent::Text("Let me look."));
    stage.starts("1", "read_file", &json!({"path": "README.md"}));
    stage.at(16);
    stage.at(18);
    stage.at(19);
    stage.ends("1", "read_file", Ok(read(120)));
    stage.tell(&TurnEvent::Text("It says"));
    stage.at(29);
    stage.at(30);
    stage.tell(&TurnEvent::Text(" one.\n"));
    stage.is_over(EndReason::Done, None);
    stage.at(99);
    let expected = [
        "\rwaiting for work/m1… 11 s\rwaiting for work/m1… 12 s",
        &format!("\rthinking…{}\rthinking… 3 s{}", " ".repeat(16), wiped(13)),
        "Let me look.\n",
        &format!("\r◒ read_file README.md 3 s\r◐ read_file README.md 4 s{}", wiped(25)),
        "✓ read_file README.md · 120 lines · 12 ms\n",
        &format!("It says waiting for work/m1… 10 s{} waiting for work/m1… 11 s{}", "\u{8}".repeat(26), wiped_behind(26)),
        " one.\n",
        "↑12.3k (9k cached) ↓840 · $0.0210 · 3 tools · 8 s\n",
    ];
    assert_eq!(stage.paper.read(), expected.concat());
}

#[test]
fn several_calls_share_the_last_line_and_say_how_far_they_are() {
    let stage = Stage::on_terminal(LIVE);
    stage.starts("1", "exec", &json!({"command": "cargo test"}));
    stage.set(1);
    stage.starts("2", "read_file", &json!({"path": "a"}));
    stage.starts("3", "noop", &json!({}));
    stage.at(4);
    stage.tell(&TurnEvent::ToolUpdate { call_id: "1", tool: "exec", message: "12 of 40\n" });
    stage.at(5);
    stage.ends("2", "read_file", Ok(read(1)));
    stage.ends("1", "exec", Ok(ToolOutput::text("a\nb\n").with_details(json!({"exit_code": 0}))));
    stage.at(6);
    stage.ends("3", "noop", Ok(ToolOutput::text("done")));
    let expected = [
        "\r◐ 3 calls running · exec cargo test 4 s",
        &format!("\r◓ 3 calls running · exec cargo test 5 s · 12 of 40\\n{}", wiped(52)),
        "✓ read_file a · 1 line · 12 ms\n",
        "✓ exec cargo test · exit 0 · 2 lines · 12 ms\n",
        &format!("\r◓ noop 5 s{}", wiped(10)),
        "✓ noop · done · 12 ms\n",
    ];
    assert_eq!(stage.paper.read(), expected.concat());
}

#[test]
fn forty_columns_hold_what_matters() {
    let stage = Stage::on_terminal(NARROW);
    stage.starts("1", "read_file", &json!({"path": "docs/漢字/a/rather/long/path.md"}));
    stage.at(3);
    stage.ends("1", "read_file", Ok(read(120)));
    stage.starts("2", "read_file", &json!({"path": "gone.txt"}));
    stage.ends("2", "read_file", Err(missing()));
    stage.is_over(EndReason::Budget, Some("The budget is used up: $1.00 of the $1.00 for this turn are spent."));
    let expected = [
        &format!("\r◒ read_file docs/漢字/a/rather/long/pa…{}", wiped(39)),
        "✓ read_file docs/漢… · 120 lines · 12 ms\n",
        "✗ read_file gone.txt · file_not_found\n",
        "  There is no file 'gone.txt' in the\n  workspace. Look with glob_search.\n  help: set access\n",
        "warning: The budget is used up: $1.00 of the $1.00 for this turn are spent.\n",
        "↑12.3k (9k cached) ↓840 · $0.0210\n3 tools · 8 s\n",
    ];
    assert_eq!(stage.paper.read(), expected.concat());
}

#[test]
fn plain_means_lines_and_words() {
    let stage = Stage::on_terminal(PLAIN);
    stage.at(12);
    stage.tell(&TurnEvent::Thinking("hm\n"));
    stage.tell(&TurnEvent::Text("I will."));
    stage.starts("1", "write_file", &json!({"path": "a.txt", "content": "x"}));
    stage.at(60);
    stage.tell(&TurnEvent::ToolUpdate { call_id: "1", tool: "write_file", message: "half" });
    let diff = "--- a.txt\n+++ a.txt\n@@ -1 +1,2 @@\n-a\n+b\n+c\n";
    stage.ends("1", "write_file", Ok(ToolOutput::text("").with_details(json!({"bytes": 4, "created": false, "diff": diff}))));
    stage.starts("2", "read_file", &json!({"path": "gone.txt"}));
    stage.ends("2", "read_file", Err(missing()));
    stage.tell(&TurnEvent::Notice("the answer broke\noff"));
    stage.is_over(EndReason::Cancelled, None);
    let expected = [
        "I will.\n",
        "ok write_file a.txt: 2 lines added, 1 removed, 4 bytes, 12 ms\n",
        "failed read_file gone.txt: file_not_found, 12 ms\n",
        "  There is no file 'gone.txt' in the workspace. Look with glob_search.\n  help: set access\n",
        "the answer broke\\noff\n",
        "The turn was cancelled. What was said and done until then is kept.\n",
        "12,300 tokens in (9,000 cached), 840 out, $0.0210, 3 calls, 8 s\n",
    ];
    assert_eq!(stage.paper.read(), expected.concat());
}

#[test]
fn a_pipe_gets_the_models_words_and_nothing_else() {
    let (screen, out, err) = pipes();
    let stage = Stage::new(screen, err, PIPE);
    stage.tell(&TurnEvent::Start { session: "s", model: "work/m1" });
    stage.tell(&TurnEvent::Text("Let me\u{1b}[2J see"));
    stage.at(99);
    stage.starts("1", "read_file", &json!({"path": "x".repeat(50)}));
    stage.ends("1", "read_file", Ok(read(2)));
    stage.tell(&TurnEvent::Text("It says one."));
    stage.is_over(EndReason::Failed, Some("The key is wrong."));
    assert_eq!(out.read(), "Let me\u{1b}[2J see\nIt says one.\n");
    let expected = [
        &format!("ok read_file {}: 2 lines, 12 ms\n", "x".repeat(50)),
        "error: The key is wrong.\n",
        "12,300 tokens in (9,000 cached), 840 out, $0.0210, 3 calls, 8 s\n",
    ];
    assert_eq!(stage.paper.read(), expected.concat());
}

#[test]
fn verbose_shows_what_is_behind_each_line() {
    let stage = Stage::on_terminal(Face { verbose: true, ..PLAIN });
    stage.tell(&TurnEvent::Thinking("first\nsec"));
    stage.tell(&TurnEvent::Thinking("ond"));
    stage.starts("1", "read_file", &json!({"path": "a.txt"}));
    stage.tell(&TurnEvent::ToolUpdate { call_id: "1", tool: "read_file", message: "half" });
    stage.ends("1", "read_file", Ok(read(1)));
    let expected = [
        "  thinking: first\n  thinking: second\n",
        "read_file: half\n",
        "ok read_file a.txt: 1 line, 12 ms\n",
        "  id: 1 (haft history 1 shows what was decided)\n  with path: a.txt\n  result:\n    one\n",
    ];
    assert_eq!(stage.paper.read(), expected.concat());
}

/// What is shown after this turn when it is asked for.
fn shown_after(calls: usize, show: impl Fn(&TurnOnTerminal)) -> String {
    let stage = Stage::on_terminal(PLAIN);
    for number in 0..calls {
        stage.starts(&number.to_string(), "noop", &json!({}));
        stage.ends(&number.to_string(), "noop", Ok(ToolOutput::text("done")));
    }
    stage.is_over(EndReason::Done, None);
    let before = stage.paper.read().len();
    show(&stage.turn);
    stage.paper.read().split_off(before)
}

#[test]
fn details_are_there_when_they_are_asked_for() {
    let call = |number: usize| {
        format!("ok noop: done, 12 ms\n  id: {number} (haft history {number} shows what was decided)\n  result:\n    done\n")
    };
    assert_eq!(shown_after(0, TurnOnTerminal::show_last_details), "There was no call in the last turn.\n");
    assert_eq!(shown_after(2, TurnOnTerminal::show_last_details), call(1));
    assert_eq!(shown_after(2, TurnOnTerminal::show_all_details), [call(0), call(1)].concat());
    let kept: String = (5..105).map(call).collect();
    assert_eq!(shown_after(105, TurnOnTerminal::show_all_details), kept);
}

#[test]
fn a_new_turn_forgets_the_calls_of_the_last() {
    let stage = Stage::on_terminal(PLAIN);
    stage.ends("1", "noop", Ok(ToolOutput::text("done")));
    stage.tell(&TurnEvent::Start { session: "s", model: "work/m1" });
    stage.turn.show_all_details();
    assert_eq!(stage.paper.read(), "ok noop: done, 12 ms\nThere was no call in the last turn.\n");
}

#[test]
fn failures_are_red_and_the_rest_is_quiet() {
    let (screen, paper) = terminal(true);
    let stage = Stage::new(screen, paper, LIVE);
    stage.ends("1", "noop", Ok(ToolOutput::text("done")));
    stage.ends("2", "exec", Err(ToolError::new(ErrorKind::Timeout, "late\u{1b}[2J")));
    let expected = [
        "\u{1b}[32m✓\u{1b}[0m noop\u{1b}[2m · done · 12 ms\u{1b}[0m\n",
        "\u{1b}[1m\u{1b}[31m✗\u{1b}[0m\u{1b}[31m exec\u{1b}[0m\u{1b}[31m · timeout · 12 ms\u{1b}[0m\n",
        "  \u{1b}[31mlate\\u{1b}[2J\u{1b}[0m\n",
    ];
    assert_eq!(stage.paper.read(), expected.concat());
}

#[test]
fn a_message_is_bounded_too() {
    let stage = Stage::on_terminal(PLAIN);
    stage.ends("1", "noop", Err(ToolError::new(ErrorKind::Timeout, "late\n".repeat(30))));
    let expected = format!("failed noop: timeout, 12 ms\n{}  (10 more lines)\n", "  late\n".repeat(20));
    assert_eq!(stage.paper.read(), expected);
}

#[test]
fn a_question_is_not_moved_by_what_is_waited_for() {
    let stage = Stage::on_terminal(LIVE);
    let screen = Arc::clone(&stage.turn.shown.screen);
    stage.starts("1", "exec", &json!({"command": "make"}));
    let questioning = crate::terminal::screen::Questioning::begin(Arc::clone(&screen));
    screen.prompt("Yes? ");
    stage.at(1);
    stage.at(3);
    screen.answered();
    drop(questioning);
    stage.at(4);
    assert_eq!(stage.paper.read(), "Yes? \r◐ exec make 4 s");
}
