//! Jobs, quarantine, settings, doctor, policy.

use axum::Json;
use axum::extract::{Path, Query, State};
use axum::response::Response;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use super::connections::hide_command;
use super::tools::hide_hook;
use crate::answers::AnswerStamp;
use crate::app::App;
use crate::auth::{Scope, SignedIn};
use crate::backend::{KeyEdit, LaterChanges, QuarantineRequest, Saving, TrustKind, TrustRequest};
use crate::body::Body;
use crate::error::ApiError;
use crate::{openapi, render};

/// Past calls that a simulation looks at, at most.
const MOST_SIMULATED: usize = 10_000;

pub(super) async fn jobs(State(app): State<App>, token: SignedIn) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let make = async {
        let mut jobs = app.backend.jobs().await?;
        for job in jobs.as_array_mut().into_iter().flatten() {
            job["tail_html"] = json!(render::ansi(job["tail"].as_str().unwrap_or_default()));
        }
        Ok(json!({ "jobs": jobs }))
    };
    // The store has every job, and what has ended prints no more.
    let has_ended = |answer: &Value| answer["jobs"].as_array().is_none_or(|jobs| jobs.iter().all(|job| job["state"] == "ended"));
    app.answers.answer_if("jobs".into(), app.session_stamp(), make, has_ended).await
}

pub(super) async fn kill(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    app.backend.kill_job(&id).await?;
    app.changed("jobs");
    Ok(Json(json!({})))
}

pub(super) async fn quarantine(State(app): State<App>, token: SignedIn) -> Answer<Value> {
    token.need(Scope::View)?;
    Ok(Json(json!({ "entries": app.backend.quarantine(QuarantineRequest::List)? })))
}

pub(super) async fn quarantined(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::View)?;
    let mut entry = app.backend.quarantine(QuarantineRequest::Show(&id))?;
    entry["content_html"] = json!(render::code(entry["content"].as_str().unwrap_or_default(), ""));
    Ok(Json(entry))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RestoreRequest {
    /// Replace what is there now; that goes to quarantine.
    #[serde(default)]
    force: bool,
}

pub(super) async fn restore_quarantined(
    State(app): State<App>,
    token: SignedIn,
    Path(id): Path<String>,
    Body(body): Body<RestoreRequest>,
) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let later = if body.force { LaterChanges::Overwrite } else { LaterChanges::Keep };
    let restored = app.backend.quarantine(QuarantineRequest::Restore(&id, later))?;
    app.changed("quarantine");
    Ok(Json(restored))
}

pub(super) async fn drop_quarantined(State(app): State<App>, token: SignedIn, Path(id): Path<String>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let removed = app.backend.quarantine(QuarantineRequest::Remove(&id))?;
    app.changed("quarantine");
    Ok(Json(removed))
}

pub(super) async fn settings(State(app): State<App>, token: SignedIn) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    app.answers.answer("settings".into(), Some(app.configuration_stamp()), async { Ok(app.backend.settings()?) }).await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SettingsRequest {
    /// All of them together.
    edits: Vec<KeyEdit>,
}

pub(super) async fn preview_settings(State(app): State<App>, token: SignedIn, Body(body): Body<SettingsRequest>) -> Answer<Value> {
    token.need(Scope::View)?;
    Ok(with_diff(app.backend.edit_settings(&body.edits, Saving::Preview)?))
}

pub(super) async fn save_settings(State(app): State<App>, token: SignedIn, Body(body): Body<SettingsRequest>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let saved = app.backend.edit_settings(&body.edits, Saving::Write)?;
    app.sessions.use_new_settings();
    app.changed("settings");
    Ok(with_diff(saved))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct UndoSaveRequest {
    /// The `undo` of the answer to a save.
    undo: String,
}

/// Takes a save back, of settings or of an agent.
pub(super) async fn undo_save(State(app): State<App>, token: SignedIn, Body(request): Body<UndoSaveRequest>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let restored = app.backend.undo_save(&request.undo)?;
    app.sessions.use_new_settings();
    for what in ["settings", "agents", "tools"] {
        app.changed(what);
    }
    Ok(Json(restored))
}

pub(super) async fn trust(State(app): State<App>, token: SignedIn) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let is_public = token.need(Scope::Admin).is_err();
    let make = async {
        let mut entries = app.backend.trust(TrustRequest::List).await?;
        let servers = entries.as_array_mut().into_iter().flatten().filter(|entry| entry["kind"] == json!(TrustKind::McpServer));
        if is_public {
            servers.for_each(hide_command);
        }
        Ok(json!({ "entries": entries }))
    };
    app.answers.answer(format!("trust {is_public}"), app.file_stamp(), make).await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RevokeRequest {
    kind: TrustKind,
    /// As in the list.
    name: String,
}

pub(super) async fn revoke_trust(State(app): State<App>, token: SignedIn, Body(request): Body<RevokeRequest>) -> Answer<Value> {
    token.need(Scope::Admin)?;
    let revoked = app.backend.trust(TrustRequest::Revoke(request.kind, &request.name)).await?;
    app.sessions.use_new_settings();
    for what in ["settings", "tools"] {
        app.changed(what);
    }
    Ok(Json(revoked))
}

fn with_diff(mut edited: Value) -> Json<Value> {
    edited["diff_html"] = json!(render::diff(edited["diff"].as_str().unwrap_or_default()));
    Json(edited)
}

pub(super) async fn doctor(State(app): State<App>, token: SignedIn) -> Answer<Value> {
    token.need(Scope::View)?;
    let checks = app.backend.doctor().await?;
    let report = report(&checks, std::env::home_dir().as_deref());
    Ok(Json(json!({ "checks": checks, "report": report })))
}

/// The checks as text that can be shown to others: it does not name the user's folder.
fn report(checks: &Value, home: Option<&std::path::Path>) -> String {
    let text = |check: &Value, key: &str| check[key].as_str().unwrap_or_default().to_owned();
    let lines = checks.as_array().into_iter().flatten().map(|check| {
        let fix = check["fix"].as_str().map(|fix| format!("\n  fix: {}", fix.replace('\n', "\n  "))).unwrap_or_default();
        format!("{} {}: {}{fix}", text(check, "status"), text(check, "check"), text(check, "message"))
    });
    let system = format!("haft {} on {} {}", env!("CARGO_PKG_VERSION"), std::env::consts::OS, std::env::consts::ARCH);
    let report = std::iter::once(system).chain(lines).collect::<Vec<_>>().join("\n");
    match home.and_then(std::path::Path::to_str).filter(|home| home.len() > 1) {
        Some(home) => report.replace(home, "~"),
        None => report,
    }
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct PolicyQuery {
    agent: Option<String>,
}

/// Of most tools most steps say nothing: a step that is not there has no opinion.
fn leave_out_silent_steps(tool: &mut Value) {
    if let Some(cells) = tool["cells"].as_object_mut() {
        cells.retain(|_, cell| cell["outcome"] != "pass" || cell["entry"] != "nothing configured");
        for cell in cells.values_mut().filter_map(Value::as_object_mut) {
            cell.remove("step");
        }
    }
}

pub(super) async fn policy(State(app): State<App>, token: SignedIn, Query(query): Query<PolicyQuery>) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    let is_public = token.need(Scope::Admin).is_err();
    let make = async {
        let mut table = app.backend.policy(query.agent.as_deref()).await?;
        for tool in table["tools"].as_array_mut().into_iter().flatten() {
            leave_out_silent_steps(tool);
            if is_public && tool["cells"]["hook"].is_object() {
                hide_hook(&mut tool["cells"]["hook"]);
            }
        }
        Ok(table)
    };
    app.answers.answer(format!("policy {:?} {is_public}", query.agent), Some(app.configuration_stamp()), make).await
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct SimulateRequest {
    /// The text of a configuration file.
    config: String,
    calls: Option<usize>,
}

pub(super) async fn simulate(State(app): State<App>, token: SignedIn, Body(request): Body<SimulateRequest>) -> Answer<Value> {
    token.need(Scope::View)?;
    let calls = request.calls.unwrap_or(1_000).min(MOST_SIMULATED);
    Ok(Json(app.backend.simulate(&request.config, calls).await?))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct RenderRequest {
    text: String,
    #[serde(rename = "as")]
    kind: RenderKind,
    language: Option<String>,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum RenderKind {
    Markdown,
    Ansi,
    Diff,
    Json,
    Code,
}

pub(super) async fn render(token: SignedIn, Body(request): Body<RenderRequest>) -> Answer<Value> {
    token.need(Scope::View)?;
    let text = &request.text;
    let html = match request.kind {
        RenderKind::Markdown => render::markdown(text),
        RenderKind::Ansi => render::ansi(text),
        RenderKind::Diff => render::diff(text),
        RenderKind::Json => serde_json::from_str(text).map_or_else(|_| render::code(text, "json"), |value| render::json(&value)),
        RenderKind::Code => render::code(text, request.language.as_deref().unwrap_or_default()),
    };
    Ok(Json(json!({ "html": html })))
}

pub(super) async fn openapi(State(app): State<App>, token: SignedIn) -> Result<Response, ApiError> {
    token.need(Scope::View)?;
    app.answers.answer("openapi".into(), Some(AnswerStamp::from_parts(&())), async { Ok(openapi::document()) }).await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn report_has_every_check_with_its_fix_and_not_the_home_folder() {
        let checks = json!([
            { "check": "workspace", "status": "ok", "message": "/home/ann/src (read-only)", "fix": null },
            { "check": "sandbox", "status": "error", "message": "none", "fix": "install it\nor another" },
        ]);
        let report = report(&checks, Some(std::path::Path::new("/home/ann")));
        let (first, rest) = report.split_once('\n').unwrap();
        assert!(first.starts_with("haft "), "{first}");
        assert_eq!(rest, "ok workspace: ~/src (read-only)\nerror sandbox: none\n  fix: install it\n  or another");
    }
}
