//! The environment block of the system prompt.

use std::path::PathBuf;

use haft_contract::Access;
use haft_text::display;

use crate::GitState;

/// What a model should know of where it works.
#[derive(Debug, Clone, Default)]
pub struct EnvironmentFacts {
    /// The folder it works in.
    pub folder: PathBuf,
    /// The repository that holds it.
    pub repository: Option<PathBuf>,
    /// The state of the repository.
    pub git: Option<GitState>,
    /// The system, such as `Linux x86_64`.
    pub system: String,
    /// The date, such as `2026-11-17`.
    pub date: String,
    /// What the session may do.
    pub access: Access,
    /// Names of the tools that need approval for every call, as the model knows them.
    pub asks: Vec<String>,
}

impl EnvironmentFacts {
    /// The block.
    pub(crate) fn text(&self) -> String {
        let folder = self.folder.display().to_string();
        let mut lines = vec![format!("- Folder: {}", display::escape_line(&folder))];
        if let Some(repository) = &self.repository {
            let root = if *repository == self.folder {
                String::new()
            } else {
                format!(" in {}", display::escape_line(&repository.display().to_string()))
            };
            let state = self.git.as_ref().map(|git| format!(", {git}")).unwrap_or_default();
            lines.push(format!("- Git repository{root}{state}"));
        }
        lines.push(format!("- System: {}; date: {}", self.system, self.date));
        lines.push(format!("- Access: {}: {}", self.access, permits(self.access)));
        if !self.asks.is_empty() {
            lines.push(format!("- The user is asked before each call of: {}", self.asks.join(", ")));
        }
        format!("# Environment\n{}", lines.join("\n"))
    }
}

const fn permits(access: Access) -> &'static str {
    match access {
        Access::ReadOnly => "you may read, and change nothing",
        Access::WorkspaceWrite => "you may change files of the folder; what goes beyond needs approval",
        Access::FullAccess => "you may do what the user may do; be careful outside the folder",
    }
}
