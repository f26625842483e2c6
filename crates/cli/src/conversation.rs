//! A conversation with a model, as `run` and `chat` hold it: the session in the store, the model, the tools, the budget.

use std::sync::Arc;
use std::time::SystemTime;

use haft_agent::{Budget, Closed, Micros, Provider, Purse, Runner, StoredMeter, StoredSession, Watcher};
use haft_config::BudgetThen;
use haft_contract::JobScope;
use haft_provider::Role;
use haft_store::{CallLog, NewSession, SessionRecord, SessionStore};

use crate::commands::history::local_time;
use crate::failure::Failure;
use crate::output::{note, warn};
use crate::wire::models::{self, Chosen};
use crate::wire::{self, Asking, Following, Going, Stores, Wire};

/// What stands before every conversation.
const SYSTEM: &str = "You are an assistant with tools on the person's own machine. Use them when they help, several at once where they do \
                      not depend on each other. A refusal of a tool says why and what to do instead: do not repeat the same call.";
/// How much of the first thing that is said is a session's title.
const TITLE_CHARACTERS: usize = 60;
/// How a day is named.
const DAY: &str = "%Y-%m-%d";

/// What a conversation begins with.
pub(crate) struct Beginning<'a> {
    /// The session to go on with; `None` begins one.
    pub(crate) session: Option<&'a str>,
    /// The model that the command line names.
    pub(crate) model: Option<&'a str>,
    /// Whether the person may be asked about calls and money.
    pub(crate) asking: Asking,
}

/// One conversation.
pub(crate) struct Conversation {
    pub(crate) runner: Runner,
    pub(crate) record: SessionRecord,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) log: Arc<dyn CallLog>,
    /// Why it is this model that answers.
    pub(crate) reason: String,
    /// The commands that go on, whatever the settings.
    following: Following,
    asking: Asking,
}

impl Conversation {
    /// Opens it. What had to be repaired is told.
    pub(crate) async fn open(wire: &Wire, beginning: Beginning<'_>, watcher: Arc<dyn Watcher>) -> Result<Self, Failure> {
        let Chosen { provider, reason } = models::chosen(&wire.settings, beginning.model).await?;
        let opened = wire::stores(&wire.settings.data_folder)?;
        let following = wire.following(&opened);
        let Stores { log, sessions, .. } = opened;
        let record = match beginning.session {
            Some(id) => sessions.open(id).await?,
            None => sessions.create(NewSession::new(wire.settings.agent.as_str(), &wire.settings.workspace)).await?,
        };
        let (stored, resumed) = StoredSession::open(Arc::clone(&sessions), &*log, record.clone()).await?;
        for flaw in &resumed.flaws {
            note(&format!("the session was broken off: {}", flaw.sentence));
        }
        let wired =
            wire.conversing(Arc::clone(&log), following.clone(), beginning.asking, Going::New(&record.id), provider.model(), &watcher)?;
        let adopted = wired.session.host().processes().adopt(&record.id, JobScope::Session(record.id.clone())).await;
        adopted.unwrap_or_else(|error| warn(error.message()));
        let turns = resumed.messages.iter().filter(|message| message.role == Role::User).count() as u64;
        let meter = meter(wire, Arc::clone(&sessions), &record.id, turns, beginning.asking);
        let mut runner = Runner::new(wired.engine, wired.session, provider, Arc::new(stored));
        runner.watcher = watcher;
        runner.meter = Arc::new(meter);
        wire.prompt().unwrap_or(SYSTEM).clone_into(&mut runner.system);
        runner.compact_percent = u64::from(wire.settings.config.context.compact_percent);
        runner.messages = resumed.messages;
        runner.revealed = wire::open_shelves(&runner);
        Ok(Self { runner, record, sessions, log, following, reason, asking: beginning.asking })
    }

    /// Gives the session a title, unless it has one: the first thing that is said.
    pub(crate) async fn name_after(&mut self, said: &str) -> Result<(), Failure> {
        if self.record.title.is_none() {
            let title: String = said.trim().lines().next().unwrap_or_default().chars().take(TITLE_CHARACTERS).collect();
            self.sessions.rename(&self.record.id, Some(&title)).await?;
            self.record.title = Some(title);
        }
        Ok(())
    }

    /// Goes on with another model, which does not get what only the last one understands.
    pub(crate) async fn change_model(&mut self, wire: &Wire, provider: Arc<dyn Provider>) -> Result<(), Failure> {
        let name = format!("{}/{}", provider.model().provider, provider.model().name);
        self.sessions.set_model(&self.record.id, Some(&name)).await?;
        self.runner.provider = provider;
        self.rewire(wire)
    }

    /// Goes on with other settings, such as another access level. What was seen and allowed stays so.
    pub(crate) fn rewire(&mut self, wire: &Wire) -> Result<(), Failure> {
        let Runner { session, provider, watcher, .. } = &self.runner;
        let wired =
            wire.conversing(Arc::clone(&self.log), self.following.clone(), self.asking, Going::On(session), provider.model(), watcher)?;
        (self.runner.engine, self.runner.session) = (wired.engine, wired.session);
        self.runner.revealed = wire::open_shelves(&self.runner);
        wire.prompt().unwrap_or(SYSTEM).clone_into(&mut self.runner.system);
        Ok(())
    }
}

fn meter(wire: &Wire, sessions: Arc<dyn SessionStore>, id: &str, turns: u64, asking: Asking) -> StoredMeter {
    let today = || {
        let now = SystemTime::now();
        (now, local_time(now, DAY))
    };
    let settings = &wire.settings.config.budget;
    let micros = |amount: Option<i64>| amount.map(Micros);
    let budget =
        Budget { turn: micros(settings.turn), session: micros(settings.session), day: micros(settings.day), tokens: settings.tokens };
    let purse: Arc<dyn Purse> = match settings.then {
        BudgetThen::Ask => wire.purse(asking),
        BudgetThen::Stop => Arc::new(Closed),
    };
    StoredMeter::new(sessions, id, turns, models::prices(&wire.settings), Arc::new(today)).with_budget(budget, purse)
}
