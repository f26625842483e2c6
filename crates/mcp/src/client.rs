//! Any MCP server as tools of ours.
//!
//! A server is started when it is first needed; its tools are known before that, from the last time. They are registered as
//! `mcp__SERVER__TOOL` and run by our engine like any other tool. What a server says is untrusted: its tools wait for the user when
//! they change, its results stand between markers, and everything that it sends is bounded.

mod connection;
mod content;
mod effects;
mod failure;
mod handler;
mod http;
mod names;
mod oauth;
mod parameter_names;
mod parameters;
pub(crate) mod record;
mod resources;
mod sampling;
mod server;
mod servers;
mod settings;
mod stdio;
mod tool;

pub use self::connection::{ServerLauncher, ServerProcess, ServerStreams};
pub use self::failure::ServerFailure;
pub use self::handler::Elicitor;
pub use self::names::prefix;
pub use self::oauth::{LoginSummary, PendingLogin, SignInState};
pub use self::record::{FOLDER, QuarantineReason, QuarantinedTool, ServerApproval, log_path};
pub use self::resources::NAME as RESOURCES_TOOL;
pub use self::sampling::{SampleAnswer, SampleMessage, SampleRequest, Sampler, Sampling, SamplingLimits};
pub use self::server::{ClientParts, McpServer};
pub use self::servers::McpServers;
pub use self::settings::{
    BearerToken, Elicitation, HttpServer, Lifecycle, OAuthClient, ServerRequests, ServerSandbox, ServerSettings, ServerTimeouts,
    ServerTransport, StdioServer, server_name,
};
