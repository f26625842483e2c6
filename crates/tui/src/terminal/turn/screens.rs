//! The screens of a turn.

use std::fmt::Write as _;

use haft_contract::{ErrorKind, ToolError, ToolOutput};
use serde_json::json;

use super::style::SymbolSet;
use super::tests::TestTurn;
use super::*;
use crate::golden::check_screen;

fn style(columns: usize) -> TurnStyle {
    let width: fn() -> Option<usize> = match columns {
        40 => || Some(40),
        80 => || Some(80),
        _ => || Some(120),
    };
    TurnStyle { symbols: SymbolSet::Symbols, columns: width, live: width, verbose: false, markdown: true }
}

/// What stays on the screen: a line that was drawn over is gone.
fn settled(written: &str) -> String {
    written.split('\n').map(|line| line.rsplit('\r').next().unwrap_or_default().trim_end()).collect::<Vec<_>>().join("\n")
}

/// A turn on a terminal with colours.
fn played(columns: usize, play: impl FnOnce(&TestTurn)) -> String {
    let turn = TestTurn::in_colour(style(columns));
    play(&turn);
    settled(&turn.output.read())
}

fn long_diff() -> String {
    let mut diff =
        "--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,4 @@\n use std::io;\n-let n = rows.len() > 1;\n+let n = rows.len() >= 1;\n"
            .to_owned();
    (1..=30).for_each(|number| writeln!(diff, "+    let line_{number} = {number};").unwrap());
    diff
}

#[test]
fn screen_of_an_edit_shows_its_diff_folded() {
    check_screen("edit", "an edit with its diff, folded after twenty lines", |columns| {
        played(columns, |turn| {
            turn.starts("1", "edit_file", &json!({"path": "src/lib.rs"}));
            turn.ends("1", "edit_file", Ok(ToolOutput::text("Edited").with_details(json!({"diff": long_diff()}))));
        })
    });
}

#[test]
fn screen_of_a_failure_is_red_and_not_folded() {
    check_screen("failure", "a failed command and a refused call, in full", |columns| {
        played(columns, |turn| {
            turn.starts("1", "exec", &json!({"command": "cargo test"}));
            let output: Vec<String> = (1..=24).map(|number| format!("test suite::case_{number} ... FAILED")).collect();
            let error = ToolError::execution(format!("Exit code: 101\n\n{}", output.join("\n")));
            turn.ends("1", "exec", Err(error.with_details(json!({"exit_code": 101, "signal": null}))));
            turn.starts("2", "write_file", &json!({"path": "../outside.txt"}));
            let message = "Access denied: path is outside the workspace: '/home/ann/outside.txt'. Use a path inside the workspace; only \
                           the user can grant full-access.";
            let error = ToolError::new(ErrorKind::PathNotAllowed, message);
            turn.ends("2", "write_file", Err(error.with_details(json!({"to_change": "add the folder to workspace.roots"}))));
        })
    });
}

#[test]
fn screen_of_an_answer_renders_markdown() {
    let answer = "## Two problems\n\nThe **parser** reads `rows` twice, see [the guide](https://example.org). It should:\n\n- read them once\n- \
                  keep the last row\n\n```rust\nlet last = rows.pop(); // the newest\n```\n\n| file | change |\n|---|---|\n| lib.rs | reads once |\n";
    check_screen("answer", "an answer of a model: headings, lists, code and a table", |columns| {
        played(columns, |turn| {
            for piece in answer.split_inclusive(' ') {
                turn.tell(&TurnEvent::Text(piece));
            }
            turn.is_over(EndReason::Done, None);
        })
    });
}

#[test]
fn screen_of_a_running_call_shows_its_progress() {
    check_screen("running", "a call that runs, with its own progress", |columns| {
        played(columns, |turn| {
            turn.starts("1", "exec", &json!({"command": "cargo test --workspace"}));
            turn.tell(&TurnEvent::ToolUpdate { call_id: "1", tool: "exec", message: "Compiling haft v0.1.0" });
            turn.at(7);
        }) + "\n"
    });
}
