//! settle: hooks observe, history keeps, watchers are told. A failed write is an event, never a lost answer.

use std::borrow::Cow;
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime};

use haft_contract::{Arguments, CallInfo, Content, Effect, ErrorKind, ToolCall, ToolError, ToolOutput, ToolResult};
use haft_policy::{Caller, Decision, Sender};
use haft_store::{CallLog, CallRecord, CallStatus};
use serde_json::{Map, Value, json};
use uuid::Uuid;

use super::guard::{self, Signature};
use crate::events::{Event, EventSink};
use crate::hooks::{HookCall, Hooks};
use crate::redact::redact;
use crate::stop::Stop;
use crate::{Entry, Limits, Session};

/// What is known of a call so far; everything that history and hooks need at the end.
#[derive(Debug)]
pub(crate) struct Trail {
    pub(crate) record: Uuid,
    pub(crate) call: Arc<CallInfo>,
    /// The canonical name, once it is known.
    pub(crate) tool: Cow<'static, str>,
    /// The tool, once it is known.
    pub(crate) entry: Option<Arc<Entry>>,
    pub(crate) started_at: SystemTime,
    pub(crate) started: Instant,
    pub(crate) arguments: Remembered,
    pub(crate) original: Option<Value>,
    pub(crate) effects: Value,
    /// The effects themselves, where hooks will want them.
    pub(crate) planned: Option<Vec<Effect>>,
    pub(crate) decision: Decision,
    pub(crate) warnings: Vec<String>,
    pub(crate) signature: Option<Signature>,
    pub(crate) changes: bool,
    /// The shape of a secret in the arguments.
    pub(crate) secret: Option<&'static str>,
}

impl Trail {
    pub(crate) fn new(call: &ToolCall, session: &Session) -> Self {
        let started_at = session.host().clock().now();
        let name = if call.name.len() <= 100 { call.name.clone() } else { call.name.chars().take(100).collect() };
        let info = CallInfo { id: call.id.clone(), tool: name, session: Arc::clone(session.id()), agent: Arc::clone(session.agent()) };
        Self {
            record: record_id(started_at),
            tool: Cow::Borrowed(""),
            entry: None,
            call: Arc::new(info),
            started_at,
            started: Instant::now(),
            arguments: Remembered::Heads(Value::Null),
            original: None,
            effects: Value::Array(Vec::new()),
            planned: None,
            decision: Decision::allow(),
            warnings: Vec::new(),
            signature: session.watches_loops().then(|| Signature::of(call)),
            changes: false,
            secret: None,
        }
    }

    /// From here on it is known which tool is meant.
    pub(crate) fn found(&mut self, entry: &Arc<Entry>) {
        if self.call.tool != entry.name() {
            entry.name().clone_into(&mut Arc::make_mut(&mut self.call).tool);
        }
        self.tool = Cow::from(&**entry);
        self.entry = Some(Arc::clone(entry));
    }

    /// The record of this call as it stands, for what must be on disk before the call goes on.
    pub(crate) fn to_record(&self, session: &Session, status: CallStatus) -> CallRecord {
        let copy = Self {
            call: Arc::clone(&self.call),
            tool: self.tool.clone(),
            entry: None,
            arguments: self.arguments.clone(),
            original: self.original.clone(),
            effects: self.effects.clone(),
            planned: None,
            decision: self.decision.clone(),
            warnings: Vec::new(),
            ..*self
        };
        copy.into_record(session, status, String::new(), self.started.elapsed())
    }

    /// The record of this call. Redaction happens here, on the store's own thread where it can.
    fn into_record(self, session: &Session, status: CallStatus, summary: String, elapsed: Duration) -> CallRecord {
        CallRecord {
            id: self.record.to_string(),
            call_id: self.call.id.clone(),
            session: session.id().to_string(),
            agent: session.agent().to_string(),
            tool: self.call.tool.clone(),
            workspace: session.workspace().to_owned(),
            arguments: redacted(self.arguments.into_heads()),
            original_arguments: self.original.map(redacted),
            effects: redacted(self.effects),
            decision: redacted(recorded(&self.decision, session)),
            started: self.started_at,
            elapsed,
            status,
            summary,
            undone: false,
        }
    }
}

/// A decision, and who it was about where that is not the owner in front of the agent: so it can be judged again.
fn recorded(decision: &Decision, session: &Session) -> Value {
    let mut value = json!({"verdict": decision.verdict, "trace": decision.trace});
    let caller = recorded_caller(session.caller());
    if !caller.is_empty() {
        value["caller"] = Value::Object(caller);
    }
    value
}

fn recorded_caller(caller: &Caller) -> Map<String, Value> {
    let sender = caller.sender.as_ref().map(|Sender { id, e164, username, name }| {
        let parts = [("id", id), ("e164", e164), ("username", username), ("name", name)];
        let known = parts.into_iter().filter_map(|(kind, value)| Some((kind.to_owned(), json!(value.as_ref()?))));
        Value::Object(known.collect())
    });
    let facts = [
        ("owner", (!caller.owner).then(|| json!(false))),
        ("depth", (caller.depth > 0).then(|| json!(caller.depth))),
        ("sandboxed", caller.sandboxed.then(|| json!(true))),
        ("provider", caller.provider.as_ref().map(|provider| json!(provider))),
        ("model", caller.model.as_ref().map(|model| json!(model))),
        ("channel", caller.channel.as_ref().map(|channel| json!(channel))),
        ("sender", sender),
    ];
    facts.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect()
}

/// What settling needs of the engine.
#[derive(Clone, Copy)]
pub(crate) struct Settling<'a> {
    pub(crate) hooks: &'a Hooks,
    pub(crate) log: &'a dyn CallLog,
    pub(crate) events: Option<&'a dyn EventSink>,
    pub(crate) limits: &'a Limits,
    pub(crate) stop: &'a Stop<'a>,
}

/// Turns an outcome into the call's one result, and tells everyone.
pub(crate) async fn settle(
    engine: Settling<'_>,
    trail: Trail,
    mut outcome: Result<ToolOutput, ToolError>,
    session: &Session,
) -> ToolResult {
    note_repeats(&trail, &mut outcome, session);
    note_warnings(&trail.warnings, &mut outcome);
    let elapsed = trail.started.elapsed();
    let tool = if trail.tool.is_empty() { Cow::Owned(trail.call.tool.clone()) } else { trail.tool.clone() };
    let mut result = ToolResult { call_id: trail.call.id.clone(), tool, outcome, elapsed };
    let mut summary = summary(&result, engine.limits.summary_bytes);
    if !engine.hooks.is_empty() {
        summary = tell_hooks(engine, &trail, &result, summary).await;
    }
    let status = match &result.outcome {
        Ok(_) => CallStatus::Success,
        Err(error) => CallStatus::Error(error.kind().as_str().to_owned()),
    };
    let call = Arc::clone(&trail.call);
    let session = session.clone();
    let written = engine.log.append_with(Box::new(move || trail.into_record(&session, status, summary, elapsed)));
    if let Err(error) = written {
        let why = error.to_string();
        note_warnings(&[format!("this call is not in the history: {why}")], &mut result.outcome);
        tell(engine.events, &Event::NotRecorded { call: &call, why });
    }
    let error = result.outcome.as_ref().err().map(ToolError::kind);
    tell(engine.events, &Event::Finished { call: &call, error, elapsed });
    result
}

/// Tells whoever watches; their panic is their own.
pub(crate) fn tell(events: Option<&dyn EventSink>, event: &Event<'_>) {
    if let Some(events) = events {
        std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| events.event(event))).ok();
    }
}

/// Hooks observe the result, and may rewrite what is stored of it.
async fn tell_hooks(engine: Settling<'_>, trail: &Trail, result: &ToolResult, mut summary: String) -> String {
    let arguments = trail.arguments.clone().into_value();
    let candidate = trail.entry.as_ref().map(|entry| entry.candidate());
    let call = HookCall { call: &trail.call, arguments: &arguments, tool: candidate.as_ref(), effects: trail.planned.as_deref() };
    let over = engine.stop.over();
    for hook in engine.hooks.iter() {
        hook.after(call, result, engine.events, over.clone()).await;
    }
    for hook in engine.hooks.iter() {
        summary = hook.persist(call, summary, engine.limits.summary_bytes, engine.events, over.clone()).await;
    }
    summary
}

/// Counts the outcome for the loop guard; a repeated one carries a note for the model.
fn note_repeats(trail: &Trail, outcome: &mut Result<ToolOutput, ToolError>, session: &Session) {
    let Some(signature) = trail.signature else { return };
    let uncounted = matches!(outcome, Err(error) if matches!(error.kind(), ErrorKind::LoopBlocked | ErrorKind::Cancelled));
    if uncounted {
        return;
    }
    let attempt = session.loop_guard().record(signature, outcome, trail.changes, trail.started_at);
    match (attempt, outcome) {
        (Some(attempt), Ok(output)) => output.content.push(Content::Text(guard::note(attempt))),
        (Some(attempt), Err(error)) => {
            let message = format!("{}{}", error.message(), guard::note(attempt));
            let old = std::mem::replace(error, ToolError::execution(""));
            *error = old.with_message(message);
        }
        _ => {}
    }
}

fn note_warnings(warnings: &[String], outcome: &mut Result<ToolOutput, ToolError>) {
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

/// What history keeps of a result: its head.
fn summary(result: &ToolResult, limit: usize) -> String {
    let text = match &result.outcome {
        Ok(output) => output.texts().next().unwrap_or_default(),
        Err(error) => error.message(),
    };
    head(text, limit).to_owned()
}

fn head(text: &str, limit: usize) -> &str {
    &text[..text.floor_char_boundary(limit)]
}

/// How much of one string of the arguments history keeps.
const KEPT: usize = 1024;
/// How many items of a list or keys of an object it keeps.
const MOST: usize = 100;
/// What stands between the head of a string and its whole length.
const MORE: &str = "… (";

/// The arguments of a call after its tool has taken them. Text is parsed again only when someone looks: behind the call,
/// mostly.
#[derive(Debug, Clone)]
pub(crate) enum Remembered {
    Text(String),
    Whole(Value),
    Heads(Value),
}

/// How much of the arguments must be there later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// All: a person may be asked, or a hook told.
    Whole,
    /// What history keeps.
    Heads,
}

impl From<Arguments> for Remembered {
    fn from(arguments: Arguments) -> Self {
        match arguments {
            Arguments::Text(text) => Self::Text(text),
            Arguments::Json(value) => Self::Whole(value),
        }
    }
}

impl Remembered {
    /// Keeps the text they came as where it says the same; else a copy, with long strings cut where nobody needs them, so
    /// that a huge call is not copied.
    pub(crate) fn new(text: Option<String>, value: &Value, need: Need) -> Self {
        match text {
            Some(text) if need == Need::Whole || text.len() <= KEPT => Self::Text(text),
            _ if need == Need::Whole => Self::Whole(value.clone()),
            _ => Self::Heads(remembered(value)),
        }
    }
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Text(text) if text.trim().is_empty() => Value::Object(Map::new()),
            Self::Text(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            Self::Whole(value) | Self::Heads(value) => value,
        }
    }
    /// As history keeps them.
    fn into_heads(self) -> Value {
        match self {
            Self::Heads(value) => value,
            whole => remembered(&whole.into_value()),
        }
    }
}

/// A copy with long strings cut.
pub(crate) fn remembered(value: &Value) -> Value {
    match value {
        // Twice as much as is kept: a secret across the border must be seen whole before it is cut.
        Value::String(text) if text.len() > 2 * KEPT => Value::String(format!("{}{MORE}{} bytes)", head(text, 2 * KEPT), text.len())),
        Value::Array(items) => {
            let more = (items.len() > MOST).then(|| json!(format!("… ({} items)", items.len())));
            items.iter().take(MOST).map(remembered).chain(more).collect()
        }
        Value::Object(map) => {
            let more = (map.len() > MOST).then(|| ("…".to_owned(), json!(format!("({} keys)", map.len()))));
            Value::Object(map.iter().take(MOST).map(|(key, value)| (key.clone(), remembered(value))).chain(more).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The value without secrets in any of its strings.
fn redacted(mut value: Value) -> Value {
    match &mut value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redact(text) {
                *text = clean;
            }
            if let Some(short) = clipped(text) {
                *text = short;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = redacted(item.take())),
        Value::Object(map) => map.iter_mut().for_each(|(key, item)| {
            let secret = item.is_string() && names_a_credential(key);
            *item = if secret { json!("[redacted:credential]") } else { redacted(item.take()) };
        }),
        _ => {}
    }
    value
}

/// The head that history keeps of a string, after redaction.
fn clipped(text: &str) -> Option<String> {
    let (body, whole) = text.rsplit_once(MORE).map_or((text, format!("{} bytes)", text.len())), |(body, whole)| (body, whole.to_owned()));
    (body.len() > KEPT).then(|| format!("{}{MORE}{whole}", head(body, KEPT)))
}

/// Names of headers and parameters whose value is a secret, whatever its shape.
pub(super) fn names_a_credential(key: &str) -> bool {
    const PARTS: &[&str] = &["authorization", "cookie", "api-key", "api_key", "apikey", "password", "secret", "token", "credential"];
    let key = key.to_ascii_lowercase();
    PARTS.iter().any(|part| key.contains(part))
}

/// A UUID v7 without a system call: the time, a counter that keeps calls of one moment in order, and a random part that is
/// drawn once per process. The counter is in the tail as well, because people name calls by the last characters.
fn record_id(now: SystemTime) -> Uuid {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU32, Ordering};
    static SEED: OnceLock<[u8; 16]> = OnceLock::new();
    static COUNT: AtomicU32 = AtomicU32::new(0);
    let seed = SEED.get_or_init(|| Uuid::now_v7().into_bytes());
    let count = COUNT.fetch_add(1, Ordering::Relaxed);
    // An odd factor makes neighbouring counts look different, and keeps them distinct.
    let scattered = u32::from_be_bytes([seed[12], seed[13], seed[14], seed[15]]).wrapping_add(count.wrapping_mul(0x9E37_79B1));
    let mut tail = [0; 10];
    tail[..4].copy_from_slice(&count.to_be_bytes());
    tail[4..6].copy_from_slice(&seed[10..12]);
    tail[6..].copy_from_slice(&scattered.to_be_bytes());
    let millis = now.duration_since(SystemTime::UNIX_EPOCH).map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX));
    uuid::Builder::from_unix_timestamp_millis(millis, &tail).into_uuid()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn record_ids_are_unique_and_sort_by_time_then_order() {
        let ids: Vec<String> = (0..1000).map(|_| record_id(SystemTime::UNIX_EPOCH).to_string()).collect();
        assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), 1000);
        assert_eq!(ids.iter().map(|id| &id[id.len() - 8..]).collect::<BTreeSet<_>>().len(), 1000, "the last characters name a call");
        assert!(record_id(SystemTime::UNIX_EPOCH + Duration::from_secs(1)).to_string() > ids[999]);
    }

    #[test]
    fn a_secret_across_the_cut_is_not_kept_in_part() {
        let token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
        for before in [1000, 1010, 1020, 2040] {
            let text = format!("{} {token} {}", "x".repeat(before), "y ".repeat(3000));
            let kept = redacted(remembered(&json!(text)));
            assert!(!kept.as_str().unwrap().contains("ghp_"), "{before}");
        }
    }

    #[test]
    fn history_keeps_heads_and_no_secrets() {
        let value = json!({
            "key": "sk-ant-api03-abcdefghijklmnop", "content": "x".repeat(5000), "n": 5, "max_tokens": 7,
            "headers": {"Authorization": "Basic dXNlcjpwYXNz", "X-Api-Key": "short", "Accept": "text/html"}
        });
        let kept = redacted(remembered(&value));
        assert_eq!(kept["key"], "[redacted:anthropic_key]");
        assert_eq!((&kept["n"], &kept["max_tokens"]), (&json!(5), &json!(7)));
        let hidden = "[redacted:credential]";
        assert_eq!(kept["headers"], json!({"Authorization": hidden, "X-Api-Key": hidden, "Accept": "text/html"}));
        assert_eq!(kept["content"].as_str().unwrap(), format!("{}… (5000 bytes)", "x".repeat(1024)));
    }
}
