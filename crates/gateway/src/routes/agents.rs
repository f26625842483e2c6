//! Agents: their settings, their tools, and changes of both.

use axum::Json;
use axum::extract::{Path, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::backend::{AgentChange, Saving};
use crate::body::Body;
use crate::error::ApiError;
use crate::render;

pub(super) async fn list(State(app): State<App>, token: SignedIn) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let make = async { Ok(json!({ "agents": app.backend.agents()? })) };
    app.answers.answer("agents".into(), Some(app.configuration_stamp()), make).await
}

pub(super) async fn one(State(app): State<App>, token: SignedIn, Path(name): Path<String>) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let make = async { Ok(app.backend.agent(&name)?) };
    app.answers.answer(format!("agent {name}"), Some(app.configuration_stamp()), make).await
}

/// Keys that are set, and tools that are switched on and off. What is not named stays as it is.
#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct AgentRequest {
    #[serde(default)]
    on: Vec<String>,
    #[serde(default)]
    off: Vec<String>,
    /// The model; an empty text takes the key out of the file, here and below.
    model: Option<String>,
    prompt: Option<String>,
    /// The profile of tools.
    profile: Option<String>,
    /// The access level.
    access: Option<String>,
}

pub(super) async fn preview(
    State(app): State<App>,
    token: SignedIn,
    Path(name): Path<String>,
    Body(request): Body<AgentRequest>,
) -> Answer<Value> {
    token.need(Scope::View)?;
    Ok(Json(edited(&app, &name, request, Saving::Preview)?))
}

pub(super) async fn save(
    State(app): State<App>,
    token: SignedIn,
    Path(name): Path<String>,
    Body(request): Body<AgentRequest>,
) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let result = edited(&app, &name, request, Saving::Write)?;
    app.changed("agents");
    app.changed("tools");
    Ok(Json(result))
}

fn edited(app: &App, name: &str, request: AgentRequest, saving: Saving) -> Result<Value, crate::error::ApiError> {
    let AgentRequest { on, off, model, prompt, profile, access } = request;
    let change = AgentChange { on, off, model, prompt, profile, access };
    let mut result = app.backend.edit_agent(name, &change, saving)?;
    result["diff_html"] = json!(render::diff(result["diff"].as_str().unwrap_or_default()));
    Ok(result)
}
