//! Opens a conversation for `run` and `chat`: stored session, model, tools, budget.

use std::sync::Arc;
use std::time::SystemTime;

use haft_agent::{DenySpending, Micros, Runner, SpendingApprover, SpendingBudget, StoredMeter, StoredSession, TurnWatcher};
use haft_config::BudgetThen;
use haft_contract::ports::JobScope;
use haft_provider::Role;
use haft_store::{CallLog, NewSession, SessionStore};
use haft_tui::conversation::Conversation;
use haft_tui::time::local_time;

use crate::failure::Failure;
use crate::output::{note, warn};
use crate::system_prompt::system_prompt;
use crate::wire::models::{self, ChosenModel};
use crate::wire::{self, JobSettings, SessionStart, UserPrompts, Wire};

/// Format of a day.
const DAY: &str = "%Y-%m-%d";

/// How to open a conversation.
pub(crate) struct ConversationStart<'a> {
    /// The session to resume; `None` creates one.
    pub(crate) session: Option<&'a str>,
    /// The model of the command line.
    pub(crate) model: Option<&'a str>,
    /// Whether the user may be asked about calls and money.
    pub(crate) prompts: UserPrompts,
}

/// Opens a conversation, and prints what had to be repaired.
pub(crate) async fn open(wire: &Wire, start: ConversationStart<'_>, watcher: Arc<dyn TurnWatcher>) -> Result<Conversation, Failure> {
    let ChosenModel { provider, reason } = models::choose(&wire.settings, start.model).await?;
    let store = wire::store(&wire.settings.data_folder)?;
    let jobs = wire.recorded_jobs(&store)();
    let (sessions, log): (Arc<dyn SessionStore>, Arc<dyn CallLog>) = (Arc::new(store.sessions()), store);
    let record = match start.session {
        Some(id) => sessions.open(id).await?,
        None => sessions.create(NewSession::new(wire.settings.agent.as_str(), &wire.settings.workspace)).await?,
    };
    let (stored, resumed) = StoredSession::open(Arc::clone(&sessions), &*log, record.clone()).await?;
    for flaw in &resumed.flaws {
        note(&format!("the session was interrupted: {}", flaw.sentence));
    }
    let wired =
        wire.conversing(Arc::clone(&log), jobs.clone(), start.prompts, SessionStart::New(&record.id), provider.model(), &watcher)?;
    let adopted = wired.session.host().processes().adopt(&record.id, JobScope::Session(record.id.clone())).await;
    adopted.unwrap_or_else(|error| warn(error.message()));
    let turns = resumed.messages.iter().filter(|message| message.role == Role::User).count() as u64;
    let meter = meter(wire, Arc::clone(&sessions), &record.id, turns, start.prompts);
    let mut runner = Runner::new(wired.engine, wired.session, provider, Arc::new(stored));
    runner.watcher = watcher;
    runner.meter = Arc::new(meter);
    runner.system = system_prompt(wire, runner.session.caller().access);
    runner.compact_percent = u64::from(wire.settings.config.context.compact_percent);
    runner.messages = resumed.messages;
    runner.disclosed = wire::disclose_tools(&runner);
    Ok(Conversation { runner, record, sessions, log, reason, jobs: Box::new(jobs) })
}

/// Continues with other settings, such as another access level. Session grants and what was read stay.
pub(crate) fn rewire(wire: &Wire, conversation: &mut Conversation) -> Result<(), Failure> {
    let Runner { session, provider, watcher, .. } = &conversation.runner;
    let jobs = conversation.jobs.downcast_ref::<JobSettings>().cloned().unwrap_or_default();
    let wired = wire.conversing(
        Arc::clone(&conversation.log),
        jobs,
        UserPrompts::Allowed,
        SessionStart::Resume(session),
        provider.model(),
        watcher,
    )?;
    let runner = &mut conversation.runner;
    (runner.engine, runner.session) = (wired.engine, wired.session);
    runner.disclosed = wire::disclose_tools(runner);
    runner.system = system_prompt(wire, runner.session.caller().access);
    Ok(())
}

fn meter(wire: &Wire, sessions: Arc<dyn SessionStore>, id: &str, turns: u64, prompts: UserPrompts) -> StoredMeter {
    let today = || {
        let now = SystemTime::now();
        (now, local_time(now, DAY))
    };
    let settings = &wire.settings.config.budget;
    let micros = |amount: Option<i64>| amount.map(Micros);
    let budget = SpendingBudget {
        turn: micros(settings.turn),
        session: micros(settings.session),
        day: micros(settings.day),
        tokens: settings.tokens,
    };
    let approver: Arc<dyn SpendingApprover> = match settings.then {
        BudgetThen::Ask => wire.spending_approver(prompts),
        BudgetThen::Stop => Arc::new(DenySpending),
    };
    StoredMeter::new(sessions, id, turns, models::prices(&wire.settings), Arc::new(today)).with_budget(budget, approver)
}
