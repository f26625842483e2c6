//! Connections: MCP servers and models, and the tools of servers that wait for the user.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::backend::ServerRequest;
use crate::body::Body;
use crate::error::ApiError;
use crate::render;

pub(super) async fn list(State(app): State<App>, token: SignedIn) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let is_public = token.need(Scope::Admin).is_err();
    let make = async {
        let mut connections = app.backend.connections().await?;
        if is_public {
            connections["servers"].as_array_mut().into_iter().flatten().for_each(hide_command);
        }
        Ok(connections)
    };
    app.answers.answer(format!("connections {is_public}"), app.file_stamp(), make).await
}

/// The command or the address of a server may have a token in it: it is for those who may change it.
pub(super) fn hide_command(row: &mut Value) {
    row["what"] = json!("(not shown)");
}

/// Starts a server, and shows what has changed since the user approved its tools. A program runs: so this is no GET.
pub(super) async fn review(State(app): State<App>, token: SignedIn, Path(name): Path<String>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let mut review = app.backend.server(&name, ServerRequest::Review).await?;
    for change in review["changes"].as_array_mut().into_iter().flatten() {
        change["diff_html"] = json!(render::diff(change["diff"].as_str().unwrap_or_default()));
    }
    review["log_html"] = json!(review["log"].as_str().map(render::ansi));
    app.changed("tools");
    Ok(Json(review))
}

/// Asks a provider of models once. A request goes out, and a command may run for its key: so this is no GET.
pub(super) async fn test(State(app): State<App>, token: SignedIn, Path(name): Path<String>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    Ok(Json(app.backend.test_provider(&name).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ApproveRequest {
    /// The fingerprint of a review: what was seen is what is approved.
    fingerprint: String,
}

pub(super) async fn approve(
    State(app): State<App>,
    token: SignedIn,
    Path(name): Path<String>,
    Body(request): Body<ApproveRequest>,
) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let approved = app.backend.server(&name, ServerRequest::Approve(&request.fingerprint)).await?;
    app.sessions.use_new_settings();
    app.changed("tools");
    Ok(Json(approved))
}
