//! Our tools for any MCP client.
//!
//! A [`ToolBackend`] gives the tools, and an agent session for each client. [`serve_stdio`] answers one client, [`HttpListener`] several,
//! each with its own session. Every call passes the whole pipeline of the engine: policy, hooks, history, limits.

mod answer;
mod approvals;
mod backend;
mod calls;
mod client_session;
mod completion;
mod early_call;
mod handler;
mod http;
mod input_required;
mod listing;
mod log;
mod message;
mod paging;
mod pending;
mod prompt_watch;
mod prompts;
mod questions;
mod random;
mod resources;
mod roots;
mod routes;
mod sampling;
mod stdio;
mod subscriptions;

pub use backend::{ClientAgent, ClientPorts, ToolBackend};
pub use http::{AccessToken, HttpListener, HttpReach, HttpTokenEntry, HttpTokenFile, ListenError, McpHttpOptions, TokenLife};
pub use prompts::{PromptFault, PromptListing, PromptParameter, PromptSource, SkillPrompts};
pub use resources::{ResourceFault, ResourceListing, ResourcePage, ResourceSource, ResourceTemplateListing, SessionResources};
pub use stdio::{ServeError, serve, serve_stdio};
