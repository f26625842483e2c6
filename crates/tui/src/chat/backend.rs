//! What the binary provides for a conversation: configuration, models, sessions, and the commands behind slash commands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_agent::{Price, Provider, TurnWatcher};
use haft_contract::{Access, BoxFuture, TurnLimit};
use haft_engine::Session;
use haft_policy::SourceSpan;
use haft_provider::{Message, Model};
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

/// A command of the user, for help and completion.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandChoice {
    pub name: String,
    /// What it takes, such as `[issue]`.
    pub takes: String,
    pub about: String,
}

/// Which files are attached to a prompt that names them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedFiles {
    /// All: the user named them.
    Anywhere,
    /// Those that the agent may read: a project's command named them.
    Readable,
    /// None: a program wrote the text.
    None,
}

/// A prompt to send.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Prompt {
    pub text: String,
    /// Which files that it names are attached.
    pub files: NamedFiles,
    /// The tools that the turn has at most.
    pub limit: Option<TurnLimit>,
    /// The folder of a skill that it is of, which commands may read.
    pub folder: Option<PathBuf>,
}

impl Prompt {
    /// What the user typed.
    pub fn typed(text: impl Into<String>) -> Self {
        Self { text: text.into(), files: NamedFiles::Anywhere, limit: None, folder: None }
    }
    /// Prepares the session for the turn that it begins.
    pub fn prepare(&self, session: &Session) -> Result<(), Failure> {
        if let Some(folder) = &self.folder {
            session.host().files().show_folder(folder).map_err(|error| Failure::failed("execution_error", error.message()))?;
        }
        if let Some(limit) = &self.limit {
            session.caller().turn_tools.limit_next(limit.clone());
        }
        Ok(())
    }
    /// Text that a program wrote: nothing in it has a meaning for us.
    pub fn data(text: impl Into<String>) -> Self {
        Self { text: text.into(), files: NamedFiles::None, limit: None, folder: None }
    }
}

/// Resolves a configuration.
pub type Configure<'a> = dyn Fn(&ChatOptions) -> Result<Box<dyn ChatBackend>, Failure> + 'a;

/// One resolved configuration. The binary implements it, because it alone builds concrete types.
pub trait ChatBackend: Send + Sync {
    fn workspace(&self) -> &Path;
    /// Name of the configured agent.
    fn agent(&self) -> &str;
    /// Names of all agents.
    fn agents(&self) -> Vec<String>;
    /// Names of all tools.
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
    fn rewire<'a>(&'a self, conversation: &'a mut Conversation) -> BoxFuture<'a, Result<(), Failure>>;
    /// Commands of the user, by name.
    fn commands(&self) -> BoxFuture<'_, Vec<CommandChoice>>;
    /// The prompt of a command of the user with these arguments.
    fn expand<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, Result<Prompt, Failure>>;
    /// The message of a prompt, with the files that it names.
    fn message<'a>(&'a self, prompt: &'a Prompt, model: &'a Model) -> BoxFuture<'a, Result<Message, Failure>>;
    /// Prints the tools, or one of them in full.
    fn show_tools(&self, name: Option<String>) -> Result<(), Failure>;
    /// Prints why a tool or a call is allowed or denied.
    fn explain<'a>(&'a self, tool: &'a str, arguments: Option<String>) -> BoxFuture<'a, Result<(), Failure>>;
    /// Puts the files of a call back, and prints which.
    fn undo<'a>(&'a self, log: &'a Arc<dyn CallLog>, call: &'a CallRecord) -> BoxFuture<'a, Result<(), Failure>>;
}
