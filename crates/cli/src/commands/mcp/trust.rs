//! `haft mcp trust`: shows which tools of a server have changed, and approves them.

use haft_mcp::client::QuarantinedTool;
use haft_text::{display, numbers};
use haft_tui::diff::style_lines;
use serde_json::{Value, json};

use crate::commands::agents::prompt::{EnterMeans, PromptResult, confirm};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, GOOD, Output, note, print};
use crate::terminal::Terminal;
use crate::text_builder::TextBuilder;
use crate::wire::Wire;

/// Lines of context in a difference.
const CONTEXT: usize = 2;

/// Whether the changes are approved.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TrustAnswer {
    Yes,
    No,
    Ask,
}

pub(super) fn run(wire: &Wire, name: &str, answer: TrustAnswer, output: &Output) -> Result<Exit, Failure> {
    let server = super::find(wire, name)?;
    let name = server.settings().name.clone();
    // As it is now, not as it was when it was last started.
    block_on(async {
        let started = server.start().await;
        server.close().await;
        started.map_err(|failure| Failure::failed("execution_error", failure.to_string()))
    })?;
    let waiting = server.quarantined();
    if waiting.is_empty() {
        let text = format!("nothing waits: all {} of '{name}' are approved\n", numbers::count(server.tool_names().len(), "tool"));
        return output.show(|| json!({ "server": name, "approved": false, "changes": [] }), || text);
    }
    if !output.json {
        print(&differences(&waiting))?;
    }
    let approved = match answer {
        TrustAnswer::Yes => true,
        TrustAnswer::Ask if Terminal::is_there() && !output.json => {
            match confirm(&format!("Let models use these tools of '{name}'?"), EnterMeans::No)? {
                PromptResult::Given(approved) => approved,
                PromptResult::Left(exit) => return Ok(exit),
            }
        }
        TrustAnswer::No | TrustAnswer::Ask => false,
    };
    if approved {
        server.approve(&waiting).map_err(|failure| Failure::failed("execution_error", failure.to_string()))?;
        if !server.quarantined().is_empty() {
            note(&format!("its tools have changed since you looked: run `haft mcp trust {name}` again"));
        }
    } else if answer == TrustAnswer::Ask {
        note(&format!("nothing was approved; `haft mcp trust {name} --yes` approves it"));
    }
    let changes: Vec<Value> = waiting.iter().map(change).collect();
    let count = numbers::count(waiting.len(), "tool");
    let text = if approved { format!("{GOOD}approved{GOOD:#}: {count} of '{name}'\n") } else { String::new() };
    output.show(|| json!({ "server": name, "approved": approved, "changes": changes }), || text)?;
    // Who asked for the approval has not got it.
    Ok(if answer == TrustAnswer::Ask && !approved { Exit::Failed } else { Exit::Success })
}

fn change(tool: &QuarantinedTool) -> Value {
    let parsed = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    json!({ "tool": tool.name, "why": tool.why.as_str(), "before": parsed(&tool.before), "now": parsed(&tool.now) })
}

/// The text of a tool with its last line ended: that it is not says nothing to the user.
fn end_line(text: &str) -> String {
    if text.is_empty() { String::new() } else { format!("{text}\n") }
}

/// What has changed, with every hidden character shown.
fn differences(waiting: &[QuarantinedTool]) -> String {
    let mut page = TextBuilder::default();
    for tool in waiting {
        page.line(format_args!("{CAUTION}{}{CAUTION:#}: {}", display::shorten(&tool.name, 100), tool.why.as_str()));
        let (before, now) = (end_line(&tool.before), end_line(&tool.now));
        let diff = haft_patch::diff::unified(before.as_bytes(), now.as_bytes(), "tool", CONTEXT);
        let lines: Vec<String> = diff.lines().skip(2).map(|line| display::escape_line(line).into_owned()).collect();
        for line in style_lines(&lines) {
            page.line(line);
        }
    }
    page.finish()
}
