//! Staged changes of commands: looked at, then applied or dropped path by path.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use super::tools::{ended, new_call_id, to_its_end};
use crate::api::CallView;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::backend::{ChangeDecision, ChangeRequest};
use crate::body::Body;
use crate::error::ApiError;
use crate::render;

pub(super) async fn list(State(app): State<App>, token: SignedIn) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let make = async { Ok(json!({ "sets": app.backend.changes(ChangeRequest::List).await? })) };
    app.answers.answer("changes".into(), app.file_stamp(), make).await
}

pub(super) async fn one(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::View)?;
    Ok(Json(app.backend.changes(ChangeRequest::Show(&id)).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PathQuery {
    path: String,
}

pub(super) async fn diff(State(app): State<App>, token: SignedIn, Path(id): Path<String>, Query(query): Query<PathQuery>) -> Answer<Value> {
    token.need(Scope::View)?;
    let mut file = app.backend.changes(ChangeRequest::Diff(&id, &query.path)).await?;
    file["diff_html"] = json!(file["diff"].as_str().map(render::diff));
    Ok(Json(file))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct DecideRequest {
    /// Paths that are put in place, as one call that can be undone.
    #[serde(default)]
    apply: Vec<String>,
    /// Paths that are forgotten.
    #[serde(default)]
    drop: Vec<String>,
}

pub(super) async fn decide(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(request): Body<DecideRequest>,
) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let dropped = request.drop.len();
    let decision = ChangeDecision::new(id, request.apply, request.drop);
    let call = to_its_end(async move {
        let call_id = new_call_id();
        let view = CallView::begin("", "", &call_id, "exec", &json!({ "commit": decision.id }).to_string());
        let result = app.backend.decide_changes(&decision, &call_id).await;
        app.changed("changes");
        match result? {
            Some(result) => Ok(Some(ended(&app, view, &result).await)),
            None => Ok(None),
        }
    })
    .await?;
    Ok(Json(json!({ "call": call, "dropped": dropped })))
}
