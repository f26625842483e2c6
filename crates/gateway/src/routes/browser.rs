//! The browser of a session: its live view, taking it over, and recordings.
//!
//! To act in a browser is to do what its model could do, without the questions that the model would meet: it needs the scopes to chat and
//! to approve. Connections of the page are still decided on as those of the model's last call, and under the address guard.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use haft_contract::ports::{ScreenInput, ScreenView};
use haft_text::base64;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::body::Body;
use crate::browsers::{BrowserInputEvent, PageScreen};
use crate::error::ApiError;

/// Bytes of the name that a view gives itself.
const LONGEST_NAME: usize = 100;

pub(super) async fn list(State(app): State<App>, token: SignedIn) -> Answer<Value> {
    token.need(Scope::View)?;
    let rows = app.browsers.views().await.into_iter().map(|(session, view)| {
        let control = view.control.as_str();
        json!({ "session": session, "url": view.url, "title": view.title, "control": control })
    });
    Ok(Json(json!({ "browsers": rows.collect::<Vec<_>>() })))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ViewQuery {
    after: Option<u64>,
    #[serde(default)]
    viewer: String,
}

/// What the browser shows: at once, or as soon as there is something newer than `after`.
pub(super) async fn view(State(app): State<App>, token: SignedIn, Path(id): Path<String>, Query(query): Query<ViewQuery>) -> Answer<Value> {
    token.need(Scope::View)?;
    let Some(screen) = app.browsers.of_session(&id) else { return Ok(Json(json!({ "running": false }))) };
    let view = tokio::select! {
        view = screen.view(query.after, &query.viewer) => view,
        () = token.revoked().cancelled() => return Err(ApiError::conflict("The token was revoked.")),
        () = app.stop.cancelled() => None,
    };
    Ok(Json(view.map_or_else(|| json!({ "running": false }), as_json)))
}

fn as_json(view: ScreenView) -> Value {
    let picture = view.jpeg.map(|jpeg| format!("data:image/jpeg;base64,{}", base64::encode(&jpeg)));
    let (version, control) = (view.version, view.control.as_str());
    json!({ "running": true, "version": version, "control": control, "url": view.url, "title": view.title, "picture": picture })
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BrowserControlRequest {
    /// `true` takes the browser over, `false` hands it back.
    take: bool,
    /// The name of the view, which it has made up for itself.
    viewer: String,
}

pub(super) async fn control(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(request): Body<BrowserControlRequest>,
) -> Answer<Value> {
    let screen = acted_on(&app, &token, &id, &request.viewer)?;
    let done = if request.take { screen.take_over(&request.viewer).await } else { screen.hand_back().await };
    done.map_err(|error| ApiError::conflict(error.message()))?;
    Ok(Json(json!({ "taken": request.take })))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct BrowserInputRequest {
    /// The name of the view that has the browser.
    viewer: String,
    /// What the user did, in order.
    events: Vec<BrowserInputEvent>,
}

pub(super) async fn input(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(request): Body<BrowserInputRequest>,
) -> Answer<Value> {
    let screen = acted_on(&app, &token, &id, &request.viewer)?;
    let events = request.events.into_iter().map(ScreenInput::try_from).collect::<Result<Vec<_>, _>>().map_err(ApiError::bad_request)?;
    let count = events.len();
    screen.input(&request.viewer, events).await.map_err(|error| ApiError::conflict(error.message()))?;
    Ok(Json(json!({ "done": count })))
}

/// The browser of a session, for someone who may act in it.
fn acted_on(app: &App, token: &SignedIn, session: &str, viewer: &str) -> Result<PageScreen, ApiError> {
    token.need(Scope::Chat)?;
    token.need(Scope::Approve)?;
    if viewer.is_empty() || viewer.len() > LONGEST_NAME {
        return Err(ApiError::bad_request("A view has a name of 1 to 100 bytes."));
    }
    app.browsers.of_session(session).ok_or_else(|| ApiError::not_found("This session has no browser that runs."))
}

/// The steps of a session.
pub(super) async fn recording(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::View)?;
    Ok(Json(app.backend.recording(&id)?))
}

/// The picture of a step.
pub(super) async fn picture(
    State(app): State<App>,
    token: SignedIn,
    Path((id, number)): Path<(String, u64)>,
) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let missing = || ApiError::not_found("There is no such picture any more.").help("Old recordings are removed: see retention.spills.");
    let jpeg = app.backend.recorded_picture(&id, number).ok_or_else(missing)?;
    Ok(([(header::CONTENT_TYPE, HeaderValue::from_static("image/jpeg"))], jpeg).into_response())
}
