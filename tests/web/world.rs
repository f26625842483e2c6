//! A toolbox whose network a test decides on: open addresses, names, and a search provider.

use std::sync::Arc;
use std::time::Duration;

use haft::host::{GuardedClient, HttpOptions, LocalFiles, LocalHost, LocalProcesses, NetworkRules, Resolve, WorkspaceOptions};
use haft::store::{Blobs, FileBlobs, InMemoryCallLog};
use haft::{Access, Engine, Registry, SearchEndpoint, SearchFields, SearchProvider, Session, ToolResult, ToolSource, Toolbox, WebSettings};
use serde_json::{Value, json};
use tempfile::TempDir;

pub(crate) struct World {
    toolbox: Toolbox,
    pub(crate) folder: TempDir,
}

/// What a world is made of.
pub(crate) struct Setup {
    /// Entries of `network.allow`.
    pub(crate) allow: Vec<String>,
    pub(crate) resolver: Option<Arc<dyn Resolve>>,
    pub(crate) search: Option<SearchEndpoint>,
    pub(crate) access: Access,
    pub(crate) respect_robots: bool,
}

impl Default for Setup {
    fn default() -> Self {
        Self { allow: Vec::new(), resolver: None, search: None, access: Access::FullAccess, respect_robots: false }
    }
}

impl Setup {
    pub(crate) fn allowing(entries: impl IntoIterator<Item = impl ToString>) -> Self {
        Self { allow: entries.into_iter().map(|entry| entry.to_string()).collect(), ..Self::default() }
    }

    pub(crate) fn open(self) -> World {
        let folder = tempfile::tempdir().unwrap();
        let (workspace, state) = (folder.path().join("workspace"), folder.path().join("state"));
        std::fs::create_dir(&workspace).unwrap();
        let blobs = FileBlobs::open(&state).unwrap();
        let files = LocalFiles::open(WorkspaceOptions {
            root: workspace.clone(),
            read_only_roots: vec![blobs.spill_folder().to_owned()],
            ..WorkspaceOptions::default()
        });
        let rules = NetworkRules::parse(&self.allow, &[]).unwrap();
        let options =
            HttpOptions { connect_timeout: Duration::from_secs(20), idle_timeout: Duration::from_secs(1), ..HttpOptions::default() };
        let http = match self.resolver {
            Some(resolver) => GuardedClient::with(rules, options, resolver),
            None => GuardedClient::with(rules, options, Arc::new(NoNames)),
        };
        let mut web = WebSettings::default();
        web.respect_robots = self.respect_robots;
        if let Some(endpoint) = self.search {
            web.search = Ok(endpoint);
        }
        let processes = Arc::<LocalProcesses>::default();
        let host = LocalHost::new(Arc::new(files.unwrap()), Arc::new(http), processes, state.join("alerts.log"));
        let host = Arc::new(host.with_web(web, state.join("cache")));
        let engine = Engine::builder(Arc::new(registry()), Arc::new(InMemoryCallLog::default()), Arc::new(blobs)).build();
        let session = Session::builder(host).workspace(workspace).owner().access(self.access).build();
        World { toolbox: Toolbox::from_parts(engine, session), folder }
    }
}

fn registry() -> Registry {
    let registry = Registry::new();
    for tool in haft::builtin::all() {
        registry.register(tool, ToolSource::BuiltIn).unwrap();
    }
    registry
}

/// There is no network beyond this machine.
struct NoNames;

impl Resolve for NoNames {
    fn resolve<'a>(&'a self, _: &'a str) -> haft::BoxFuture<'a, std::io::Result<Vec<std::net::IpAddr>>> {
        Box::pin(async { Err(std::io::Error::other("no such name")) })
    }
}

impl World {
    pub(crate) async fn call(&self, tool: &str, arguments: Value) -> ToolResult {
        self.toolbox.call(tool, arguments.to_string()).await
    }
    pub(crate) async fn text(&self, tool: &str, arguments: Value) -> String {
        text(&self.call(tool, arguments).await)
    }
}

/// The text of a result, or the message of its error.
pub(crate) fn text(result: &ToolResult) -> String {
    match &result.outcome {
        Ok(output) => output.texts().collect(),
        Err(error) => format!("{}: {}", error.kind(), error.message()),
    }
}

pub(crate) const TOOLS: [&str; 3] = ["http_request", "web_fetch", "web_search"];

/// One tool's way to an address: for a search it is where the user's provider is.
pub(crate) async fn reach(tool: &str, url: &str, setup: Setup) -> String {
    if tool == "web_search" {
        let endpoint = SearchEndpoint { provider: SearchProvider::Json, url: url.into(), key: None, fields: SearchFields::default() };
        return Setup { search: Some(endpoint), ..setup }.open().text(tool, json!({"query": "axe"})).await;
    }
    setup.open().text(tool, json!({"url": url})).await
}
