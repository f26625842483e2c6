//! The canvas: its state and its document, answers of the page, and what the user does in it.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderName, HeaderValue, StatusCode, header};
use axum::response::{Html, IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::Answer;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::body::Body;
use crate::canvas::{POLICY, document};
use crate::error::ApiError;

/// What the user did may be so long, as text for the model.
const MOST_CONTEXT: usize = 8 * 1024;
const MOST_NAME: usize = 200;

/// The document of a frame. Its path is the key to it; it has no rights of the page.
pub(super) async fn frame(State(app): State<App>, Path(key): Path<String>) -> Response {
    let missing = || ApiError::not_found("There is no such canvas any more.").into_response();
    let headers = [
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (header::X_FRAME_OPTIONS, "SAMEORIGIN"),
        (HeaderName::from_static("x-dns-prefetch-control"), "off"),
    ];
    let content = app.canvas.html(&key).map_or_else(missing, |html| Html(document(&html)).into_response());
    // Also where it is hidden before its frame has asked: a page that may not be framed would be an error of ours.
    (headers.map(|(name, value)| (name, HeaderValue::from_static(value))), content).into_response()
}

pub(super) async fn one(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::View)?;
    Ok(Json(app.canvas.view(&id)))
}

/// A version that is kept, with its source.
pub(super) async fn version(State(app): State<App>, token: SignedIn, Path((id, number)): Path<(String, usize)>) -> Answer<Value> {
    token.need(Scope::View)?;
    let found = app.canvas.version(&id, number);
    let found = found.ok_or_else(|| ApiError::not_found("This version is not kept any more."))?;
    Ok(Json(found.map_err(|error| ApiError::conflict(error.message().to_owned()))?))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CanvasAnswer {
    /// What the frame returned.
    answer: Map<String, Value>,
}

/// The answer of a page to a request of the tool.
pub(super) async fn answer(
    State(app): State<App>,
    token: SignedIn,
    Path(request): Path<u64>,
    Body(body): Body<CanvasAnswer>,
) -> Answer<Value> {
    token.need(Scope::Chat)?;
    Ok(Json(json!({ "taken": app.canvas.answer(request, Value::Object(body.answer)) })))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CanvasEvent {
    /// The name of the action.
    name: String,
    /// The surface of A2UI.
    #[serde(default)]
    surface: String,
    /// The component that was used.
    #[serde(default)]
    component: String,
    /// The values that the action sends.
    #[serde(default)]
    context: Map<String, Value>,
}

/// What the user did in the canvas, as a message to its session.
pub(super) async fn act(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(event): Body<CanvasEvent>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    token.need(Scope::Chat)?;
    if !app.canvas.is_shown(&id) {
        return Err(ApiError::conflict("This session shows no canvas."));
    }
    let context = Value::Object(event.context).to_string();
    let names = [&event.name, &event.surface, &event.component];
    if event.name.trim().is_empty() || names.iter().any(|name| name.len() > MOST_NAME) || context.len() > MOST_CONTEXT {
        return Err(ApiError::bad_request("An action has a name of at most 200 bytes, and at most 8 KB of values."));
    }
    let [name, surface, component] = names.map(|name| haft_text::display::escape_line(name).into_owned());
    let place = if surface.is_empty() { String::new() } else { format!(" on the surface '{surface}' (component '{component}')") };
    let text = format!("[Canvas: the user chose '{name}'{place}. Values: {context}]");
    let sent = app.sessions.send(&id, text, Vec::new(), None).await?;
    Ok((StatusCode::ACCEPTED, Json(json!({ "item": sent.item, "queued": sent.queued }))))
}
