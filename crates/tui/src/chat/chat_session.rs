//! The conversation at the terminal: its current settings, model and session.

use std::sync::Arc;

use haft_agent::{EndReason, TurnEnd, TurnWatcher};
use haft_contract::Access;
use haft_contract::ports::{SubAgents, WakeSource};
use haft_provider::Message;
use haft_store::SessionRecord;
use haft_text::display;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::backend::{ChatBackend, ChatOptions, CommandChoice, Configure, Prompt};
use super::completion::CompletionNames;
use super::editor::{Interruption, News};
use super::input::ChatInput;
use super::lifecycle::{adopt_chosen_model, close_conversation, open_conversation};
use super::live_input::{LiveInput, LiveResult, print_resume_command, run_with_input};
use super::session_choice::last_exchange;
use super::status::ChatStatus;
use crate::conversation::Conversation;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, note, note_columns, warn};
use crate::signals::Signals;
use crate::table::wrap;
use crate::terminal::{JsonLines, Screen, Terminal, TurnPrinter, Typed};

/// How much of the last exchange is shown when a conversation is resumed.
const SHOWN_CHARACTERS: usize = 240;

/// Shows turns: as text, or as JSON lines.
pub(super) struct TurnDisplay {
    watcher: Arc<dyn TurnWatcher>,
    printer: Option<Arc<TurnPrinter>>,
}

impl TurnDisplay {
    fn new(output: &Output) -> Self {
        if output.json {
            return Self { watcher: Arc::new(JsonLines::default()), printer: None };
        }
        let printer = Arc::new(TurnPrinter::new(output));
        Self { watcher: Arc::clone(&printer) as _, printer: Some(printer) }
    }

    /// Shows arguments and result of the last call, or of every call of the turn. JSON has them already.
    pub(super) fn details(&self, all: bool) {
        match &self.printer {
            Some(printer) if all => printer.show_all_details(),
            Some(printer) => printer.show_last_details(),
            None => {}
        }
    }
}

/// The conversation.
pub(super) struct ChatSession<'a> {
    pub(super) configure: &'a Configure<'a>,
    /// The flags, with later changes.
    pub(super) options: ChatOptions,
    pub(super) output: &'a Output,
    /// The model that the user named.
    pub(super) model: Option<String>,
    pub(super) backend: Box<dyn ChatBackend>,
    pub(super) conversation: Conversation,
    /// Commands of the user.
    pub(super) commands: Vec<CommandChoice>,
    pub(super) display: TurnDisplay,
    pub(super) last: Option<TurnEnd>,
    /// The access level of the command line, which nothing raises.
    pub(super) ceiling: Option<Access>,
    /// Answers to questions.
    pub(super) answers: mpsc::Sender<Typed>,
    /// How many commands the user has run.
    pub(super) shell_calls: u32,
}

/// Whether a turn may begin without a message of the user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum UnaskedTurns {
    Begin,
    Wait,
}

/// What a turn leaves.
pub(super) type AfterTurn = LiveResult<()>;

impl<'a> ChatSession<'a> {
    /// Begins a conversation, or resumes one in its folder and with its agent and model, unless the flags name others.
    pub(super) async fn open(
        configure: &'a Configure<'a>,
        options: ChatOptions,
        model: Option<String>,
        session: Option<&SessionRecord>,
        output: &'a Output,
        answers: mpsc::Sender<Typed>,
    ) -> Result<Self, Failure> {
        let options = match session {
            Some(session) => options.for_session(session),
            None => options,
        };
        let (backend, display, ceiling) = (configure(&options)?, TurnDisplay::new(output), options.access);
        let conversation = open_conversation(&*backend, model.as_deref(), session, Arc::clone(&display.watcher)).await?;
        let commands = backend.commands().await;
        Ok(Self {
            configure,
            options,
            output,
            model,
            backend,
            conversation,
            commands,
            display,
            last: None,
            ceiling,
            answers,
            shell_calls: 0,
        })
    }

    /// Replaces the conversation. The old one is kept if it has messages.
    pub(super) async fn replace(&mut self, session: Option<&SessionRecord>) -> Result<(), Failure> {
        let mut before = None;
        if let Some(session) = session {
            let options = ChatOptions { access: self.options.access, ..ChatOptions::default() }.for_session(session);
            let backend = (self.configure)(&options)?;
            before = Some((std::mem::replace(&mut self.options, options), std::mem::replace(&mut self.backend, backend)));
        }
        let opened = open_conversation(&*self.backend, self.model.as_deref(), session, Arc::clone(&self.display.watcher)).await;
        if let (Err(_), Some(before)) = (&opened, before) {
            (self.options, self.backend) = before;
        }
        let before = std::mem::replace(&mut self.conversation, opened?);
        self.last = None;
        self.read_commands().await;
        close_conversation(before).await
    }

    /// Reads the commands of the user again: files may be new.
    pub(super) async fn read_commands(&mut self) {
        self.commands = self.backend.commands().await;
    }

    /// Sends a message to the model, and waits for the end of the turn.
    pub(super) async fn send(
        &mut self,
        prompt: &Prompt,
        typed: &str,
        input: &mut ChatInput,
        signals: &mut Signals,
    ) -> Result<AfterTurn, Failure> {
        let message = self.backend.message(prompt, self.conversation.runner.provider.model()).await?;
        self.conversation.title_from(&prompt.text).await?;
        prompt.prepare(&self.conversation.runner.session)?;
        self.turn(message, typed, input, signals).await
    }

    /// Resolves when a sub-agent in the background asks or tells something; or, where a turn may begin on it, when one has ended, or a
    /// message came that the user did not write.
    pub(super) fn news(&self, turns: UnaskedTurns) -> News {
        let (agents, steering) = (Arc::clone(&self.conversation.agents), self.conversation.runner.steering.clone());
        let (question, note) = (Terminal::standard().question_waits(), Screen::standard().note_is_held());
        let may_begin = turns == UnaskedTurns::Begin;
        Box::pin(async move {
            tokio::select! {
                () = question => Interruption::Question,
                () = note => Interruption::Note,
                _ = agents.unreported_end(), if may_begin => Interruption::News,
                _ = steering.wake(""), if may_begin => Interruption::News,
            }
        })
    }

    /// Gives the keyboard to questions of sub-agents in the background until they are answered. What stops a turn denies them.
    pub(super) async fn answer_questions(&self, typed: &str, input: &mut ChatInput, signals: &mut Signals) -> AfterTurn {
        let cancel = CancellationToken::new();
        let (steering, details) = (self.conversation.runner.steering.clone(), &|all| self.display.details(all));
        let (answers, session) = (&self.answers, self.conversation.record.id.as_str());
        let live = LiveInput { input, signals, answers, session, steering, typed, cancel: cancel.clone(), details };
        let answered = async {
            tokio::select! {
                () = Terminal::standard().questions_end() => {}
                () = cancel.cancelled() => {
                    // Fails only if the question is gone.
                    answers.try_send(Typed::denial()).ok();
                    Terminal::standard().questions_end().await;
                }
            }
        };
        run_with_input(answered, live).await
    }

    /// A turn on what sub-agents answered and sent meanwhile.
    pub(super) async fn tell_news(&mut self, typed: &str, input: &mut ChatInput, signals: &mut Signals) -> Result<AfterTurn, Failure> {
        let message = self.conversation.runner.waiting_messages();
        self.turn(message, typed, input, signals).await
    }

    async fn turn(&mut self, message: Message, typed: &str, input: &mut ChatInput, signals: &mut Signals) -> Result<AfterTurn, Failure> {
        if let Some(model) = adopt_chosen_model(&mut self.conversation, &*self.backend).await? {
            dim(&format!("{model} answers from now on: the conversation asked for it"));
        }
        let cancel = CancellationToken::new();
        let Conversation { runner, record, log, .. } = &mut self.conversation;
        let (steering, details) = (runner.steering.clone(), &|all| self.display.details(all));
        let (answers, session) = (&self.answers, record.id.as_str());
        let live = LiveInput { input, signals, answers, session, steering, typed, cancel: cancel.clone(), details };
        let turn = async {
            let end = runner.turn(message, &cancel).await;
            log.flush().await.map(|()| end)
        };
        let LiveResult { done, mut typed, mut later, stopped } = run_with_input(turn, live).await;
        let done = done?;
        if done.reason != EndReason::Done {
            // Messages queued for after a successful turn go back into the input line.
            let unsent = std::mem::take(&mut later).into_iter().chain(Some(typed)).filter(|text| !text.is_empty());
            typed = unsent.collect::<Vec<_>>().join("\n");
        }
        self.last = Some(done);
        Ok(AfterTurn { done: (), typed, later, stopped })
    }

    /// Lets the model summarize the conversation.
    pub(super) async fn compact(&mut self, typed: &str, input: &mut ChatInput, signals: &mut Signals) -> Result<AfterTurn, Failure> {
        let cancel = CancellationToken::new();
        let Conversation { runner, record, .. } = &mut self.conversation;
        let (steering, details) = (runner.steering.clone(), &|all| self.display.details(all));
        let (answers, session) = (&self.answers, record.id.as_str());
        let live = LiveInput { input, signals, answers, session, steering, typed, cancel: cancel.clone(), details };
        let LiveResult { done, typed, later, stopped } = run_with_input(runner.compact(&cancel), live).await;
        match done {
            Ok(true) => note("the conversation is summarized; every message is kept in the session"),
            Ok(false) => note("there is nothing to summarize"),
            Err(why) => warn(&format!("the conversation was not summarized: {why}")),
        }
        Ok(AfterTurn { done: (), typed, later, stopped })
    }

    /// `provider/model`.
    pub(super) fn model_name(&self) -> String {
        let model = self.conversation.runner.provider.model();
        format!("{}/{}", model.provider, model.name)
    }

    pub(super) async fn status(&self) -> Result<ChatStatus, Failure> {
        let Conversation { runner, record, sessions, .. } = &self.conversation;
        Ok(ChatStatus {
            model: self.model_name(),
            context: runner.context() as u64,
            window: runner.provider.model().context_window,
            used: sessions.session_usage(&record.id).await?,
            access: runner.session.access().as_str(),
        })
    }

    pub(super) fn names(&self) -> CompletionNames {
        let (tools, agents) = (self.backend.tools(), self.backend.agents());
        CompletionNames { workspace: self.backend.workspace().to_owned(), tools, agents, commands: self.commands.clone() }
    }

    /// Prints the model, and the last exchange of a resumed conversation.
    pub(super) fn introduce(&self) {
        let model = if self.conversation.runner.provider.model().provider == "demo" {
            "the demo model (a few rules, no network)".to_owned()
        } else {
            self.model_name()
        };
        dim(&format!("{model} answers; /model changes that, /help lists the commands"));
        let Conversation { runner, record, .. } = &self.conversation;
        let exchange = last_exchange(&runner.messages);
        if !exchange.is_empty() {
            dim(&format!("session {} resumed", record.id));
        }
        for (role, text) in exchange {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            dim(&format!("{role}: {}", display::shorten(&text, SHOWN_CHARACTERS)));
        }
    }

    /// Ends the conversation, and prints how to resume it.
    pub(super) async fn leave(self) -> Result<(), Failure> {
        self.conversation.log.flush().await?;
        let has_messages = !self.conversation.runner.messages.is_empty();
        let id = self.conversation.record.id.clone();
        close_conversation(self.conversation).await?;
        if has_messages {
            print_resume_command(&id);
        }
        Ok(())
    }

    /// Whether the last turn ended well.
    pub(super) fn went_well(&self) -> bool {
        self.last.as_ref().is_none_or(|end| matches!(end.reason, EndReason::Done | EndReason::MaxTokens))
    }
}

/// Prints a remark.
pub(super) fn dim(text: &str) {
    for line in wrap(text, note_columns().unwrap_or(usize::MAX)) {
        note(&format!("{DIM}{line}{DIM:#}"));
    }
}

/// Whether a signal ends the conversation: Ctrl-C at a terminal stops only the turn.
pub(super) fn ends_chat(stopped: Option<Exit>, input: &ChatInput) -> Option<Exit> {
    stopped.filter(|exit| *exit != Exit::Interrupted || !input.is_attended())
}
