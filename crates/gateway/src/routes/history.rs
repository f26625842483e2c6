//! Past calls: filtered, shown, undone.

use std::collections::BTreeMap;
use std::time::SystemTime;

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use haft_store::{CallFilter, CallRecord, CallStatus};
use haft_tui::effects;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::api::{CallState, CallView};
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::backend::{LaterChanges, UndoRequest};
use crate::body::Body;
use crate::error::ApiError;
use crate::time;

/// Calls that are searched for those that fit.
const MOST_SEARCHED: usize = 20_000;
/// Rules of a search.
const MOST_RULES: usize = 16;
/// Calls of a page at most.
const MOST_LISTED: usize = 1_000;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct HistoryQuery {
    limit: Option<usize>,
    before: Option<String>,
    tool: Option<String>,
    session: Option<String>,
    agent: Option<String>,
    status: Option<String>,
    verdict: Option<String>,
    text: Option<String>,
    path: Option<String>,
    host: Option<String>,
    /// Rules, one on a line.
    rule: Option<String>,
    since: Option<String>,
    until: Option<String>,
}

pub(super) async fn list(State(app): State<App>, token: SignedIn, Query(query): Query<HistoryQuery>) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let (question, stamp) = (format!("history {query:?}"), app.file_stamp());
    app.answers.answer(question, stamp, search(&app, &query)).await
}

async fn search(app: &App, query: &HistoryQuery) -> Result<Value, ApiError> {
    let limit = query.limit.unwrap_or(100).clamp(1, MOST_LISTED);
    let given = |text: &Option<String>| text.clone().filter(|text| !text.is_empty());
    let filter = CallFilter { limit: Some(MOST_SEARCHED), tool: given(&query.tool), session: given(&query.session), failed: false };
    let wanted = CallTest::new(query)?;
    let mut records = app.backend.calls().list(filter).await?;
    if let Some(rule) = given(&query.rule) {
        let rules: Vec<String> = rule.lines().take(MOST_RULES).map(str::to_owned).collect();
        records = app.backend.filter_covered(&rules, records)?;
    }
    let mut found = records.iter().filter(|record| wanted.fits(record));
    let view = |record: &CallRecord| {
        let time_waiting = app.approvals.waited(&record.session, &record.call_id);
        CallView { waited_ms: time_waiting.map(time::milliseconds), ..current(app, record) }
    };
    let page: Vec<CallView> = found.by_ref().take(limit).map(view).collect();
    let before = found.next().and_then(|_| page.last()).and_then(|call| call.record.clone());
    Ok(json!({ "calls": page.iter().map(listed).collect::<Vec<_>>(), "before": before }))
}

/// A call as it is now: one without a result runs, or its process has ended.
fn current(app: &App, record: &CallRecord) -> CallView {
    let mut call = CallView::recorded(record);
    if let (CallStatus::Begun, Some(state)) = (&record.status, app.sessions.state_of_call(&record.session, &record.call_id)) {
        call.state = state;
    }
    call
}

/// A call without what only its own page shows, which is half of it.
fn listed(call: &CallView) -> Value {
    let mut call = json!(call);
    if let Some(fields) = call.as_object_mut() {
        fields.retain(|name, value| !value.is_null() && !name.ends_with("_html"));
    }
    call
}

/// The conditions of a query.
struct CallTest<'q> {
    query: &'q HistoryQuery,
    text: Option<String>,
    since: Option<SystemTime>,
    until: Option<SystemTime>,
}

impl<'q> CallTest<'q> {
    fn new(query: &'q HistoryQuery) -> Result<Self, ApiError> {
        let moment = |text: &Option<String>| match text.as_deref().filter(|text| !text.is_empty()) {
            Some(text) => {
                let wrong = || ApiError::bad_request(format!("'{text}' is no time: write it as 2026-11-17T10:00:00Z."));
                time::parse(text).ok_or_else(wrong).map(Some)
            }
            None => Ok(None),
        };
        let text = query.text.as_deref().filter(|text| !text.is_empty()).map(str::to_lowercase);
        Ok(Self { query, text, since: moment(&query.since)?, until: moment(&query.until)? })
    }

    fn fits(&self, record: &CallRecord) -> bool {
        let is =
            |wanted: &Option<String>, value: &str| wanted.as_deref().filter(|text| !text.is_empty()).is_none_or(|wanted| wanted == value);
        self.query.before.as_ref().is_none_or(|before| record.id < *before)
            && is(&self.query.agent, &record.agent)
            && is(&self.query.verdict, record.decision["verdict"].as_str().unwrap_or_default())
            && self.since.is_none_or(|since| record.started >= since)
            && self.until.is_none_or(|until| record.started < until)
            && self.has_status(record)
            && self.touches(record)
            && self.text.as_ref().is_none_or(|text| has_text(record, text))
    }

    fn has_status(&self, record: &CallRecord) -> bool {
        match self.query.status.as_deref() {
            None | Some("") => true,
            Some("failed") => matches!(record.status, CallStatus::Error(_)),
            Some(state) => json!(CallState::recorded(record)).as_str() == Some(state),
        }
    }

    fn touches(&self, record: &CallRecord) -> bool {
        let any = |name: &str, wanted: &Option<String>| {
            let Some(wanted) = wanted.as_deref().filter(|text| !text.is_empty()) else { return true };
            effects::all(&record.effects).iter().any(|effect| effect[name].as_str().is_some_and(|value| value.contains(wanted)))
        };
        any("path", &self.query.path) && any("host", &self.query.host)
    }
}

fn has_text(record: &CallRecord, text: &str) -> bool {
    [record.summary.as_str(), record.tool.as_str()].iter().any(|part| part.to_lowercase().contains(text))
        || record.arguments.to_string().to_lowercase().contains(text)
}

pub(super) async fn one(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::View)?;
    let calls = app.backend.calls();
    let record = calls.get(&id).await?;
    let images = calls.pre_images(&record.id).await?;
    let unknown = Some(haft_contract::ports::PreImage::UNKNOWN);
    let files: Vec<Value> =
        images.iter().map(|image| json!({ "path": image.path.to_string_lossy(), "kept": image.mode != unknown })).collect();
    let mut call = json!(current(&app, &record));
    call["files"] = json!(files);
    Ok(Json(call))
}

/// The files that calls of a session changed.
pub(super) async fn files(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let id = app.backend.sessions().open(&id).await?.id;
    app.answers.answer(format!("files {id}"), app.file_stamp(), changed_files(&app, &id)).await
}

async fn changed_files(app: &App, id: &str) -> Result<Value, ApiError> {
    let mut files: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for image in app.backend.calls().session_images(id).await? {
        let calls = files.entry(image.path.to_string_lossy().into_owned()).or_default();
        if calls.last() != Some(&image.record) {
            calls.push(image.record);
        }
    }
    let changes = if files.is_empty() { BTreeMap::new() } else { line_counts(app, id).await? };
    let file = |(path, calls): (String, Vec<String>)| {
        let (added, removed) = changes.get(&path).copied().unzip();
        json!({ "path": path, "calls": calls, "added": added, "removed": removed })
    };
    Ok(json!({ "files": files.into_iter().map(file).collect::<Vec<_>>() }))
}

/// Lines that a session added to each file and removed from it: what an undo would do, the other way round.
async fn line_counts(app: &App, id: &str) -> Result<BTreeMap<String, (u64, u64)>, ApiError> {
    let preview = app.backend.undo(UndoRequest::PreviewSession(id)).await?;
    let counts = |file: &Value| {
        let (restored, taken_away) = haft_tui::diff::counts(file["diff"].as_str()?);
        Some((file["path"].as_str()?.to_owned(), (taken_away, restored)))
    };
    Ok(preview["files"].as_array().into_iter().flatten().filter_map(counts).collect())
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct UndoBody {
    /// Overwrite what something else changed since.
    #[serde(default)]
    force: bool,
}

impl UndoBody {
    fn later_changes(&self) -> LaterChanges {
        if self.force { LaterChanges::Overwrite } else { LaterChanges::Keep }
    }
}

pub(super) async fn preview_call(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::View)?;
    let id = app.backend.calls().get(&id).await?.id;
    Ok(Json(rendered(app.backend.undo(UndoRequest::PreviewCall(&id)).await?)))
}

pub(super) async fn undo_call(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(body): Body<UndoBody>,
) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let id = app.backend.calls().get(&id).await?.id;
    Ok(Json(app.backend.undo(UndoRequest::Call(&id, body.later_changes())).await?))
}

pub(super) async fn preview_session(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::View)?;
    let id = app.backend.sessions().open(&id).await?.id;
    Ok(Json(rendered(app.backend.undo(UndoRequest::PreviewSession(&id)).await?)))
}

pub(super) async fn undo_session(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(body): Body<UndoBody>,
) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let id = app.backend.sessions().open(&id).await?.id;
    Ok(Json(app.backend.undo(UndoRequest::Session(&id, body.later_changes())).await?))
}

/// Adds each diff as HTML.
fn rendered(mut preview: Value) -> Value {
    for file in preview["files"].as_array_mut().into_iter().flatten() {
        file["diff_html"] = json!(file["diff"].as_str().map(crate::render::diff));
    }
    preview
}
