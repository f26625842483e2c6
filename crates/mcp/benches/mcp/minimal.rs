//! The least that the SDK needs for a server with one tool.

use std::io::Write;
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, JsonObject, ListToolsResult, PaginatedRequestParams,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, ServiceExt};

pub(crate) const STDIO: &str = "minimal-stdio";
/// The same, with a history.
pub(crate) const RECORDING: &str = "minimal-recording";
pub(crate) const HTTP: &str = "minimal-http";

#[derive(Clone)]
struct MinimalServer {
    /// Where calls are recorded, if they are.
    history: Option<SyncSender<RecordedCall>>,
}

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
        if let Some(history) = &self.history {
            let arguments = serde_json::to_string(&request.arguments).unwrap_or_default();
            // Behind the answer, as we do it. The writer ends after the server.
            history.send(RecordedCall { arguments, summary: text.clone() }).ok();
        }
        Ok(CallToolResult::success(vec![ContentBlock::text(text)]).into())
    }
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap()
}

pub(crate) fn serve_stdio(history: Option<&Path>) {
    runtime().block_on(async {
        let history = history.map(|folder| recorder(&folder.join("history.db")));
        let running = MinimalServer { history }.serve(rmcp::transport::stdio_pipes()).await.unwrap();
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
        let service = StreamableHttpService::new(|| Ok(MinimalServer { history: None }), sessions, StreamableHttpServerConfig::default());
        let listener = axum::serve::ListenerExt::tap_io(listener, |stream| stream.set_nodelay(true).unwrap());
        axum::serve(listener, axum::Router::new().route_service("/mcp", service)).await.unwrap();
    });
}

/// What is recorded of a call beside its time.
struct RecordedCall {
    arguments: String,
    summary: String,
}

/// The table of the store, with its indexes.
const SCHEMA: &str = include_str!("../../../store/src/backend/migrations/0001_calls.sql");
const RECORD: &str = "INSERT INTO calls VALUES (?1, ?1, 'session', 'main', 'read_file', 'success', NULL, 0, ?2, 50000, x'2f776f726b', ?3, \
     '{\"verdict\":\"allow\"}', '[{\"read\":\"page.txt\"}]', ?4, NULL)";
/// As the store does it: so long a commit waits for more, so many bytes are one, and so many records of 4 KB may wait.
const LINGER: Duration = Duration::from_millis(25);
const GROUP_BYTES: usize = 1 << 19;
const MOST_AHEAD: usize = 384;

/// The least that a durable history needs: a thread that writes what was queued in groups, each on disk when its commit returns.
fn recorder(path: &Path) -> SyncSender<RecordedCall> {
    let connection = rusqlite::Connection::open(path).unwrap();
    connection.pragma_update_and_check(None, "journal_mode", "WAL", |_| Ok(())).unwrap();
    connection.pragma_update(None, "synchronous", "FULL").unwrap();
    connection.pragma_update(None, "ignore_check_constraints", true).unwrap();
    connection.execute_batch(SCHEMA).unwrap();
    let (sender, calls) = sync_channel(MOST_AHEAD);
    std::thread::spawn(move || record(connection, &calls));
    sender
}

fn record(mut connection: rusqlite::Connection, calls: &Receiver<RecordedCall>) {
    let (mut number, mut bytes) = (0_u64, 0);
    while let Ok(first) = calls.recv() {
        if bytes < GROUP_BYTES {
            std::thread::sleep(LINGER);
        }
        bytes = 0;
        let transaction = connection.transaction().unwrap();
        for call in std::iter::once(first).chain(calls.try_iter()) {
            bytes += call.summary.len();
            number += 1;
            let started = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
            let mut statement = transaction.prepare_cached(RECORD).unwrap();
            let id = format!("0199a0b0-0000-7000-8000-{number:012x}");
            statement.execute(rusqlite::params![id, i64::try_from(started.as_nanos()).unwrap(), call.summary, call.arguments]).unwrap();
            if bytes >= GROUP_BYTES {
                break;
            }
        }
        transaction.commit().unwrap();
    }
}
