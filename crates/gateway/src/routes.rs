//! The paths of the API.

mod access;
mod agents;
mod approvals;
mod automation;
mod browser;
mod canvas;
mod changes;
mod connections;
mod events;
mod files;
mod history;
mod hooks;
mod memory;
mod nodes;
mod sessions;
mod system;
mod tools;
mod usage;
mod usage_plot;

use axum::Router;
use axum::middleware::from_fn_with_state;
use axum::routing::{delete, get, post};
use schemars::JsonSchema;

use crate::app::App;
use crate::assets;
use crate::auth::check;
use crate::error::ApiError;
use crate::openapi::{QuerySchema, add};

/// What a handler answers.
type Answer<T> = Result<axum::Json<T>, ApiError>;

/// All paths, each behind the checks.
pub(crate) fn router(app: App) -> Router {
    let guard = std::sync::Arc::clone(&app.guard);
    let api = Router::new()
        .merge(of_access())
        .merge(of_sessions())
        .merge(of_tools())
        .merge(of_system())
        .merge(of_automation())
        .route("/events", get(events::stream))
        .route("/approvals", get(approvals::list))
        .route("/approvals/{id}", post(approvals::answer))
        .fallback(|| async { ApiError::not_found("There is no such path.").help("docs/GATEWAY.md and /api/openapi.json list the paths.") });
    let own = Router::new().route(haft_nodes::NODE_PATH, get(nodes::connect)).route("/hooks/{channel}", post(hooks::receive));
    let own = own.route("/canvas/{key}", get(canvas::frame));
    Router::new().nest("/api", api).merge(own).fallback(assets::file).layer(from_fn_with_state(guard, check)).with_state(app)
}

fn of_access() -> Router<App> {
    Router::new()
        .route("/login", post(access::login))
        .route("/logout", post(access::logout))
        .route("/me", get(access::me))
        .route("/tokens", get(access::tokens).post(access::mint))
        .route("/tokens/{id}", delete(access::revoke))
}

fn of_sessions() -> Router<App> {
    Router::new()
        .route("/sessions", get(sessions::list).post(sessions::create))
        .route("/sessions/{id}", get(sessions::one).patch(sessions::change).delete(sessions::remove))
        .route("/sessions/{id}/items", get(sessions::items))
        .route("/sessions/{id}/messages", post(sessions::send))
        .route("/sessions/{id}/messages/last", delete(sessions::take_back))
        .route("/sessions/{id}/cancel", post(sessions::cancel))
        .route("/sessions/{id}/fork", post(sessions::fork))
        .route("/sessions/{id}/canvas", get(canvas::one))
        .route("/sessions/{id}/canvas/versions/{number}", get(canvas::version))
        .route("/sessions/{id}/canvas/actions", post(canvas::act))
        .route("/canvas/answers/{request}", post(canvas::answer))
        .route("/browsers", get(browser::list))
        .route("/sessions/{id}/browser", get(browser::view))
        .route("/sessions/{id}/browser/control", post(browser::control))
        .route("/sessions/{id}/browser/input", post(browser::input))
        .route("/sessions/{id}/recording", get(browser::recording))
        .route("/sessions/{id}/recording/{number}", get(browser::picture))
        .route("/sessions/{id}/todos", get(sessions::todos))
        .route("/sessions/{id}/agents", get(sessions::sub_agents))
        .route("/sessions/{id}/files", get(history::files))
        .route("/sessions/{id}/undo", get(history::preview_session).post(history::undo_session))
}

fn of_tools() -> Router<App> {
    Router::new()
        .route("/tools", get(tools::list))
        .route("/tools/{name}", get(tools::one))
        .route("/tools/{name}/explain", post(tools::explain))
        .route("/tools/{name}/invoke", post(tools::invoke))
        .route("/history", get(history::list))
        .route("/history/{record}", get(history::one))
        .route("/history/{record}/undo", get(history::preview_call).post(history::undo_call))
        .route("/usage", get(usage::usage))
        .route("/agents", get(agents::list))
        .route("/agents/{name}", get(agents::one).put(agents::save))
        .route("/agents/{name}/preview", post(agents::preview))
}

fn of_system() -> Router<App> {
    Router::new()
        .route("/jobs", get(system::jobs))
        .route("/jobs/{id}", delete(system::kill))
        .route("/changes", get(changes::list))
        .route("/changes/{id}", get(changes::one).post(changes::decide))
        .route("/changes/{id}/diff", get(changes::diff))
        .route("/quarantine", get(system::quarantine))
        .route("/quarantine/{id}", get(system::quarantined).delete(system::drop_quarantined))
        .route("/quarantine/{id}/restore", post(system::restore_quarantined))
        .route("/settings", get(system::settings).put(system::save_settings))
        .route("/settings/preview", post(system::preview_settings))
        .route("/settings/undo", post(system::undo_save))
        .route("/trust", get(system::trust))
        .route("/trust/revoke", post(system::revoke_trust))
        .route("/doctor", get(system::doctor))
        .route("/policy", get(system::policy))
        .route("/policy/simulate", post(system::simulate))
        .route("/connections", get(connections::list))
        .route("/connections/{server}/review", post(connections::review))
        .route("/connections/{server}/approve", post(connections::approve))
        .route("/providers/{name}/test", post(connections::test))
        .route("/memory", get(memory::list).post(memory::add).delete(memory::forget))
        .route("/memory/file", get(memory::file).put(memory::write))
        .route("/files", get(files::complete))
        .route("/spills", get(files::spill))
        .route("/nodes", get(nodes::list))
        .route("/nodes/pair", post(nodes::pair))
        .route("/nodes/approve", post(nodes::approve))
        .route("/nodes/{id}", delete(nodes::revoke))
        .route("/render", post(system::render))
        .route("/openapi.json", get(system::openapi))
}

fn of_automation() -> Router<App> {
    Router::new()
        .route("/automation", get(automation::list).post(automation::add))
        .route("/automation/{id}", get(automation::one).patch(automation::change).delete(automation::remove))
        .route("/automation/{id}/run", post(automation::run))
}

/// The queries of requests.
pub(crate) fn queries(generator: &mut schemars::SchemaGenerator) -> Vec<QuerySchema> {
    let mut of = |path, schema: fn(&mut schemars::SchemaGenerator) -> schemars::Schema| ("get", path, schema(generator).to_value());
    let mut queries = vec![
        of("/api/changes/{id}/diff", changes::PathQuery::json_schema),
        of("/api/events", events::StreamQuery::json_schema),
        of("/api/files", files::FilesQuery::json_schema),
        of("/api/history", history::HistoryQuery::json_schema),
        of("/api/memory", memory::NotesQuery::json_schema),
        of("/api/memory/file", memory::FileQuery::json_schema),
        of("/api/policy", system::PolicyQuery::json_schema),
        of("/api/sessions", sessions::ListQuery::json_schema),
        of("/api/sessions/{id}/browser", browser::ViewQuery::json_schema),
        of("/api/sessions/{id}/items", sessions::ItemsQuery::json_schema),
        of("/api/spills", files::SpillQuery::json_schema),
        of("/api/tools", tools::ToolQuery::json_schema),
        of("/api/tools/{name}", tools::ToolQuery::json_schema),
        of("/api/usage", usage::UsageQuery::json_schema),
    ];
    queries.push(("delete", "/api/memory", memory::ForgetQuery::json_schema(generator).to_value()));
    queries
}

/// Adds the bodies of requests to a document.
pub(crate) fn bodies(generator: &mut schemars::SchemaGenerator) {
    add::<access::LoginRequest>(generator);
    add::<access::MintRequest>(generator);
    add::<agents::AgentRequest>(generator);
    add::<approvals::AnswerRequest>(generator);
    add::<automation::JobRequest>(generator);
    add::<browser::BrowserControlRequest>(generator);
    add::<browser::BrowserInputRequest>(generator);
    add::<canvas::CanvasAnswer>(generator);
    add::<canvas::CanvasEvent>(generator);
    add::<changes::DecideRequest>(generator);
    add::<connections::ApproveRequest>(generator);
    add::<history::UndoBody>(generator);
    add::<memory::MemoryFileRequest>(generator);
    add::<memory::NoteRequest>(generator);
    add::<nodes::CodeRequest>(generator);
    add::<sessions::CreateRequest>(generator);
    add::<sessions::ForkRequest>(generator);
    add::<sessions::MessageRequest>(generator);
    add::<sessions::SessionRequest>(generator);
    add::<system::RenderRequest>(generator);
    add::<system::RestoreRequest>(generator);
    add::<system::RevokeRequest>(generator);
    add::<system::SettingsRequest>(generator);
    add::<system::SimulateRequest>(generator);
    add::<system::UndoSaveRequest>(generator);
    add::<tools::ExplainRequest>(generator);
    add::<tools::InvokeRequest>(generator);
}
