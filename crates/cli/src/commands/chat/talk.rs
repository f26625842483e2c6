//! One conversation at the terminal: its settings as they are now, its model, its session.

use std::sync::Arc;

use haft_agent::{EndReason, TurnEnd, Watcher};
use haft_contract::{Access, visible};
use haft_provider::Message;
use haft_store::SessionRecord;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::attended::{Attended, Desk, attended, way_back};
use super::begin::last_exchange;
use super::completion::Names;
use super::input::Input;
use super::mention;
use super::opening::{of_session, opened, put_away};
use super::status::Status;
use crate::arguments::Common;
use crate::conversation::Conversation;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, note, note_columns, warn};
use crate::signals::Signals;
use crate::table::wrapped;
use crate::terminal::{JsonLines, TurnOnTerminal};
use crate::wire::{MAIN, Wire};

/// How much of the last exchange is shown when a conversation goes on.
const SHOWN_CHARACTERS: usize = 240;

/// Who sees what happens.
pub(super) enum Seen {
    Person(Arc<TurnOnTerminal>),
    Program(Arc<JsonLines>),
}

impl Seen {
    pub(super) fn new(output: &Output) -> Self {
        if output.json { Self::Program(Arc::new(JsonLines::new())) } else { Self::Person(Arc::new(TurnOnTerminal::new(output))) }
    }

    fn watcher(&self) -> Arc<dyn Watcher> {
        match self {
            Self::Person(person) => Arc::clone(person) as _,
            Self::Program(program) => Arc::clone(program) as _,
        }
    }

    /// Shows what the last call got and gave, or every call of the turn. A program has seen it.
    pub(super) fn details(&self, all: bool) {
        match self {
            Self::Person(person) if all => person.show_all_details(),
            Self::Person(person) => person.show_last_details(),
            Self::Program(_) => {}
        }
    }
}

/// The conversation.
pub(super) struct Talk<'a> {
    /// The command line, with what was changed since.
    pub(super) common: Common,
    pub(super) output: &'a Output,
    /// The model that the person named.
    pub(super) model: Option<String>,
    pub(super) wire: Wire,
    pub(super) conversation: Conversation,
    pub(super) seen: Seen,
    pub(super) last: Option<TurnEnd>,
    /// The level that the command line names: no more than that.
    pub(super) ceiling: Option<Access>,
    /// Where answers to questions go.
    pub(super) answers: mpsc::Sender<String>,
}

/// What a turn leaves.
pub(super) type After = Attended<()>;

impl<'a> Talk<'a> {
    /// Begins a conversation, or goes on with one: in its folder and with its agent and model, unless others are named.
    pub(super) async fn open(
        common: &Common,
        model: Option<String>,
        session: Option<&SessionRecord>,
        output: &'a Output,
        answers: mpsc::Sender<String>,
    ) -> Result<Self, Failure> {
        let common = session.map_or_else(|| Ok(common.clone()), |session| of_session(common, session))?;
        let (wire, seen, ceiling) = (Wire::new(&common, output)?, Seen::new(output), common.access);
        let conversation = opened(&wire, model.as_deref(), session, seen.watcher()).await?;
        Ok(Self { common, output, model, wire, conversation, seen, last: None, ceiling, answers })
    }

    /// Goes on with another conversation in place of this one, which is kept if anything was said in it.
    pub(super) async fn replace(&mut self, session: Option<&SessionRecord>) -> Result<(), Failure> {
        let mut before = None;
        if let Some(session) = session {
            let common = of_session(&Common { workspace: None, agent: None, ..self.common.clone() }, session)?;
            before = Some((self.common.clone(), std::mem::replace(&mut self.wire, Wire::new(&common, self.output)?)));
            self.common = common;
        }
        let opened = opened(&self.wire, self.model.as_deref(), session, self.seen.watcher()).await;
        if let (Err(_), Some(before)) = (&opened, before) {
            // Nothing was replaced, so nothing has changed.
            (self.common, self.wire) = before;
        }
        let before = std::mem::replace(&mut self.conversation, opened?);
        self.last = None;
        put_away(before).await
    }

    /// Says something to the model, and waits for what comes of it. What was typed beside it stays.
    pub(super) async fn say(&mut self, text: &str, typed: &str, input: &mut Input, signals: &mut Signals) -> Result<After, Failure> {
        let message = Message::user(mention::named(text, &self.wire.settings.workspace));
        self.conversation.name_after(text).await?;
        let cancel = CancellationToken::new();
        let Conversation { runner, record, log, .. } = &mut self.conversation;
        let (answers, steering, seen) = (&self.answers, runner.steering.clone(), &self.seen);
        let (session, details) = (record.id.as_str(), &|all| seen.details(all));
        let desk = Desk { input, signals, answers, session, steering, typed, cancel: cancel.clone(), details };
        let turn = async {
            let end = runner.turn(message, &cancel).await;
            log.flush().await.map(|()| end)
        };
        let Attended { done, mut typed, mut later, stopped } = attended(turn, desk).await;
        let done = done?;
        if done.reason != EndReason::Done {
            // What was to be said after a turn that goes well is not said after one that did not.
            let unsaid = std::mem::take(&mut later).into_iter().chain(Some(typed)).filter(|text| !text.is_empty());
            typed = unsaid.collect::<Vec<_>>().join("\n");
        }
        self.last = Some(done);
        Ok(After { done: (), typed, later, stopped })
    }

    /// Lets the model sum the conversation up.
    pub(super) async fn compact(&mut self, typed: &str, input: &mut Input, signals: &mut Signals) -> Result<After, Failure> {
        let cancel = CancellationToken::new();
        let Conversation { runner, record, .. } = &mut self.conversation;
        let (answers, steering, seen) = (&self.answers, runner.steering.clone(), &self.seen);
        let (session, details) = (record.id.as_str(), &|all| seen.details(all));
        let desk = Desk { input, signals, answers, session, steering, typed, cancel: cancel.clone(), details };
        let Attended { done, typed, later, stopped } = attended(runner.compact(&cancel), desk).await;
        match done {
            Ok(true) => note("the conversation is summed up; everything that was said is kept"),
            Ok(false) => note("there is nothing to sum up"),
            Err(why) => warn(&format!("the conversation was not summed up: {why}")),
        }
        Ok(After { done: (), typed, later, stopped })
    }

    /// `provider/model`.
    pub(super) fn model_name(&self) -> String {
        let model = self.conversation.runner.provider.model();
        format!("{}/{}", model.provider, model.name)
    }

    /// Where it stands.
    pub(super) async fn status(&self) -> Result<Status, Failure> {
        let Conversation { runner, record, sessions, .. } = &self.conversation;
        Ok(Status {
            model: self.model_name(),
            context: runner.context() as u64,
            window: runner.provider.model().context_window,
            used: sessions.session_usage(&record.id).await?,
            access: runner.session.access().as_str(),
        })
    }

    /// What can be named in it.
    pub(super) fn names(&self) -> Names {
        let agents = self.wire.settings.provenance.names_beneath(&["agents"]);
        let agents = std::iter::once(MAIN.to_owned()).chain(agents.into_iter().filter(|name| name != MAIN));
        Names { workspace: self.wire.settings.workspace.clone(), tools: self.wire.registry.names(), agents: agents.collect() }
    }

    /// Who answers and how to change that; for a conversation that goes on, also what was said last.
    pub(super) fn introduce(&self) {
        let who = if self.conversation.runner.provider.model().provider == "demo" {
            "the demo model (a few rules, no network)".to_owned()
        } else {
            self.model_name()
        };
        dim(&format!("{who} answers; /model changes that, /help lists the commands"));
        let Conversation { runner, record, .. } = &self.conversation;
        let exchange = last_exchange(&runner.messages);
        if !exchange.is_empty() {
            dim(&format!("session {} goes on", record.id));
        }
        for (who, text) in exchange {
            let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
            dim(&format!("{who}: {}", visible::shorten(&text, SHOWN_CHARACTERS)));
        }
    }

    /// Ends it, and says how to go on.
    pub(super) async fn leave(self) -> Result<(), Failure> {
        self.conversation.log.flush().await?;
        let said = !self.conversation.runner.messages.is_empty();
        let id = self.conversation.record.id.clone();
        put_away(self.conversation).await?;
        if said {
            way_back(&id);
        }
        Ok(())
    }

    /// Whether the last turn ended well.
    pub(super) fn went_well(&self) -> bool {
        self.last.as_ref().is_none_or(|end| matches!(end.reason, EndReason::Done | EndReason::MaxTokens))
    }
}

/// Something beside the conversation.
pub(super) fn dim(text: &str) {
    for line in wrapped(text, note_columns().unwrap_or(usize::MAX)) {
        note(&format!("{DIM}{line}{DIM:#}"));
    }
}

/// What a signal means for the conversation: Ctrl-C stops a turn, all others end everything.
pub(super) fn ends(stopped: Option<Exit>, input: &Input) -> Option<Exit> {
    stopped.filter(|exit| *exit != Exit::Interrupted || !input.is_attended())
}
