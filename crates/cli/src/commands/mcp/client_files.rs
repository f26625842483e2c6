//! Where MCP clients have their configuration, and what they want in it.

use std::path::PathBuf;

use serde_json::{Value, json};

use crate::arguments::McpClient;
use crate::failure::Failure;

impl McpClient {
    /// What it calls itself.
    pub(super) fn label(self) -> &'static str {
        match self {
            Self::ClaudeDesktop => "Claude Desktop",
            Self::Vscode => "VS Code",
            Self::Cursor => "Cursor",
            Self::Zed => "Zed",
        }
    }

    /// The key of the servers in its file.
    pub(super) fn section(self) -> &'static str {
        match self {
            Self::ClaudeDesktop | Self::Cursor => "mcpServers",
            Self::Vscode => "servers",
            Self::Zed => "context_servers",
        }
    }

    /// Its file for all projects of the user.
    pub(super) fn file(self) -> Result<PathBuf, Failure> {
        let home = std::env::home_dir().filter(|home| home.is_absolute());
        let home = home.ok_or_else(|| Failure::usage("there is no home folder").help("name the file with --file"))?;
        let config = std::env::var_os("XDG_CONFIG_HOME").map(PathBuf::from).filter(|folder| folder.is_absolute());
        let config = config.unwrap_or_else(|| home.join(".config"));
        let applications = if cfg!(target_os = "macos") { home.join("Library/Application Support") } else { config.clone() };
        Ok(match self {
            Self::ClaudeDesktop => applications.join("Claude/claude_desktop_config.json"),
            Self::Vscode => applications.join("Code/User/mcp.json"),
            Self::Cursor => home.join(".cursor/mcp.json"),
            Self::Zed => config.join("zed/settings.json"),
        })
    }

    /// The entry of a server that is started by this command.
    pub(super) fn entry(self, program: &str, arguments: &[String]) -> Value {
        match self {
            Self::ClaudeDesktop | Self::Cursor => json!({ "command": program, "args": arguments }),
            Self::Vscode => json!({ "type": "stdio", "command": program, "args": arguments }),
            Self::Zed => json!({ "source": "custom", "command": program, "args": arguments }),
        }
    }

    /// What it replaces by the folder that is open in it.
    pub(super) fn open_folder(self) -> Option<&'static str> {
        match self {
            Self::Vscode | Self::Cursor => Some("${workspaceFolder}"),
            // Neither replaces anything: Claude Desktop has no folder, and Zed starts servers in its own.
            Self::ClaudeDesktop | Self::Zed => None,
        }
    }
}
