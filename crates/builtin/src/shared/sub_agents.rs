//! Sub-agents in words, and the ways to name one.

use std::time::{Duration, SystemTime};

use haft_contract::{ErrorKind, SubAgentState, SubAgentStatus, ToolError};
use haft_text::truncate::ellipsize;
use jiff::Timestamp;
use serde_json::{Value, json};

/// How many a message lists.
const NAMED: usize = 10;
const TASK_CHARACTERS: usize = 72;
const LABEL_CHARACTERS: usize = 48;

/// Finds the sub-agent that a model names: `last`, its number in the list from 1, its id, its label, or the beginning of either.
pub(crate) fn find<'a>(target: &str, all: &'a [SubAgentStatus]) -> Result<&'a SubAgentStatus, ToolError> {
    // Keys of another system: agent:main:subagent:ID.
    let wanted = target.rsplit(':').next().unwrap_or_default().trim();
    if wanted.is_empty() {
        return Err(ToolError::validation(
            "The target is empty. Name a sub-agent by its id, its label, its number in the list, or 'last'.",
        ));
    }
    if let Some(found) = all.iter().find(|status| status.id == wanted) {
        return Ok(found);
    }
    let labelled: Vec<&SubAgentStatus> = all.iter().filter(|status| status.label == wanted).collect();
    if !labelled.is_empty() {
        return only(wanted, &labelled);
    }
    if wanted.eq_ignore_ascii_case("last") {
        return all.last().ok_or_else(|| none(wanted, all));
    }
    if let Ok(number) = wanted.parse::<usize>() {
        return number.checked_sub(1).and_then(|index| all.get(index)).ok_or_else(|| none(wanted, all));
    }
    let begins = |status: &&SubAgentStatus| status.label.starts_with(wanted) || status.id.starts_with(wanted);
    only(wanted, &all.iter().filter(begins).collect::<Vec<_>>()).map_err(|error| if all.is_empty() { none(wanted, all) } else { error })
}

fn only<'a>(wanted: &str, found: &[&'a SubAgentStatus]) -> Result<&'a SubAgentStatus, ToolError> {
    match found {
        [one] => Ok(one),
        [] => Err(none(wanted, &[])),
        several => {
            let named: Vec<String> =
                several.iter().take(NAMED).map(|status| format!("{} ({}, {})", status.id, status.label, status.state)).collect();
            Err(ToolError::validation(format!("'{wanted}' means {} sub-agents: {}. Name one by its id.", several.len(), named.join(", "))))
        }
    }
}

fn none(wanted: &str, all: &[SubAgentStatus]) -> ToolError {
    let known: Vec<String> = all.iter().rev().take(NAMED).map(|status| format!("'{}'", status.label)).collect();
    let known = if known.is_empty() { "'list' shows them.".to_owned() } else { format!("There are: {}.", known.join(", ")) };
    ToolError::validation(format!("There is no sub-agent '{wanted}' of this conversation. {known}"))
}

/// One line about a sub-agent.
pub(crate) fn line(status: &SubAgentStatus, now: SystemTime) -> String {
    let SubAgentStatus { label, agent_type, state, calls, id, .. } = status;
    let (label, task) = (ellipsize(label, LABEL_CHARACTERS), ellipsize(status.task.trim(), TASK_CHARACTERS));
    let (seconds, tokens) = (run_time(status, now).as_secs(), status.input + status.output);
    let error = status.error.as_ref().map(|error| format!(", {error}")).unwrap_or_default();
    let task = task.replace('\n', " ");
    format!("{label} ({agent_type}): {state}{error}, {seconds} s, {calls} calls, {tokens} tokens. Task: {task} [{id}]")
}

/// A time as text, such as `2026-11-17T18:47:48Z`.
pub(crate) fn moment(time: SystemTime) -> Option<String> {
    Timestamp::try_from(time).ok().map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

fn run_time(status: &SubAgentStatus, now: SystemTime) -> Duration {
    let until = status.ended.unwrap_or(now);
    status.started.and_then(|started| until.duration_since(started).ok()).unwrap_or_default()
}

/// A sub-agent as data.
pub(crate) fn details(status: &SubAgentStatus, now: SystemTime) -> Value {
    json!({
        "id": status.id,
        "session": status.id,
        "parent": status.parent,
        "label": status.label,
        "task": ellipsize(status.task.trim(), TASK_CHARACTERS),
        "agent": status.agent,
        "agent_type": status.agent_type,
        "model": status.model,
        "status": status.state,
        "background": status.background,
        "rounds": status.rounds,
        "tool_calls": status.calls,
        "input_tokens": status.input,
        "output_tokens": status.output,
        "total_tokens": status.input.saturating_add(status.output),
        "cost_micros": status.cost_micros,
        "duration_ms": u64::try_from(run_time(status, now).as_millis()).unwrap_or(u64::MAX),
        "created_at": moment(status.created),
        "started_at": status.started.and_then(moment),
        "ended_at": status.ended.and_then(moment),
        "error": status.error,
    })
}

/// The answer of a sub-agent that has ended, with what it took; the error of one that has none.
pub(crate) fn outcome(status: &SubAgentStatus, now: SystemTime) -> Result<String, ToolError> {
    let SubAgentStatus { id, label, agent_type, rounds, calls, input, output, .. } = status;
    let answer = status.answer.as_deref().unwrap_or_default();
    let cost = status.cost_micros.filter(|cost| *cost > 0).map(|cost| format!(", ${:.4}", dollars(cost))).unwrap_or_default();
    let seconds = run_time(status, now).as_secs();
    let work = format!("{rounds} rounds, {calls} calls, {input} + {output} tokens{cost}, {seconds} s");
    let note = status.error.as_ref().map(|error| format!(" {error}.")).unwrap_or_default();
    let kind = match status.state {
        SubAgentState::Done => {
            return Ok(format!("[sub-agent '{label}' ({agent_type}) is done: {work}; session {id}]{note}\n\n{answer}"));
        }
        SubAgentState::TimedOut => ErrorKind::Timeout,
        SubAgentState::Killed => ErrorKind::Cancelled,
        _ => ErrorKind::ExecutionError,
    };
    let last = if answer.is_empty() { String::new() } else { format!(" Its last text:\n{answer}") };
    let message = format!(
        "The sub-agent '{label}' ({agent_type}) has no answer ({}):{note} {work}; its conversation is session {id}.{last}",
        status.state
    );
    Err(ToolError::new(kind, message))
}

#[allow(clippy::cast_precision_loss, reason = "amounts of money here are far below 2^52 micros")]
fn dollars(micros: i64) -> f64 {
    micros as f64 / 1e6
}

#[cfg(test)]
mod tests {
    use haft_testkit::sub_agent_status;

    use super::*;

    fn three() -> Vec<SubAgentStatus> {
        let with = |id: &str, label: &str| SubAgentStatus { label: label.into(), ..sub_agent_status(id, SubAgentState::Running) };
        vec![with("0199a-1", "read docs"), with("0199b-2", "read code"), with("0199c-3", "build")]
    }

    #[test]
    fn sub_agent_is_found_by_number_id_label_and_beginning() {
        for (target, id) in [
            ("last", "0199c-3"),
            ("1", "0199a-1"),
            ("3", "0199c-3"),
            ("0199b-2", "0199b-2"),
            ("agent:main:subagent:0199b-2", "0199b-2"),
            ("build", "0199c-3"),
            ("read c", "0199b-2"),
            (" bui ", "0199c-3"),
        ] {
            assert_eq!(find(target, &three()).unwrap().id, id, "{target}");
        }
    }

    #[test]
    fn outcome_says_what_it_took_and_an_end_without_an_answer_is_an_error() {
        let status = |state| SubAgentStatus {
            label: "look".into(),
            answer: Some("An axe.".into()),
            started: Some(SystemTime::UNIX_EPOCH),
            ended: Some(SystemTime::UNIX_EPOCH + Duration::from_secs(7)),
            rounds: 3,
            calls: 2,
            input: 100,
            output: 20,
            cost_micros: Some(12_345),
            ..sub_agent_status("s1", state)
        };
        let now = SystemTime::UNIX_EPOCH + Duration::from_mins(1);
        let work = "3 rounds, 2 calls, 100 + 20 tokens, $0.0123, 7 s";
        let done = format!("[sub-agent 'look' (explore) is done: {work}; session s1]\n\nAn axe.");
        assert_eq!(outcome(&status(SubAgentState::Done), now).unwrap(), done);
        let free = outcome(&SubAgentStatus { cost_micros: None, ..status(SubAgentState::Done) }, now).unwrap();
        assert!(free.contains("20 tokens, 7 s"), "a cost that is not known is not named: {free}");
        for (state, kind) in [
            (SubAgentState::TimedOut, ErrorKind::Timeout),
            (SubAgentState::Killed, ErrorKind::Cancelled),
            (SubAgentState::Failed, ErrorKind::ExecutionError),
        ] {
            let error = outcome(&SubAgentStatus { error: Some("slow".into()), ..status(state) }, now).unwrap_err();
            assert_eq!(error.kind(), kind);
            let expected = format!(
                "The sub-agent 'look' (explore) has no answer ({state}): slow. {work}; its conversation is session s1. Its last text:\nAn axe."
            );
            assert_eq!(error.message(), expected);
        }
    }

    #[test]
    fn unknown_and_ambiguous_targets_are_refused_with_what_to_write() {
        for (target, expected) in [
            ("", "The target is empty. Name a sub-agent by its id, its label, its number in the list, or 'last'."),
            ("0", "There is no sub-agent '0' of this conversation. There are: 'build', 'read code', 'read docs'."),
            ("4", "There is no sub-agent '4' of this conversation. There are: 'build', 'read code', 'read docs'."),
            ("nope", "There is no sub-agent 'nope' of this conversation. 'list' shows them."),
            ("read", "'read' means 2 sub-agents: 0199a-1 (read docs, running), 0199b-2 (read code, running). Name one by its id."),
        ] {
            assert_eq!(find(target, &three()).unwrap_err().message(), expected);
        }
        assert!(find("last", &[]).unwrap_err().message().starts_with("There is no sub-agent 'last'"));
        let mut twice = three();
        twice[0].label = "build".into();
        assert!(find("build", &twice).unwrap_err().message().starts_with("'build' means 2 sub-agents"));
    }
}
