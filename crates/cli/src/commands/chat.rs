//! `haft chat`: a conversation in the terminal, turn by turn, which can be gone on with at any time.

mod act;
mod attended;
pub(super) mod back;
mod begin;
mod completion;
mod cost;
mod editor;
mod footer;
mod input;
mod keys;
mod lines;
mod mention;
mod opening;
mod queue;
mod recall;
mod slash;
mod status;
mod talk;
mod typing;

use std::collections::VecDeque;

use haft_contract::visible;
use tokio::sync::mpsc;

use self::act::Next;
use self::begin::Wanted;
use self::editor::Read;
use self::input::Input;
use self::talk::{After, Talk, dim, ends};
use crate::arguments::{Chat, Common};
use crate::commands::block_on;
use crate::commands::interrupt::listen;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};
use crate::signals::Signals;
use crate::terminal::Terminal;
use crate::wire;

/// How many answers wait for a question.
const WAITING: usize = 4;

pub(crate) fn run(common: &Common, request: &Chat, output: &Output) -> Result<Exit, Failure> {
    block_on(async {
        let workspace = wire::workspace(common)?;
        let data_folder = wire::data_folder()?;
        let sessions = wire::stores(&data_folder)?.sessions;
        let mut input = Input::open(&data_folder);
        let session = match begin::wanted(request, &workspace, &sessions, &mut input, output).await? {
            Wanted::New => None,
            Wanted::Session(session) => Some(session),
            Wanted::Nothing(exit) => return Ok(exit),
        };
        let (answers, lines) = mpsc::channel(WAITING);
        Terminal::standard().answered_by(lines).await;
        let talk = Talk::open(common, request.model.clone(), session.as_deref(), output, answers).await?;
        let mut chatting = Chatting {
            talk,
            signals: listen()?,
            waiting: VecDeque::from_iter(request.prompt.clone()),
            typed: String::new(),
            failed: false,
        };
        chatting.begin(&mut input);
        let ended = chatting.go_on(&mut input).await;
        let Chatting { talk, failed, .. } = chatting;
        talk.leave().await?;
        // A script must learn that something went wrong; a person has seen it.
        let failed = failed && !input.is_attended();
        ended.map(|exit| if failed && exit == Exit::Success { Exit::Failed } else { exit })
    })
}

/// A conversation, and what is to be said in it next.
struct Chatting<'a> {
    talk: Talk<'a>,
    signals: Signals,
    /// Said already, and not sent.
    waiting: VecDeque<String>,
    /// Typed, and not said.
    typed: String,
    /// Whether anything went wrong.
    failed: bool,
}

impl Chatting<'_> {
    fn begin(&mut self, input: &mut Input) {
        input.knows(self.talk.names());
        if input.is_attended() {
            self.talk.introduce();
        }
    }

    /// Line by line, until the person or a signal ends it.
    async fn go_on(&mut self, input: &mut Input) -> Result<Exit, Failure> {
        let mut looked = false;
        loop {
            let line = match self.next(input).await? {
                Read::Said(line) => line,
                Read::End => return Ok(Exit::Success),
                Read::Stopped(exit) => return Ok(exit),
                Read::Details => {
                    self.talk.seen.details(looked);
                    looked = !looked;
                    continue;
                }
            };
            looked = false;
            match self.heard(&line, input).await {
                Ok(None) => {}
                Ok(Some(exit)) => return Ok(exit),
                // One thing that did not work is no reason to end all of it.
                Err(failure) => {
                    self.talk.output.failure(&failure);
                    self.failed = true;
                }
            }
        }
    }

    /// What waits to be said, or else what the person says now.
    async fn next(&mut self, input: &mut Input) -> Result<Read, Failure> {
        if let Some(line) = self.waiting.pop_front() {
            if input.is_attended() {
                dim(&format!("> {}", visible::lines(&line)));
            }
            return Ok(Read::Said(line));
        }
        if matches!(input, Input::Editor(_)) {
            dim(&self.talk.status().await?.with_symbols());
        }
        let typed = std::mem::take(&mut self.typed);
        input.read(&typed, &mut self.signals).await
    }

    /// Does what a line asks for; the way to end, if it ends.
    async fn heard(&mut self, line: &str, input: &mut Input) -> Result<Option<Exit>, Failure> {
        let after = match slash::read(line)? {
            slash::Line::Nothing => return Ok(None),
            slash::Line::Words(text) => self.said(&text, input).await?,
            slash::Line::Command(command) => match self.talk.act(command, &self.typed, input, &mut self.signals).await? {
                Next::Prompt => return Ok(None),
                Next::After(after) => after,
                Next::Leave => return Ok(Some(Exit::Success)),
            },
        };
        let exit = ends(after.stopped, input);
        match input {
            Input::Editor(_) => self.typed = after.typed,
            // It cannot be typed again for them.
            Input::Lines(_) if after.typed.is_empty() => {}
            Input::Lines(_) => note(&format!("not sent: {}", visible::line(&after.typed))),
        }
        self.waiting.extend(after.later);
        Ok(exit)
    }

    async fn said(&mut self, text: &str, input: &mut Input) -> Result<After, Failure> {
        let after = self.talk.say(text, &self.typed, input, &mut self.signals).await?;
        self.failed |= !self.talk.went_well();
        if input.is_plain() {
            dim(&self.talk.status().await?.in_words());
        }
        Ok(after)
    }
}
