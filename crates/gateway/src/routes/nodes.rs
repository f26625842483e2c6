//! Paired machines: the WebSocket that they open, and the list of them.

use axum::Json;
use axum::extract::{Path, Request, State};
use axum::http::{HeaderMap, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use haft_nodes::{DEFAULT_WINDOW, NodeHub};
use haft_websocket::accept_key;
use hyper::upgrade::OnUpgrade;
use hyper_util::rt::TokioIo;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::body::Body;
use crate::error::ApiError;

pub(super) async fn list(State(app): State<App>, token: SignedIn) -> Answer<Value> {
    token.need(Scope::View)?;
    let Some(nodes) = &app.nodes else { return Ok(Json(json!({ "nodes": [], "pending": [] }))) };
    let failed = |error: haft_contract::ToolError| ApiError::new(StatusCode::INTERNAL_SERVER_ERROR, "execution_error", error.message());
    Ok(Json(json!({ "nodes": nodes.summaries().map_err(failed)?, "pending": nodes.pending_nodes() })))
}

fn hub(app: &App) -> Result<&NodeHub, ApiError> {
    let elsewhere = || ApiError::conflict("Another server of yours has the nodes.").help("Use the page of that one, or `haft node`.");
    app.nodes.as_ref().ok_or_else(elsewhere)
}

/// Lets one machine ask to be paired; it shows a code that is typed here.
pub(super) async fn pair(State(app): State<App>, token: SignedIn) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let nodes = hub(&app)?;
    nodes.open_window(DEFAULT_WINDOW);
    // `http` becomes `ws`, and `https` becomes `wss`.
    let address = format!("{}#{}", app.url.replacen("http", "ws", 1), nodes.fingerprint());
    Ok(Json(json!({ "address": address, "command": format!("haft node run {address}"), "seconds": DEFAULT_WINDOW.as_secs() })))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct CodeRequest {
    /// The code that the other machine shows.
    code: String,
}

pub(super) async fn approve(State(app): State<App>, token: SignedIn, Body(request): Body<CodeRequest>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let node = hub(&app)?.approve(&request.code).map_err(|error| ApiError::bad_request(error.message().to_owned()))?;
    app.changed("nodes");
    Ok(Json(json!(node.summary())))
}

pub(super) async fn revoke(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let node = hub(&app)?.revoke(&id).await.map_err(|error| ApiError::not_found(error.message().to_owned()))?;
    app.changed("nodes");
    Ok(Json(json!(node.summary())))
}

/// Takes the connection of a machine over. It needs no token: it proves its key, and a machine that is not paired can only ask.
pub(super) async fn connect(State(app): State<App>, mut request: Request) -> Result<Response, ApiError> {
    let Some(nodes) = app.nodes else { return Err(ApiError::not_found("This server has no nodes.")) };
    let upgrade = request.extensions_mut().remove::<OnUpgrade>();
    let (Some(key), Some(upgrade)) = (requested_key(request.headers()), upgrade) else {
        return Err(ApiError::new(StatusCode::UPGRADE_REQUIRED, "validation_error", "Only a WebSocket of a node can be opened here.")
            .help("Run `haft node run` on the machine that is to be paired."));
    };
    tokio::spawn(async move {
        if let Ok(upgraded) = upgrade.await {
            // How a connection ends is told to those who wait for it.
            nodes.accept(Box::new(TokioIo::new(upgraded))).await.ok();
        }
    });
    let headers = [
        (header::UPGRADE, HeaderValue::from_static("websocket")),
        (header::CONNECTION, HeaderValue::from_static("Upgrade")),
        (header::SEC_WEBSOCKET_ACCEPT, HeaderValue::from_str(&accept_key(&key)).unwrap_or(HeaderValue::from_static(""))),
    ];
    Ok((StatusCode::SWITCHING_PROTOCOLS, headers).into_response())
}

/// The key of a request for a WebSocket of the version that we speak.
fn requested_key(headers: &HeaderMap) -> Option<String> {
    let value = |name| headers.get(name).and_then(|value: &HeaderValue| value.to_str().ok());
    let is_websocket = value(header::UPGRADE).is_some_and(|value| value.eq_ignore_ascii_case("websocket"));
    let is_version = value(header::SEC_WEBSOCKET_VERSION) == Some("13");
    value(header::SEC_WEBSOCKET_KEY).filter(|key| is_websocket && is_version && key.len() <= 128).map(str::to_owned)
}
