//! Tools: listed, explained, called by the user.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::http::StatusCode;
use axum::response::Response;
use haft_contract::ToolResult;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::Answer;
use crate::api::CallView;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::backend::ToolRequest;
use crate::body::Body;
use crate::error::ApiError;
use crate::invocations::DENIED;
use crate::render;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ToolQuery {
    agent: Option<String>,
    provider: Option<String>,
}

pub(super) async fn list(State(app): State<App>, token: SignedIn, Query(query): Query<ToolQuery>) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let (question, stamp) = (format!("tools {:?}", query.agent), Some(app.configuration_stamp()));
    let make = async {
        let mut tools = app.backend.tools(query.agent.as_deref())?;
        for tool in tools.as_array_mut().into_iter().flatten() {
            mark(tool);
            // More than half of the answer, and a client that asks for all tools looks at few of them.
            tool.as_object_mut().map(|tool| tool.remove("parameters"));
        }
        Ok(serde_json::json!({ "tools": tools }))
    };
    app.answers.answer(question, stamp, make).await
}

/// Adds whether a request may call it.
fn mark(tool: &mut Value) {
    tool["invocable"] = Value::Bool(is_invocable(tool));
}

fn is_invocable(tool: &Value) -> bool {
    !DENIED.contains(&canonical(tool)) || tool["invoke_allowed"] == true
}

/// The name by which lists know it: an alias must not get around them.
fn canonical(tool: &Value) -> &str {
    tool["canonical"].as_str().or(tool["name"].as_str()).unwrap_or_default()
}

pub(super) async fn one(
    State(app): State<App>,
    token: SignedIn,
    Path(name): Path<String>,
    Query(query): Query<ToolQuery>,
) -> Answer<Value> {
    token.need(Scope::View)?;
    let mut request = ToolRequest::new(name, query.agent);
    request.provider = query.provider;
    let mut tool = app.backend.tool(&request)?;
    mark(&mut tool);
    if request.provider.is_some() {
        let (own, sent) = (&tool["parameters"], &tool["projected"]["parameters"]);
        let html = (render::schema_difference(own, sent), render::schema_difference(sent, sent));
        (tool["parameters_html"], tool["projected"]["html"]) = (html.0.into(), html.1.into());
    }
    Ok(Json(tool))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct ExplainRequest {
    agent: Option<String>,
    arguments: Option<Value>,
}

pub(super) async fn explain(
    State(app): State<App>,
    token: SignedIn,
    Path(name): Path<String>,
    Body(body): Body<ExplainRequest>,
) -> Answer<Value> {
    token.need(Scope::View)?;
    let mut request = ToolRequest::new(name, body.agent);
    request.arguments = body.arguments;
    let mut explanation = app.backend.explain(&request).await?;
    explanation["effects"] = serde_json::json!(crate::calls::effect_views(&explanation["effects"], &app.backend.workspace()));
    if token.need(Scope::Admin).is_err() {
        explanation["trace"].as_array_mut().into_iter().flatten().filter(|entry| entry["step"] == "hook").for_each(hide_hook);
    }
    Ok(Json(explanation))
}

/// The command of a hook may have a token in it: it is for those who may change it.
pub(super) fn hide_hook(entry: &mut Value) {
    entry["entry"] = "(not shown)".into();
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct InvokeRequest {
    agent: Option<String>,
    #[serde(default)]
    arguments: Value,
    /// A name of the client for this request: the same again is not called again.
    request: Option<String>,
}

pub(super) async fn invoke(
    State(app): State<App>,
    token: SignedIn,
    Path(name): Path<String>,
    Body(body): Body<InvokeRequest>,
) -> Answer<CallView> {
    token.need(Scope::Admin)?;
    let mut request = ToolRequest::new(name, body.agent);
    let tool = app.backend.tool(&request)?;
    let canonical = canonical(&tool).to_owned();
    if !is_invocable(&tool) {
        return Err(ApiError::new(StatusCode::FORBIDDEN, "tool_not_available", format!("'{canonical}' cannot be called over HTTP."))
            .help(format!("Ask the agent for it, call it with `haft call {canonical}`, or add \"{canonical}\" to gateway.invoke_allow.")));
    }
    request.arguments = Some(if body.arguments.is_null() { serde_json::json!({}) } else { body.arguments });
    let id = new_call_id();
    let call = || run(&app, &request, &id, &canonical);
    let Some(name) = body.request else { return Ok(Json(call().await?)) };
    let result = app.invocations.result_of(&format!("{}\0{name}", token.0.id));
    Ok(Json(result.get_or_try_init(call).await?.clone()))
}

/// Calls the tool to its end, also when the client goes away: what was begun is recorded with its result.
async fn run(app: &App, request: &ToolRequest, id: &str, tool: &str) -> Result<CallView, ApiError> {
    let (app, request, id, tool) = (app.clone(), request.clone(), id.to_owned(), tool.to_owned());
    to_its_end(async move {
        let arguments = request.arguments.clone().unwrap_or_default().to_string();
        let view = CallView::begin("", request.agent.as_deref().unwrap_or_default(), &id, &tool, &arguments);
        let result = app.backend.invoke(&request, &id).await?;
        Ok(ended(&app, view, &result).await)
    })
    .await
}

/// Runs something that is not cut off with its request.
pub(super) async fn to_its_end<T: Send + 'static>(work: impl Future<Output = Result<T, ApiError>> + Send + 'static) -> Result<T, ApiError> {
    tokio::spawn(work).await.unwrap_or_else(|_| Err(ApiError::internal("The call ended without a result.")))
}

/// A call that the user made, with its result and what the history has of it.
pub(super) async fn ended(app: &App, mut view: CallView, result: &ToolResult) -> CallView {
    view.end(result);
    if let Ok(record) = app.backend.calls().get(&view.id).await {
        view.session.clone_from(&record.session);
        view.enrich(&record);
    }
    view
}

/// An id for a call of the user.
pub(super) fn new_call_id() -> String {
    format!("page_{}", haft_store::new_uuid().simple())
}
