//! `haft chat`: a conversation in the terminal, turn by turn, which can be resumed at any time.

mod backend;
mod changes;
mod chat_session;
mod commands;
mod completion;
mod context_use;
mod cost;
mod editor;
mod footer;
mod input;
mod input_buffer;
mod input_history;
mod jobs;
mod jump;
mod lifecycle;
mod line_reader;
mod live_input;
mod mention;
mod message_queue;
mod picker;
#[cfg(test)]
mod screens;
mod session_choice;
mod shell_line;
mod slash;
mod status;

use std::collections::VecDeque;
use std::path::Path;
use std::sync::Arc;

use haft_store::SessionStore;
use haft_text::display;
use tokio::sync::mpsc;

pub use self::backend::{ChatBackend, ChatOptions, CommandChoice, Configure, ModelChoice, NamedFiles, Prompt};
use self::chat_session::{AfterTurn, ChatSession, UnaskedTurns, dim, ends_chat};
use self::commands::AfterCommand;
use self::editor::{InputEvent, Interruption};
use self::input::ChatInput;
pub use self::lifecycle::{adopt_chosen_model, close_conversation, open_conversation, page_prompt};
pub use self::mention::matching_files;
use self::session_choice::{SessionChoice, choose_session};
use self::slash::ChatLine;
use crate::failure::{Exit, Failure};
use crate::interrupt::listen;
use crate::output::{Output, note};
use crate::signals::Signals;
use crate::terminal::Terminal;

/// How many turns in a row begin without a message of the user: sub-agents whose answers start others must not continue for ever.
const MOST_UNASKED: u32 = 8;
/// How many key presses wait for a question.
const WAITING: usize = 256;

/// What `haft chat` was asked for.
#[derive(Debug, Clone, Default)]
pub struct ChatRequest {
    /// The first message.
    pub prompt: Option<String>,
    /// The model, as `provider/model`.
    pub model: Option<String>,
    /// Resume the last session of the workspace.
    pub continued: bool,
    /// Resume a session by id or text; empty asks which one.
    pub resume: Option<String>,
    pub options: ChatOptions,
}

/// What a conversation starts with.
pub struct ChatContext<'a> {
    pub workspace: &'a Path,
    pub data_folder: &'a Path,
    pub sessions: Arc<dyn SessionStore>,
    pub configure: &'a Configure<'a>,
}

haft_contract::opaque_debug!(ChatContext<'_>: workspace = workspace);

/// Names of the commands of a conversation, which no command of the user takes over.
pub fn command_names() -> Vec<&'static str> {
    slash::COMMANDS.iter().map(|known| known.name).collect()
}

/// Holds a conversation until the user ends it.
pub async fn run(request: ChatRequest, context: ChatContext<'_>, output: &Output) -> Result<Exit, Failure> {
    let mut input = ChatInput::open(context.data_folder);
    let session = match choose_session(&request, context.workspace, &context.sessions, &mut input, output).await? {
        SessionChoice::New => None,
        SessionChoice::Session(session) => Some(session),
        SessionChoice::None(exit) => return Ok(exit),
    };
    let (answers, lines) = mpsc::channel(WAITING);
    Terminal::standard().answered_by(lines).await;
    let chat = ChatSession::open(context.configure, request.options, request.model, session.as_deref(), output, answers).await?;
    let queued = VecDeque::from_iter(request.prompt);
    let mut chat_loop = ChatLoop { chat, signals: listen()?, queued, typed: String::new(), unasked: 0, failed: false };
    input.complete_names(chat_loop.chat.names());
    if input.is_attended() {
        chat_loop.chat.introduce();
    }
    let ended = chat_loop.run(&mut input).await;
    let ChatLoop { chat, failed, .. } = chat_loop;
    chat.leave().await?;
    // A script must learn that something failed; a user has seen it.
    let failed = failed && !input.is_attended();
    ended.map(|exit| if failed && exit == Exit::Success { Exit::Failed } else { exit })
}

struct ChatLoop<'a> {
    chat: ChatSession<'a>,
    signals: Signals,
    /// Messages to send next.
    queued: VecDeque<String>,
    /// Typed and not sent.
    typed: String,
    /// Turns since the last message of the user.
    unasked: u32,
    failed: bool,
}

impl ChatLoop<'_> {
    /// Reads and answers messages until the user or a signal ends the conversation.
    async fn run(&mut self, input: &mut ChatInput) -> Result<Exit, Failure> {
        let mut details_shown = false;
        loop {
            let event = self.next(input).await?;
            self.unasked = match event {
                InputEvent::Interrupted(Interruption::News, _) => self.unasked + 1,
                InputEvent::Interrupted(..) => self.unasked,
                _ => 0,
            };
            let handled = match event {
                InputEvent::Message(line) => self.handle(&line, input).await,
                InputEvent::Interrupted(by, typed) => self.interrupt(by, typed, input).await,
                InputEvent::End => return Ok(Exit::Success),
                InputEvent::Stopped(exit) => return Ok(exit),
                InputEvent::Details => {
                    self.chat.display.details(details_shown);
                    details_shown = !details_shown;
                    continue;
                }
            };
            details_shown = false;
            match handled {
                Ok(None) => {}
                Ok(Some(exit)) => return Ok(exit),
                // One failure does not end the conversation.
                Err(failure) => {
                    self.chat.output.failure(&failure);
                    self.failed = true;
                }
            }
        }
    }

    /// The next queued message, or what the user types.
    async fn next(&mut self, input: &mut ChatInput) -> Result<InputEvent, Failure> {
        if let Some(line) = self.queued.pop_front() {
            if input.is_attended() {
                dim(&format!("> {}", display::escape_lines(&line)));
            }
            return Ok(InputEvent::Message(line));
        }
        if matches!(input, ChatInput::Editor(_)) {
            dim(&self.chat.status().await?.with_symbols());
        }
        let typed = std::mem::take(&mut self.typed);
        let turns = if self.unasked < MOST_UNASKED { UnaskedTurns::Begin } else { UnaskedTurns::Wait };
        let mut news = self.chat.news(turns);
        input.read(&typed, &mut self.signals, &mut news, &self.chat.job_lines()).await
    }

    /// Sends a message or runs a command; returns the exit if that ends the conversation.
    async fn handle(&mut self, line: &str, input: &mut ChatInput) -> Result<Option<Exit>, Failure> {
        if line.trim_start().starts_with('/') {
            self.chat.read_commands().await;
        }
        let after = match slash::parse(line, &self.chat.commands)? {
            ChatLine::Empty => return Ok(None),
            ChatLine::Message(text) => self.send(&Prompt::typed(text), input).await?,
            ChatLine::Shell(command) => self.chat.run_shell(&command, &self.typed, input, &mut self.signals).await?,
            ChatLine::Command(command) => match self.chat.run_command(command, &self.typed, input, &mut self.signals).await? {
                AfterCommand::Prompt => return Ok(None),
                AfterCommand::After(after) => after,
                AfterCommand::Leave => return Ok(Some(Exit::Success)),
            },
        };
        Ok(self.settle(after, input))
    }

    /// Does what interrupted the user, and keeps what they were typing.
    async fn interrupt(&mut self, by: Interruption, typed: String, input: &mut ChatInput) -> Result<Option<Exit>, Failure> {
        self.typed = typed;
        match by {
            Interruption::News => self.tell_news(input).await,
            Interruption::Question => {
                let after = self.chat.answer_questions(&self.typed, input, &mut self.signals).await;
                Ok(self.settle(after, input))
            }
            // It stands above the prompt now.
            Interruption::Note => Ok(None),
        }
    }

    /// Begins a turn on what sub-agents answered.
    async fn tell_news(&mut self, input: &mut ChatInput) -> Result<Option<Exit>, Failure> {
        if self.unasked == MOST_UNASKED {
            note("further sub-agents that end are reported with your next message");
        }
        let after = self.chat.tell_news(&self.typed, input, &mut self.signals).await?;
        self.failed |= !self.chat.went_well();
        Ok(self.settle(after, input))
    }

    /// Keeps what a turn left; returns the exit if it ends the conversation.
    fn settle(&mut self, after: AfterTurn, input: &ChatInput) -> Option<Exit> {
        let exit = ends_chat(after.stopped, input);
        match input {
            ChatInput::Editor(_) => self.typed = after.typed,
            ChatInput::Lines(_) if after.typed.is_empty() => {}
            ChatInput::Lines(_) => note(&format!("not sent: {}", display::escape_line(&after.typed))),
        }
        self.queued.extend(after.later);
        exit
    }

    async fn send(&mut self, prompt: &Prompt, input: &mut ChatInput) -> Result<AfterTurn, Failure> {
        let after = self.chat.send(prompt, &self.typed, input, &mut self.signals).await?;
        self.failed |= !self.chat.went_well();
        if input.is_plain() {
            dim(&self.chat.status().await?.in_words());
        }
        Ok(after)
    }
}
