//! All configured servers of a process.

use std::sync::Arc;

use haft_contract::ToolSource;
use haft_engine::Registry;

use super::names;
use super::resources::McpResources;
use super::server::{ClientParts, McpServer};
use super::settings::ServerSettings;

/// The configured servers. None is started before it is needed.
#[derive(Debug, Default)]
pub struct McpServers {
    servers: Vec<Arc<McpServer>>,
}

impl McpServers {
    /// Registers the tools of these servers, as far as they are known, and the tool that reads their resources.
    pub fn new(settings: Vec<ServerSettings>, parts: &ClientParts, registry: &Arc<Registry>) -> Arc<Self> {
        let servers: Vec<Arc<McpServer>> = settings.into_iter().map(|settings| McpServer::new(settings, parts.clone(), registry)).collect();
        if !servers.is_empty()
            && let Err(error) = registry.register(Arc::new(McpResources::new(servers.clone())), ToolSource::BuiltIn)
        {
            (parts.warn)(&error.to_string());
        }
        Arc::new(Self { servers })
    }

    /// The servers, in the order of the configuration.
    pub fn all(&self) -> &[Arc<McpServer>] {
        &self.servers
    }

    /// The server of this name.
    pub fn find(&self, name: &str) -> Option<&Arc<McpServer>> {
        self.servers.iter().find(|server| server.settings().name == name)
    }

    /// The server that a tool of this name belongs to.
    pub fn of_tool(&self, tool: &str) -> Option<&Arc<McpServer>> {
        let tool = tool.trim().to_ascii_lowercase();
        self.servers.iter().find(|server| tool.starts_with(&names::prefix(&server.settings().name)))
    }

    /// Starts the servers whose tools are not known yet, in the background, each by itself. Needs a runtime.
    pub fn start_unknown(&self) {
        for server in self.servers.iter().filter(|server| !server.is_known()) {
            let server = Arc::clone(server);
            tokio::spawn(async move {
                if let Err(failure) = server.start().await {
                    server.warn(&failure.to_string());
                }
            });
        }
    }

    /// Ends all servers, at the same time.
    pub async fn close(&self) {
        futures_util::future::join_all(self.servers.iter().map(|server| server.close())).await;
    }
}
