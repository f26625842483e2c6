//! settle: hooks observe, history keeps, watchers are told. A failed write is an event, never a lost answer.

use std::sync::Arc;

use haft_contract::{Content, ToolError, ToolOutput, ToolResult};
use haft_store::{CallLog, CallStatus};
use haft_text::truncate::first_bytes;
use serde_json::{Value, json};

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
    pub(crate) stop: &'a StopSignal<'a>,
}

/// Turns an outcome into the call's one result, records it, and tells hooks and watchers.
pub(crate) async fn settle(
    engine: SettleContext<'_>,
    trail: Trail,
    mut outcome: Result<ToolOutput, ToolError>,
    session: &Session,
) -> ToolResult {
    if let Some(attempt) = trail.count_attempt(&outcome, session) {
        add_note(&mut outcome, guard::note(attempt));
    }
    add_warnings(trail.warnings(), &mut outcome);
    let mut result = trail.result(outcome);
    let mut summary = summarize(&result, engine.limits.summary_bytes);
    if !engine.hooks.is_empty() {
        summary = run_hooks(engine, &trail, &result, summary).await;
    }
    let status = match &result.outcome {
        Ok(_) => CallStatus::Success,
        Err(error) => CallStatus::Error(error.kind().as_str().to_owned()),
    };
    let call = Arc::clone(trail.call());
    let (session, elapsed) = (session.clone(), result.elapsed);
    let written = engine.log.append_with(Box::new(move || trail.into_record(&session, status, summary, elapsed)));
    if let Err(error) = written {
        let why = error.to_string();
        add_warnings(&[format!("this call is not in the history: {why}")], &mut result.outcome);
        emit(engine.events, &Event::NotRecorded { call: &call, why });
    }
    let error = result.outcome.as_ref().err().map(ToolError::kind);
    emit(engine.events, &Event::Finished { call: &call, error, elapsed });
    result
}

/// Hooks observe the result, and may rewrite the text that is stored of it.
async fn run_hooks(engine: SettleContext<'_>, trail: &Trail, result: &ToolResult, mut summary: String) -> String {
    let (arguments, candidate) = (trail.arguments(), trail.candidate());
    let call = trail.hook_call(&arguments, candidate.as_ref());
    let deadline = engine.stop.deadline();
    for hook in engine.hooks.iter() {
        hook.after(call, result, engine.events, deadline.clone()).await;
    }
    for hook in engine.hooks.iter() {
        summary = hook.persist(call, summary, engine.limits.summary_bytes, engine.events, deadline.clone()).await;
    }
    summary
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
        Ok(output) => output.texts().next().unwrap_or_default(),
        Err(error) => error.message(),
    };
    first_bytes(text, limit).to_owned()
}
