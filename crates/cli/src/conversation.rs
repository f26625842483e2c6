//! Opens a conversation for `run` and `chat`: stored session, model, tools, budget.

use std::sync::Arc;

use haft_agent::{
    DenySpending, Micros, OutputSchema, ResumedAgent, Runner, SpendingApprover, SpendingBudget, Steering, StoredMeter, StoredSession,
    TurnEvent, TurnWatcher,
};
use haft_config::BudgetThen;
use haft_contract::ports::JobScope;
use haft_provider::Role;
use haft_store::{CallLog, NewSession, SessionFilter, SessionStore};
use haft_tui::conversation::Conversation;

use crate::failure::Failure;
use crate::output::{note, warn};
use crate::system_prompt;
use crate::wire::models::{self, ChosenModel};
use crate::wire::{self, ChannelCaller, ConversationParts, JobSettings, Lineage, SessionStart, UserPrompts, Wire};

/// How to open a conversation.
pub(crate) struct ConversationStart<'a> {
    /// The session to resume; `None` creates one.
    pub(crate) session: Option<&'a str>,
    /// The model of the command line.
    pub(crate) model: Option<&'a str>,
    /// Whether the user may be asked about calls and money.
    pub(crate) prompts: UserPrompts,
    /// More rounds than this end a turn.
    pub(crate) max_rounds: Option<u32>,
    /// Whether a turn waits for sub-agents in the background.
    pub(crate) waits_for_agents: bool,
    /// The schema of the output that the caller wants.
    pub(crate) output: Option<Arc<OutputSchema>>,
}

/// Opens a conversation, and prints what had to be repaired.
pub(crate) async fn open(wire: &Arc<Wire>, start: ConversationStart<'_>, watcher: Arc<dyn TurnWatcher>) -> Result<Conversation, Failure> {
    let ChosenModel { provider, reason } = models::choose(&wire.settings, start.model).await?;
    let store = wire.conversation_store()?;
    let jobs = wire.recorded_jobs(&store)();
    let (sessions, log): (Arc<dyn SessionStore>, Arc<dyn CallLog>) = (store.sessions(), Arc::clone(&store) as _);
    wire.repair_interrupted(&log).await;
    wire.clean_in_background();
    let record = match start.session {
        Some(id) => sessions.open(id).await?,
        None => sessions.create(NewSession::new(wire.settings.agent.as_str(), &wire.settings.workspace)).await?,
    };
    let lineage = Lineage::find(wire, &*sessions, &record.id).await?;
    let sandbox = lineage.as_ref().map(Lineage::sandbox).unwrap_or_default();
    let cwd = lineage.as_ref().and_then(Lineage::cwd);
    let agents = wire::conversation_agents(wire, &store, start.prompts, sandbox, cwd);
    let (stored, resumed) = StoredSession::open(Arc::clone(&sessions), &*log, record.clone()).await?;
    for flaw in &resumed.flaws {
        note(&format!("the session was interrupted: {}", flaw.sentence));
    }
    let steering = Steering::default();
    let mut services = wire::conversation_services(wire, &agents);
    wire::add_planning(&mut services, Arc::clone(&sessions), &watcher, &steering);
    services.questions = wire::terminal_questions(start.prompts);
    services.output = start.output.clone().map(|output| output as _);
    let turns = resumed.messages.iter().filter(|message| message.role == Role::User).count() as u64;
    let meter = wire.within_quotas(Arc::new(meter(wire, Arc::clone(&sessions), &record.id, turns, start.prompts)))?;
    services.small_model = wire::small_model(wire, Arc::clone(&meter));
    services.vision = wire.vision(Arc::clone(&meter));
    let prompt = lineage.as_ref().and_then(Lineage::prompt).map(str::to_owned);
    let resumed_agent = lineage.as_ref().map(|lineage| ResumedAgent::new(Arc::clone(&sessions), lineage.status().clone()));
    let caller = ChannelCaller::of_session(&*store.channels(), &record.id).await?;
    let parts = ConversationParts { log: Arc::clone(&log), jobs: jobs.clone(), prompts: start.prompts, services, lineage, caller };
    let wired = wire.conversing(parts, SessionStart::New(&record.id), provider.model(), &watcher)?;
    let adopted = wired.session.host().processes().adopt(&record.id, JobScope::Session(record.id.clone())).await;
    adopted.unwrap_or_else(|error| warn(error.message()));
    let mut runner = Runner::new(wired.engine, wired.session, provider, Arc::new(stored));
    (runner.watcher, runner.steering) = (watcher, steering);
    (runner.meter, runner.resumed) = (meter, resumed_agent);
    system_prompt::give(wire, &mut runner, prompt.as_deref()).await?;
    runner.compact_percent = u64::from(wire.settings.config.context.compact_percent);
    runner.messages = resumed.messages;
    runner.output = start.output;
    runner.disclosed = wire::disclose_tools(&runner);
    runner.disclosed.set_budget(wire.tool_budget_percent());
    runner.restore(resumed.carried, |folder| wire.prompts.has_skill_in(folder));
    runner.max_rounds = start.max_rounds.or_else(|| wire::max_rounds(&wire.settings.provenance));
    runner.waits_for_agents = start.waits_for_agents;
    agents.attach(&runner, runner.session.cancellation().clone());
    agents.recover().await?;
    if start.session.is_some() {
        show_todos(&runner).await;
    }
    Ok(Conversation { runner, record, sessions, log, reason, jobs: Box::new(jobs), agents })
}

/// The id of the session that is named on the command line. `last` is the newest of this folder; one of another folder is said.
pub(crate) async fn named_session(wire: &Wire, name: &str) -> Result<String, Failure> {
    let sessions = wire.conversation_store()?.sessions();
    if name != "last" {
        return Ok(name.to_owned());
    }
    let workspace = &wire.settings.workspace;
    let here = SessionFilter { workspace: Some(workspace.clone()), limit: Some(1), ..SessionFilter::default() };
    if let Some(newest) = sessions.list(here).await?.pop() {
        return Ok(newest.id);
    }
    let elsewhere = sessions.open(name).await?;
    note(&format!("there is no session in {} yet: this is the last one of {}", workspace.display(), elsewhere.workspace.display()));
    Ok(elsewhere.id)
}

/// The model that was chosen for a stored session, if it can still be used.
pub(crate) async fn stored_model(wire: &Wire, session: &str) -> Result<Option<String>, Failure> {
    let Some(stored) = wire.conversation_store()?.sessions().open(session).await?.model else { return Ok(None) };
    // The demo model has no provider that could be configured.
    let name = if stored.starts_with("demo/") { "demo".to_owned() } else { stored };
    match models::provider(&wire.settings, Some(&name)).await {
        Ok(_) => Ok(Some(name)),
        Err(failure) => {
            warn(&format!("the session used {name}, which cannot be used now: {}", failure.message));
            Ok(None)
        }
    }
}

/// Shows the to-do list of a resumed session again.
async fn show_todos(runner: &Runner) {
    let Some(todos) = &runner.session.host().services().todos else { return };
    match todos.list(runner.session.id()).await {
        Ok(todos) if !todos.is_empty() => runner.watcher.event(&TurnEvent::Todos(&todos)),
        Ok(_) => {}
        Err(error) => warn(error.message()),
    }
}

/// Continues with other settings, such as another access level. Session grants, what was read and folders of loaded skills stay.
pub(crate) async fn rewire(wire: &Wire, conversation: &mut Conversation) -> Result<(), Failure> {
    let Runner { session, provider, watcher, .. } = &conversation.runner;
    let jobs = conversation.jobs.downcast_ref::<JobSettings>().cloned().unwrap_or_default();
    let mut services = wire::conversation_services(wire, &conversation.agents);
    wire::add_planning(&mut services, Arc::clone(&conversation.sessions), watcher, &conversation.runner.steering);
    services.small_model.clone_from(&session.host().services().small_model);
    services.vision.clone_from(&session.host().services().vision);
    services.questions.clone_from(&session.host().services().questions);
    let lineage = Lineage::find(wire, &*conversation.sessions, &conversation.record.id).await?;
    let prompt = lineage.as_ref().and_then(Lineage::prompt).map(str::to_owned);
    let caller = ChannelCaller::of_session(&*wire.conversation_store()?.channels(), &conversation.record.id).await?;
    let parts = ConversationParts { log: Arc::clone(&conversation.log), jobs, prompts: UserPrompts::Allowed, services, lineage, caller };
    let wired = wire.conversing(parts, SessionStart::Resume(session), provider.model(), watcher)?;
    for folder in session.host().files().shown_folders() {
        // One that is gone has nothing to read any more.
        wired.session.host().files().show_folder(&folder).ok();
    }
    let runner = &mut conversation.runner;
    (runner.engine, runner.session) = (wired.engine, wired.session);
    conversation.agents.attach(runner, runner.session.cancellation().clone());
    runner.disclosed = wire::disclose_tools(runner);
    runner.disclosed.set_budget(wire.tool_budget_percent());
    system_prompt::give(wire, runner, prompt.as_deref()).await
}

fn meter(wire: &Wire, sessions: Arc<dyn SessionStore>, id: &str, turns: u64, prompts: UserPrompts) -> StoredMeter {
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
    StoredMeter::new(sessions, id, turns, models::prices(&wire.settings), Arc::new(wire::today)).with_budget(budget, approver)
}
