//! `haft explain CALL-ID`: the decision on a recorded call, as of then and as of now.

use std::sync::Arc;

use haft_engine::{Explanation, HOOK, Registry};
use haft_policy::Verdict;
use haft_store::{CallLog, CallRecord, CallStatus};
use haft_tui::time::local_time;
use serde_json::{Value, json};

use super::trace::{TraceRow, trace_lines};
use super::{effect_lines, in_words, prose, verdict};
use crate::arguments::{CallerArgs, Common};
use crate::commands::block_on;
use crate::commands::policy::decide_again;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::output::{Output, STRONG, error_text};
use crate::text_builder::{INDENT, TextBuilder};
use crate::wire::{self, Wire};

/// Fewer characters could be a misspelled tool.
const MIN_ID_LENGTH: usize = 8;

/// Whether a word that names no tool is the id of a call, or the beginning or end of one.
pub(super) fn is_call_id(word: &str) -> bool {
    let digits = word.strip_prefix("call_").unwrap_or(word);
    digits.len() >= MIN_ID_LENGTH && digits.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

pub(super) fn run(invocation: Invocation, who: &CallerArgs, registry: Arc<Registry>) -> Result<Exit, Failure> {
    let Invocation { tool: id, common, who: later, .. } = invocation;
    if who.clone().then(later) != CallerArgs::default() {
        let message = format!("'{id}' is a past call, which has a caller of its own");
        return Err(Failure::usage(message).help("leave out the flags of the caller, or name a tool in place of the call"));
    }
    let record = block_on(async { Ok(wire::store(&wire::data_folder()?)?.get(&id).await?) })?;
    let output = common.output();
    let now = decide_now(common, registry, &record, &output);
    output.show(|| to_json(&record, &now), || words(&record, &now, output.width))
}

/// The decision on the same call in its own workspace, with the configuration of today.
fn decide_now(common: Common, registry: Arc<Registry>, record: &CallRecord, output: &Output) -> Result<Explanation, Failure> {
    let common = Common { workspace: Some(record.workspace.clone()), agent: Some(record.agent.clone()), ..common };
    let wire = Wire::with_registry(registry, &common, output)?;
    let explainer = wire.explainer()?;
    block_on(decide_again(&explainer, record))
}

fn to_json(record: &CallRecord, now: &Result<Explanation, Failure>) -> Value {
    let mut value = haft_tui::calls::to_json(record);
    let CallRecord { decision, effects, .. } = record;
    let then = json!({
        "verdict": decision["verdict"],
        "effects": effects,
        "trace": decision["trace"],
        "message": message(record),
        "to_change": decision["to_change"],
    });
    let now = now.as_ref().map_or_else(Failure::to_json, |now| json!(now));
    let facts = ["id", "call_id", "tool", "started", "agent", "session", "workspace", "arguments"];
    let facts = facts.into_iter().map(|name| (name.to_owned(), value[name].take()));
    Value::Object(facts.chain([("then".to_owned(), then), ("now".to_owned(), now)]).collect())
}

/// What the model was told, if the call was refused.
fn message(record: &CallRecord) -> Option<&str> {
    let refused = matches!(record.status, CallStatus::Error(_)) && record.decision["verdict"] != Verdict::Allow.as_str();
    refused.then_some(record.summary.as_str())
}

fn words(record: &CallRecord, now: &Result<Explanation, Failure>, width: Option<usize>) -> String {
    let mut page = TextBuilder::default();
    let when = local_time(record.started, "%Y-%m-%d %H:%M:%S %Z");
    page.line(format_args!("{STRONG}Then{STRONG:#}, {when}, call {}", record.id));
    page.text(&then_in_words(record, width));
    page.line(format_args!("\n{STRONG}Now{STRONG:#}, with the configuration of today{}", left_out(record)));
    match now {
        Ok(now) => page.text(&in_words(now, &record.workspace, width)),
        Err(failure) => page.line(format_args!("It cannot be decided.\n{}", error_text(&failure.message, failure.help.as_deref()))),
    }
    page.finish()
}

/// What the decision of now does without: what was not recorded, and what only the session of the call knew.
fn left_out(record: &CallRecord) -> &'static str {
    if record.arguments.is_null() {
        return " (on the tool alone: the arguments were not recorded, because it was not offered)";
    }
    let of_session = |step: &Value| {
        matches!(step["step"].as_str(), Some("taint guard" | "approval" | HOOK))
            || step["entry"].as_str().is_some_and(|entry| entry.starts_with("allowed for this session"))
    };
    let any = record.decision["trace"].as_array().is_some_and(|trace| trace.iter().any(of_session));
    if any { " (without the taint, the answers and the hooks of that session)" } else { "" }
}

fn then_in_words(record: &CallRecord, width: Option<usize>) -> String {
    let CallRecord { decision, effects, tool, workspace, .. } = record;
    let inner = width.map(|width| width.saturating_sub(INDENT.len()));
    let all = [Verdict::Allow, Verdict::Ask, Verdict::Deny];
    let mut page = TextBuilder::default();
    match all.into_iter().find(|verdict| decision["verdict"] == verdict.as_str()).map(verdict) {
        Some((word, style)) => page.line(format_args!("{STRONG}{tool}{STRONG:#}: {style}{word}{style:#}")),
        None => page.line(format_args!("{STRONG}{tool}{STRONG:#}: no decision was recorded")),
    }
    page.section("It would", &effect_lines(effects, workspace).render(inner));
    page.section("Because", &trace_lines(decision["trace"].as_array().into_iter().flatten().map(TraceRow::from), inner));
    page.section("The model was told", &prose(message(record), inner));
    page.section("To change it", &prose(decision["to_change"].as_str(), inner));
    page.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn call_ids_are_eight_or_more_hexadecimal_digits() {
        for (word, expected) in [
            ("01a2b3c4", true),
            ("call_0123456789abcdef", true),
            ("0199-aaaa-bbbb", true),
            ("01a2b3c", false),
            ("read_file", false),
            ("call_", false),
            ("", false),
        ] {
            assert_eq!(is_call_id(word), expected, "{word}");
        }
    }
}
