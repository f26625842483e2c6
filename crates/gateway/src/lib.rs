//! The gateway: an HTTP API and a page on which the user talks to agents, watches their calls, and decides.
//!
//! Sessions run in the server ([`Gateway::serve`]) on the same agent loop as `haft chat`, and continue without a page. Every change is an event
//! of one stream that any number of pages read. `docs/GATEWAY.md` describes the API.

mod answers;
mod api;
mod app;
mod approvals;
mod assets;
mod attachments;
mod auth;
mod backend;
mod body;
mod browsers;
mod calls;
mod canvas;
mod connections;
mod error;
mod hub;
mod invocations;
mod openapi;
mod remote;
mod render;
mod routes;
mod served_sessions;
mod server;
mod sessions;
mod stored_change;
mod tenants;
mod time;
mod tls;

pub use self::approvals::{ApprovalListener, PageApprovals};
pub use self::auth::{Scope, TenantInvitation, TenantUser, UserDirectory};
pub use self::backend::{
    AgentChange, BackendVersions, ChangeDecision, ChangeRequest, GatewayBackend, HookDelivery, KeyEdit, LaterChanges, MemoryRequest,
    QuarantineRequest, Saving, ServerRequest, ToolRequest, TrustKind, TrustRequest, UndoRequest,
};
pub use self::browsers::{BrowserInputEvent, PageBrowsers};
pub use self::canvas::{PageCanvas, canvas_outcome};
pub use self::remote::{
    RemoteAnswer, RemoteCanvas, RemoteCanvasAnswer, RemoteEvent, RemoteMessage, RemoteScreenAnswer, RemoteScreenAsk, RemoteTurn,
    RemoteTurns, RemoteView,
};
pub use self::served_sessions::ServedSessions;
pub use self::server::{Gateway, GatewayError, GatewayOptions};
pub use self::tenants::{PublicAddress, TenantActivity, TenantHost, TenantSeat};
pub use self::tls::TlsFiles;
