//! `haft chat`: a conversation in the terminal, which `haft-tui` holds. Here is what it needs of this program.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use haft_agent::{Provider, TurnWatcher};
use haft_contract::{Access, Arguments, BoxFuture};
use haft_policy::SourceSpan;
use haft_provider::{Message, Model};
use haft_store::{CallLog, CallRecord};
use haft_tui::chat::{self, ChatBackend, ChatContext, ChatOptions, ChatRequest, CommandChoice, ModelChoice, Prompt};
use haft_tui::conversation::Conversation;

use crate::arguments::{CallerArgs, ChatArgs, Common, ToolsArgs};
use crate::attachments;
use crate::commands::{block_on, explain, tools, undo};
use crate::conversation::{self, ConversationStart};
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::user_commands;
use crate::wire::models;
use crate::wire::{self, MemoryFollower, UserPrompts, Wire};

pub(crate) fn run(common: &Common, request: &ChatArgs, output: &Output) -> Result<Exit, Failure> {
    let (workspace, data_folder) = (wire::workspace(common)?, wire::data_folder()?);
    let configure = |options: &ChatOptions| {
        let wire = Wire::new(&common.with(options)?, output)?;
        Ok(Box::new(Backend::new(Arc::new(wire), output)) as Box<dyn ChatBackend>)
    };
    let request = ChatRequest {
        prompt: request.prompt.clone(),
        model: request.model.clone(),
        continued: request.continued,
        resume: request.resume.clone(),
        options: common.chat_options(),
    };
    block_on(async {
        let sessions = wire::store(&data_folder)?.sessions();
        let place = ChatContext { workspace: &workspace, data_folder: &data_folder, sessions, configure: &configure };
        chat::run(request, place, output).await
    })
}

/// What a conversation needs of this program, with one configuration.
pub(crate) struct Backend {
    wire: Arc<Wire>,
    output: Output,
    /// Whether problems of command files were printed.
    has_warned: AtomicBool,
    _follower: Option<MemoryFollower>,
}

impl Backend {
    pub(crate) fn new(wire: Arc<Wire>, output: &Output) -> Self {
        let follower = wire.follow_memory();
        Self { wire, output: output.clone(), has_warned: AtomicBool::new(false), _follower: follower }
    }
}

impl ChatBackend for Backend {
    fn workspace(&self) -> &Path {
        &self.wire.settings.workspace
    }

    fn agent(&self) -> &str {
        &self.wire.settings.agent
    }

    fn agents(&self) -> Vec<String> {
        self.wire.agents()
    }

    fn tools(&self) -> Vec<String> {
        self.wire.registry.names()
    }

    fn access(&self) -> Result<(Access, SourceSpan), Failure> {
        let session = self.wire.listing(&self.wire.settings.agent, &CallerArgs::default())?;
        Ok((session.access(), session.caller().access_span.clone()))
    }

    fn models(&self) -> BoxFuture<'_, Vec<ModelChoice>> {
        Box::pin(async {
            let listed = models::list(&self.wire.settings, false).await.into_iter();
            let choice = |listed: models::ListedModel| {
                let context_window = listed.remote.map(|(_, model)| model.context_window);
                ModelChoice { name: listed.name, context_window, price: listed.price }
            };
            listed.map(choice).collect()
        })
    }

    fn provider<'a>(&'a self, name: Option<&'a str>) -> BoxFuture<'a, Result<Arc<dyn Provider>, Failure>> {
        Box::pin(models::provider(&self.wire.settings, name))
    }

    fn open<'a>(
        &'a self,
        session: Option<&'a str>,
        model: Option<&'a str>,
        watcher: Arc<dyn TurnWatcher>,
    ) -> BoxFuture<'a, Result<Conversation, Failure>> {
        let start =
            ConversationStart { session, model, prompts: UserPrompts::Allowed, max_rounds: None, waits_for_agents: false, output: None };
        Box::pin(conversation::open(&self.wire, start, watcher))
    }

    fn rewire<'a>(&'a self, conversation: &'a mut Conversation) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(conversation::rewire(&self.wire, conversation))
    }

    fn commands(&self) -> BoxFuture<'_, Vec<CommandChoice>> {
        Box::pin(async {
            let Ok(commands) = user_commands::all(&self.wire).await else { return Vec::new() };
            if !self.has_warned.swap(true, Ordering::Relaxed) {
                user_commands::warn_of_problems(&commands);
            }
            user_commands::choices(&commands)
        })
    }

    fn expand<'a>(&'a self, name: &'a str, arguments: &'a str) -> BoxFuture<'a, Result<Prompt, Failure>> {
        Box::pin(user_commands::expand(&self.wire, name, arguments))
    }

    fn message<'a>(&'a self, prompt: &'a Prompt, model: &'a Model) -> BoxFuture<'a, Result<Message, Failure>> {
        Box::pin(async move {
            let message = attachments::message(&self.wire, prompt, &[]).await?;
            attachments::check_pictures(&message, model)?;
            Ok(message)
        })
    }

    fn show_tools(&self, name: Option<String>) -> Result<(), Failure> {
        tools::show(&self.wire, &ToolsArgs { name, all: false, cost: false, who: CallerArgs::default() }, &self.output)
    }

    fn explain<'a>(&'a self, tool: &'a str, arguments: Option<String>) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move {
            explain::one(&self.wire, tool, arguments.map(Arguments::Text), &CallerArgs::default(), explain::Lookups::Never, &self.output)
                .await
                .map(drop)
        })
    }

    fn undo<'a>(&'a self, log: &'a Arc<dyn CallLog>, call: &'a CallRecord) -> BoxFuture<'a, Result<(), Failure>> {
        Box::pin(async move { undo::show(&undo::undo_call(&self.wire, log, call, false).await??, &self.output) })
    }
}
