//! What the binary provides for a conversation: configuration, models, sessions, and the commands behind slash commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_agent::{Price, Provider, TurnWatcher};
use haft_contract::{Access, BoxFuture};
use haft_policy::SourceSpan;
use haft_store::{CallLog, CallRecord, SessionRecord};
use haft_text::display;

use crate::conversation::Conversation;
use crate::failure::Failure;
use crate::output::note;

/// Flags that a conversation may change.
#[derive(Debug, Clone, Default)]
pub struct ChatOptions {
    pub workspace: Option<PathBuf>,
    pub agent: Option<String>,
    pub access: Option<Access>,
}

impl ChatOptions {
    /// Takes the folder and the agent of a session, where the command line names none.
    #[must_use]
    pub fn for_session(mut self, session: &SessionRecord) -> Self {
        let is_here = || std::env::current_dir().is_ok_and(|folder| folder == session.workspace);
        if self.workspace.is_none() && session.workspace.is_dir() && !is_here() {
            note(&format!("working in {}, the folder of the session", display::escape_line(&session.workspace.to_string_lossy())));
            self.workspace = Some(session.workspace.clone());
        }
        self.agent.get_or_insert_with(|| session.agent.clone());
        self
    }
}

/// A model that can be chosen.
#[derive(Debug, Clone)]
pub struct ModelChoice {
    /// As `provider/model`.
    pub name: String,
    pub context_window: Option<u64>,
    pub price: Option<Price>,
}

/// Resolves a configuration.
pub type Configure<'a> = dyn Fn(&ChatOptions) -> Result<Box<dyn ChatBackend>, Failure> + 'a;

/// One resolved configuration. The binary implements it, because it alone builds concrete types.
pub trait ChatBackend: Send + Sync {
    fn workspace(&self) -> &Path;
    /// Name of the configured agent.
    fn agent(&self) -> &str;
    /// CompletionNames of all agents.
    fn agents(&self) -> Vec<String>;
    /// CompletionNames of all tools.
    fn tools(&self) -> Vec<String>;
    /// The access level that the configuration gives, and where it is set.
    fn access(&self) -> Result<(Access, SourceSpan), Failure>;
    /// Every model that is configured or runs on this machine.
    fn models(&self) -> BoxFuture<'_, Vec<ModelChoice>>;
    /// A model by name, or the one that the configuration chooses.
    fn provider<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Result<Arc<dyn Provider>, Failure>>;
    /// Begins a conversation, or resumes the session with this id.
    fn open<'a>(
        &'a self,
        session: Option<&'a str>,
        model: Option<&'a str>,
        watcher: Arc<dyn TurnWatcher>,
    ) -> BoxFuture<'a, Result<Conversation, Failure>>;
    /// Gives a conversation an engine and a session with this configuration. Grants and disclosed tools stay.
    fn rewire(&self, conversation: &mut Conversation) -> Result<(), Failure>;
    /// Prints the tools, or one of them in full.
    fn show_tools(&self, name: Option<String>) -> Result<(), Failure>;
    /// Prints why a tool or a call is allowed or denied.
    fn explain<'a>(&'a self, tool: &'a str, arguments: Option<String>) -> BoxFuture<'a, Result<(), Failure>>;
    /// Puts the files of a call back, and prints which.
    fn undo<'a>(&'a self, log: &'a Arc<dyn CallLog>, call: &'a CallRecord) -> BoxFuture<'a, Result<(), Failure>>;
}
