//! The steps of a request: what changes something is done alone and in order, and a step that fails is the last.

use std::borrow::Cow;

use haft_provider::{Block, ResultPart};
use haft_text::advice::for_user;
use haft_text::numbers::count;
use haft_text::truncate::ellipsize;
use serde_json::Value;

use super::clauses::{Joint, clauses};
use super::grammar;
use super::questions::question;
use super::reminders::{reminder, scheduled};
use super::request::{DemoCall, DemoRequest, FollowUp};

/// How many requests of one text are served.
const MAX_REQUESTS: usize = 16;

/// Requests that are served at once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DemoStep(pub(super) Vec<DemoRequest>);

/// The part of a text that is not understood.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct NotUnderstood(pub(super) String);

/// The steps of a text. If one part of it is not understood, none is done.
pub(super) fn steps(text: &str) -> Result<Vec<DemoStep>, NotUnderstood> {
    if let Some(reminder) = reminder(text) {
        return Ok(vec![DemoStep(vec![reminder])]);
    }
    // A scheduled request is done as if it were asked for now.
    let text = scheduled(text).unwrap_or(text);
    let mut steps: Vec<DemoStep> = Vec::new();
    let clauses = clauses(text);
    if clauses.is_empty() || clauses.len() > MAX_REQUESTS {
        return Err(NotUnderstood(text.trim().to_owned()));
    }
    let mut before: Option<DemoRequest> = None;
    for clause in clauses {
        if before.as_ref().is_some_and(DemoRequest::has_result) && clause.asks_for_result() {
            continue;
        }
        let understood = question(&clause.words).or_else(|| grammar::request(&clause, text, before.as_ref()));
        let Some(request) = understood else { return Err(NotUnderstood(clause.source(text).to_owned())) };
        before = Some(request.clone());
        match steps.last_mut() {
            Some(last) if clause.joint == Joint::And && !request.changes() && !last.0.iter().any(DemoRequest::changes) => {
                last.0.push(request);
            }
            _ => steps.push(DemoStep(vec![request])),
        }
    }
    Ok(steps)
}

/// What the model does next.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum NextAction {
    Call(Vec<DemoCall>),
    /// Nothing more, and why if something is left.
    End(Option<String>),
}

/// The result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct StepResult {
    pub(super) tool: String,
    pub(super) output: String,
    pub(super) failed: bool,
}

impl StepResult {
    pub(super) fn from_block(block: &Block) -> Option<Self> {
        let Block::Result { name, content, is_error, .. } = block else { return None };
        Some(Self { tool: name.clone(), output: output(content), failed: *is_error })
    }

    /// What a user has use for: where a search found nothing, or a call failed, there is advice for a model.
    fn for_user(&self) -> Cow<'_, str> {
        let is_command = ["exec", "bash"].contains(&self.tool.as_str());
        if self.failed && !is_command {
            return for_user(&self.output);
        }
        let is_search = ["glob_search", "grep_search"].contains(&self.tool.as_str());
        let sentence = self.output.split_once("). ").filter(|(first, _)| is_search && first.starts_with("No ")).map(|(first, _)| first);
        sentence.map_or(self.output.as_str(), |first| &self.output[..first.len() + 2]).into()
    }

    /// `read_file: sharpen the axe`; several lines as code, and of a change only the first, because its diff is shown with the call.
    pub(super) fn line(&self, characters: usize) -> String {
        let name = format!("{}{}", self.tool, if self.failed { " failed" } else { "" });
        let for_user = self.for_user();
        let output = ellipsize(&for_user, characters);
        let is_change = ["write_file", "write", "edit_file", "edit", "apply_patch"].contains(&self.tool.as_str());
        match output.split_once('\n') {
            Some((first, rest)) if is_change && !self.failed && first.ends_with(':') => {
                format!("{name}: {first} {}", rest.lines().next().unwrap_or_default())
            }
            Some((first, _)) if is_change && !self.failed => format!("{name}: {first}"),
            Some(_) => {
                let fence = fence(&output);
                format!("{name}:\n{fence}\n{output}\n{fence}")
            }
            None => format!("{name}: {output}"),
        }
    }
}

/// A fence that no line of the text closes.
fn fence(text: &str) -> String {
    let longest = text.split(|ch| ch != '`').map(str::len).max().unwrap_or(0);
    "`".repeat(longest.max(2) + 1)
}

/// The text in the envelope of a result.
fn output(content: &[ResultPart]) -> String {
    let text =
        content.iter().find_map(|piece| if let ResultPart::Text { text } = piece { Some(text.as_str()) } else { None }).unwrap_or_default();
    let envelope: Value = serde_json::from_str(text).unwrap_or_default();
    envelope["result"].as_str().or_else(|| envelope["message"].as_str()).unwrap_or(text).trim().to_owned()
}

/// The next calls, by the results so far.
pub(super) fn next_action(steps: &[DemoStep], results: &[StepResult]) -> NextAction {
    let mut rest = results;
    for (number, step) in steps.iter().enumerate() {
        let later = steps.len() - number - 1;
        let Some((done, others)) = take(rest, step.0.len()) else {
            return NextAction::Call(step.0.iter().map(DemoRequest::call).collect());
        };
        rest = others;
        if done.iter().any(|result| result.failed) {
            return NextAction::End(stopped(later));
        }
        if let ([request], [result]) = (step.0.as_slice(), done) {
            match request.follow_up(&result.output) {
                None => {}
                Some(FollowUp::Stop(why)) => {
                    return NextAction::End(Some([Some(why), stopped(later)].into_iter().flatten().collect::<Vec<_>>().join(" ")));
                }
                Some(FollowUp::Call(call)) => {
                    let Some((done, others)) = take(rest, 1) else { return NextAction::Call(vec![call]) };
                    rest = others;
                    if done[0].failed {
                        return NextAction::End(stopped(later));
                    }
                }
            }
        }
    }
    NextAction::End(None)
}

fn take(results: &[StepResult], count: usize) -> Option<(&[StepResult], &[StepResult])> {
    (results.len() >= count).then(|| results.split_at(count))
}

fn stopped(later: usize) -> Option<String> {
    (later > 0).then(|| {
        format!(
            "I stopped there: {} not done.",
            if later == 1 { "one step is".to_owned() } else { format!("{} are", count(later, "step")) }
        )
    })
}
