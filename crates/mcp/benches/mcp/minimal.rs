//! The least that the SDK needs for a server with one tool.

use std::io::Write;
use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};

pub(crate) const STDIO: &str = "minimal-stdio";
pub(crate) const HTTP: &str = "minimal-http";

#[derive(Clone)]
struct MinimalServer;

impl ServerHandler for MinimalServer {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(&self, _: Option<PaginatedRequestParams>, _: RequestContext<RoleServer>) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(vec![Tool::new("read_file", "Reads a file.", JsonObject::new())]))
    }

    async fn call_tool(&self, request: CallToolRequestParams, _: RequestContext<RoleServer>) -> Result<CallToolResponse, ErrorData> {
        let path = request.arguments.as_ref().and_then(|arguments| arguments["path"].as_str()).unwrap_or_default();
        let text = std::fs::read_to_string(path).map_err(|error| ErrorData::internal_error(error.to_string(), None))?;
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn serve_stdio() {
    runtime().block_on(async {
        let running = MinimalServer.serve(rmcp::transport::stdio_pipes()).await.unwrap();
        running.waiting().await.ok();
    });
    // A read of standard input may still block a thread.
    #[allow(clippy::exit, reason = "the process of a benchmark")]
    std::process::exit(0);
}

pub(crate) fn serve_http() {
    runtime().block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        println!("{{\"url\":\"http://{}/mcp\",\"token\":\"\"}}", listener.local_addr().unwrap());
        std::io::stdout().flush().unwrap();
        let sessions = Arc::new(LocalSessionManager::default());
        let service = StreamableHttpService::new(|| Ok(MinimalServer), sessions, StreamableHttpServerConfig::default());
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| stream.set_nodelay(true).unwrap());
        axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await.unwrap();
    });
}
