//! settle: history keeps, watchers are told. A failed write is an event, never a lost answer.
//!
//! Before that, hooks are shown the whole outcome, also where the model gets a part of it, and may rewrite what is stored of it: in
//! history, in spills and in the transcript of the session.

use std::borrow::Cow;
use std::sync::Arc;

use haft_contract::{Content, ToolError, ToolOutput, ToolResult};
use haft_store::{Blobs, CallLog, CallStatus};
use haft_text::truncate::first_bytes;
use serde_json::{Value, json};

use super::bound::redact_outcome;
use super::guard;
use crate::events::{Event, EventSink, emit};
use crate::hooks::Hooks;
use crate::stop::StopSignal;
use crate::trail::Trail;
use crate::{CallLimits, Session};

/// What the stage reads of the engine.
#[derive(Clone, Copy)]
pub(crate) struct SettleContext<'a> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) log: &'a dyn CallLog,
    pub(crate) events: Option<&'a dyn EventSink>,
    pub(crate) limits: &'a CallLimits,
    pub(crate) stop: &'a StopSignal,
}

/// Turns an outcome into the call's one result, records it, and tells hooks and watchers.
pub(crate) fn settle(
    engine: SettleContext<'_>,
    mut trail: Box<Trail>,
    mut outcome: Result<ToolOutput, ToolError>,
    stored: Option<String>,
    session: &Session,
) -> ToolResult {
    if let Some(attempt) = trail.count_attempt(&outcome, session) {
        add_note(&mut outcome, guard::note(attempt));
    }
    if let Some(note) = trail.edit_note() {
        add_note(&mut outcome, note.to_owned());
    }
    add_warnings(trail.warnings(), &mut outcome);
    trail.set_advice(&outcome);
    let mut result = ToolResult { stored, ..trail.result(outcome) };
    let summary = summarize(&result, engine.limits.summary_bytes);
    let status = match &result.outcome {
        Ok(_) => CallStatus::Success,
        Err(error) => CallStatus::Error(error.kind().as_str().to_owned()),
    };
    let call = Arc::clone(trail.call());
    let elapsed = result.elapsed;
    let written = engine.log.append_with(summary.len(), trail.recording(session.clone(), status, summary, elapsed));
    if let Err(error) = written {
        let why = error.to_string();
        add_warnings(&[format!("this call is not in the history: {why}")], &mut result.outcome);
        emit(engine.events, &Event::NotRecorded { call: &call, why });
    }
    let error = result.outcome.as_ref().err().map(ToolError::kind);
    emit(engine.events, &Event::Finished { call: &call, error, elapsed });
    result
}

/// Shows the whole outcome to the hooks; the second value is the text to be stored in its place, if a hook decided on one.
pub(crate) async fn show_to_hooks(
    engine: SettleContext<'_>,
    blobs: &dyn Blobs,
    trail: &Trail,
    mut outcome: Result<ToolOutput, ToolError>,
) -> (Result<ToolOutput, ToolError>, Option<String>) {
    redact_outcome(&mut outcome);
    let result = trail.result(outcome);
    let stored = run_hooks(engine, trail, &result).await;
    if let Some(text) = &stored {
        for path in trail.journal().spills() {
            // One that cannot be rewritten is removed.
            blobs.replace_spill(&path, text.as_bytes()).await.ok();
        }
    }
    (result.outcome, stored)
}

/// Hooks observe the result, and may rewrite the text that is stored of it.
async fn run_hooks(engine: SettleContext<'_>, trail: &Trail, result: &ToolResult) -> Option<String> {
    let (arguments, candidate) = (trail.arguments(), trail.candidate());
    let call = trail.hook_call(&arguments, candidate.as_ref());
    let deadline = engine.stop.deadline();
    for hook in engine.hooks.iter() {
        hook.after(call, result, engine.events, deadline.clone()).await;
    }
    let whole = whole_text(result);
    let mut stored: Option<String> = None;
    for hook in engine.hooks.iter() {
        let text = stored.as_deref().unwrap_or(&whole);
        if let Some(rewritten) = hook.persist(call, text, engine.events, deadline.clone()).await {
            stored = Some(rewritten);
        }
    }
    stored
}

fn whole_text(result: &ToolResult) -> Cow<'_, str> {
    match &result.outcome {
        Ok(output) => match output.texts().collect::<Vec<_>>().as_slice() {
            [text] => Cow::Borrowed(*text),
            texts => Cow::Owned(texts.join("\n")),
        },
        Err(error) => Cow::Borrowed(error.message()),
    }
}

/// A stored text is bounded as the model's is.
pub(crate) fn shorten_stored(text: String, cap: usize) -> String {
    if text.len() <= cap {
        return text;
    }
    format!("{}\n\n(Cut here: the first {cap} of {} bytes.)", first_bytes(&text, cap), text.len())
}

/// Adds a note for the model behind the text of an outcome.
fn add_note(outcome: &mut Result<ToolOutput, ToolError>, note: String) {
    match outcome {
        Ok(output) => output.content.push(Content::Text(note)),
        Err(error) => {
            let message = format!("{}{note}", error.message());
            let old = std::mem::replace(error, ToolError::execution(""));
            *error = old.with_message(message);
        }
    }
}

fn add_warnings(warnings: &[String], outcome: &mut Result<ToolOutput, ToolError>) {
    if warnings.is_empty() {
        return;
    }
    let details = match outcome {
        Ok(output) => &mut output.details,
        Err(error) => error.details_mut(),
    };
    match details {
        Some(Value::Object(map)) => match map.get_mut("warnings") {
            Some(Value::Array(known)) => known.extend(warnings.iter().map(|warning| json!(warning))),
            _ => drop(map.insert("warnings".into(), json!(warnings))),
        },
        Some(other) => *other = json!({"value": other.take(), "warnings": warnings}),
        None => *details = Some(json!({"warnings": warnings})),
    }
}

/// The head of a result, for history.
fn summarize(result: &ToolResult, limit: usize) -> String {
    let text = match &result.outcome {
        _ if result.stored.is_some() => result.stored.as_deref().unwrap_or_default(),
        Ok(output) => output.texts().next().unwrap_or_default(),
        Err(error) => error.message(),
    };
    first_bytes(text, limit).to_owned()
}
