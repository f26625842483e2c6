//! Sessions: listed, begun, written to, copied, removed.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use haft_contract::Access;
use haft_store::{SessionFilter, StoreError};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::api::SessionView;
use crate::app::App;
use crate::attachments::{self, AttachmentRequest};
use crate::auth::{Scope, SignedIn};
use crate::body::Body;
use crate::error::ApiError;
use crate::sessions::{SentMessage, stored_items};

/// Items of a page at most.
const MOST_ITEMS: usize = 500;
/// Sessions of a list at most.
const MOST_SESSIONS: usize = 1_000;
/// The longest message.
const MOST_MESSAGE_BYTES: usize = 1 << 20;
/// The longest title.
const MOST_TITLE_CHARS: usize = 200;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ListQuery {
    text: Option<String>,
    limit: Option<usize>,
    workspace: Option<String>,
    #[serde(default)]
    sub_agents: bool,
}

pub(super) async fn list(State(app): State<App>, token: SignedIn, Query(query): Query<ListQuery>) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let (question, stamp) = (format!("sessions {query:?}"), app.session_stamp());
    app.answers.answer(question, stamp, list_anew(&app, query)).await
}

async fn list_anew(app: &App, query: ListQuery) -> Result<Value, ApiError> {
    let seq = app.approvals.hub.newest();
    let is_everywhere = query.workspace.as_deref() == Some("all");
    let filter = SessionFilter {
        workspace: if is_everywhere { None } else { Some(app.backend.workspace()) },
        title: query.text.filter(|text| !text.is_empty()),
        with_sub_agents: query.sub_agents,
        limit: Some(query.limit.unwrap_or(50).min(MOST_SESSIONS)),
        ..SessionFilter::default()
    };
    let overviews = app.backend.sessions().overviews(filter).await?;
    let views: Vec<SessionView> = overviews.into_iter().map(|overview| app.sessions.view_of(overview)).collect();
    Ok(json!({ "sessions": views, "seq": seq }))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CreateRequest {
    agent: Option<String>,
    model: Option<String>,
    title: Option<String>,
}

pub(super) async fn create(
    State(app): State<App>,
    token: SignedIn,
    Body(request): Body<CreateRequest>,
) -> Result<(StatusCode, Json<SessionView>), ApiError> {
    token.need(Scope::Chat)?;
    let title = request.title.as_deref().map(title).transpose()?;
    let view = app.sessions.create(request.agent, request.model.as_deref(), title).await?;
    Ok((StatusCode::CREATED, Json(view)))
}

fn title(text: &str) -> Result<&str, ApiError> {
    let text = text.trim();
    if text.is_empty() || text.chars().nth(MOST_TITLE_CHARS).is_some() {
        return Err(ApiError::bad_request(format!("A title has 1 to {MOST_TITLE_CHARS} characters.")));
    }
    Ok(text)
}

pub(super) async fn one(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let make = async {
        let record = app.backend.sessions().open(&id).await?;
        app.sessions.view(&record).await
    };
    app.answers.answer(format!("session {id}"), app.session_stamp(), make).await
}

/// What is given changes, the rest stays.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SessionRequest {
    title: Option<String>,
    /// `read-only`, `workspace-write` or `full-access`.
    access: Option<String>,
}

pub(super) async fn change(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(request): Body<SessionRequest>,
) -> Answer<SessionView> {
    token.need(Scope::Chat)?;
    let sessions = app.backend.sessions();
    let record = sessions.open(&id).await?;
    if let Some(level) = &request.access {
        let level: Access = level.parse().map_err(ApiError::bad_request)?;
        app.sessions.set_access(&record, level, &token).await?;
    }
    if let Some(text) = &request.title {
        sessions.rename(&record.id, Some(title(text)?)).await?;
    }
    app.sessions.announce_everywhere(&record.id).await;
    Ok(Json(app.sessions.view(&sessions.open(&record.id).await?).await?))
}

pub(super) async fn remove(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::Chat)?;
    let record = app.backend.sessions().open(&id).await?;
    if app.sessions.is_running(&record.id) {
        return Err(ApiError::conflict("A turn of this session runs.").help("Cancel it first."));
    }
    app.sessions.close(&record.id).await;
    match app.backend.sessions().delete(&record.id).await {
        // One without messages is removed when it is closed.
        Ok(()) | Err(StoreError::Missing { .. }) => {}
        Err(error) => return Err(error.into()),
    }
    app.approvals.hub.send("session_deleted", Some(&record.id), &json!({ "session": record.id }));
    Ok(Json(json!({})))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ItemsQuery {
    before: Option<u64>,
    limit: Option<usize>,
}

pub(super) async fn items(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Query(query): Query<ItemsQuery>,
) -> Answer<Value> {
    token.need(Scope::View)?;
    let limit = query.limit.unwrap_or(100).clamp(1, MOST_ITEMS);
    let (sessions, calls, prices) = (app.backend.sessions(), app.backend.calls(), app.backend.prices());
    let id = sessions.open(&id).await?.id;
    if let Some(before) = query.before {
        let (items, before) = stored_items(&*sessions, &*calls, &prices, &id, before, limit).await?;
        return Ok(Json(json!({ "items": items, "before": before, "seq": app.approvals.hub.newest() })));
    }
    // A turn that begins or ends meanwhile would show up twice or not at all: then both are read again.
    for _ in 0..5 {
        let (live, base, generation, seq) = app.sessions.snapshot(&id);
        let end = match base {
            Some(base) => base,
            None => sessions.open(&id).await?.messages,
        };
        let (mut items, before) = stored_items(&*sessions, &*calls, &prices, &id, end, limit).await?;
        if app.sessions.snapshot(&id).2 == generation {
            items.extend(live);
            return Ok(Json(json!({ "items": items, "before": before, "seq": seq })));
        }
    }
    Err(ApiError::conflict("The session changes too fast to be read.").help("Try again."))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MessageRequest {
    text: String,
    /// Files of the workspace that belong to it.
    #[serde(default)]
    files: Vec<String>,
    /// Pictures and texts of the page's user, at most 10.
    #[serde(default)]
    attachments: Vec<AttachmentRequest>,
    /// Another model, as `provider/model`.
    model: Option<String>,
}

pub(super) async fn send(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(request): Body<MessageRequest>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    token.need(Scope::Chat)?;
    let files = request.files.iter().map(|file| format!("\n@{file}"));
    let text = request.text + &files.collect::<String>();
    let blocks = attachments::blocks(&request.attachments)?;
    if text.trim().is_empty() || text.len() > MOST_MESSAGE_BYTES {
        return Err(ApiError::bad_request(format!("A message has 1 to {MOST_MESSAGE_BYTES} bytes.")));
    }
    let SentMessage { item, queued } = app.sessions.send(&id, text, blocks, request.model).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "item": item, "queued": queued }))))
}

pub(super) async fn take_back(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::Chat)?;
    let id = app.backend.sessions().open(&id).await?.id;
    let text = app.sessions.take_back(&id).ok_or_else(|| ApiError::conflict("No message waits: it is delivered already."))?;
    Ok(Json(json!({ "text": text })))
}

pub(super) async fn cancel(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::Chat)?;
    let id = app.backend.sessions().open(&id).await?.id;
    Ok(Json(json!({ "cancelled": app.sessions.cancel(&id) })))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ForkRequest {
    before: Option<u64>,
}

pub(super) async fn fork(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(request): Body<ForkRequest>,
) -> Result<(StatusCode, Json<SessionView>), ApiError> {
    token.need(Scope::Chat)?;
    let sessions = app.backend.sessions();
    let record = sessions.open(&id).await?;
    let copy = sessions.fork(&record.id, request.before).await?;
    app.sessions.announce_everywhere(&copy).await;
    Ok((StatusCode::CREATED, Json(app.sessions.view(&sessions.open(&copy).await?).await?)))
}

pub(super) async fn todos(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::View)?;
    let sessions = app.backend.sessions();
    let id = sessions.open(&id).await?.id;
    let newest = sessions.todos(&id, 1).await?.pop();
    let list: Value = newest.and_then(|version| serde_json::from_str(&version.body).ok()).unwrap_or_else(|| json!([]));
    Ok(Json(json!({ "todos": list })))
}

pub(super) async fn sub_agents(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::View)?;
    let sessions = app.backend.sessions();
    let id = sessions.open(&id).await?.id;
    let agents = sessions.sub_agents(&id).await?.into_iter().map(|status| {
        let last_line = status.answer.as_ref().or(status.error.as_ref()).and_then(|text| text.lines().last());
        json!({
            "id": status.id, "name": status.label, "type": status.agent_type, "state": status.state, "task": status.task,
            "last_line": last_line, "calls": status.calls, "model": status.model,
            "usage": { "input_tokens": status.input, "output_tokens": status.output },
        })
    });
    Ok(Json(json!({ "agents": agents.collect::<Vec<_>>() })))
}
