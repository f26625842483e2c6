//! One sub-agent, from its request to its last state.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::{
    AgentAttachment, AgentType, BoxFuture, KnownAgent, SandboxDemand, StoredAttachment, SubAgentState, SubAgentStatus, ThinkingLevel,
    ToolError, TurnLimit,
};
use haft_engine::Session;
use haft_provider::Message;
use haft_store::SessionRecord;
use tokio_util::sync::CancellationToken;

use super::conversation::ConversationAgents;
use super::lanes::{Lanes, LiveAgent};
use super::meter::InheritedMeter;
use super::notice::has_whole_answer;
use crate::cost::Micros;
use crate::events::{EndReason, TurnEnd, TurnWatcher};
use crate::meter::Meter;
use crate::provider::Provider;
use crate::runner::Runner;
use crate::turn::Steering;

/// What the conversation of a sub-agent is built from.
#[non_exhaustive]
pub struct ChildConversation {
    /// The session of its parent, which must start it.
    pub parent: Session,
    /// The model of its parent.
    pub provider: Arc<dyn Provider>,
    /// The name of the model, if it is another one.
    pub model: Option<String>,
    /// Its stored session.
    pub record: SessionRecord,
    /// Its name for people.
    pub label: String,
    /// The configured agent that it runs as.
    pub agent: String,
    /// Its type.
    pub agent_type: AgentType,
    /// Where its commands run.
    pub sandbox: SandboxDemand,
    /// The folder that its commands start in.
    pub cwd: Option<PathBuf>,
    /// How much its model thinks.
    pub thinking: Option<ThinkingLevel>,
    /// What skills left to the turn that started it: it must not have more when that turn is over.
    pub limits: Vec<TurnLimit>,
    /// Messages that arrive while it works, which wake its calls that wait.
    pub steering: Steering,
    /// The receiver of its events.
    pub watcher: Arc<dyn TurnWatcher>,
    /// Its own sub-agents, for the services of its conversation.
    pub agents: Arc<ConversationAgents>,
}

haft_contract::opaque_debug!(ChildConversation: label = label);

/// What decides which tools a sub-agent is offered.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct ChildOffer<'a> {
    /// The session of its parent.
    pub parent: &'a Session,
    /// The configured agent that it runs as.
    pub agent: &'a str,
    /// Its type.
    pub agent_type: &'a AgentType,
    /// Its model, as `provider/model`.
    pub model: &'a str,
    /// What skills left to the turn that starts it.
    pub limits: &'a [TurnLimit],
}

/// Builds the conversations of sub-agents: the program that holds the concrete types.
pub trait SubAgentFactory: Send + Sync {
    /// The types that can be started.
    fn types(&self) -> Vec<AgentType>;
    /// The agents of the configuration.
    fn agents(&self) -> Vec<KnownAgent>;
    /// Refuses a model that does not exist.
    fn check_model(&self, name: &str) -> Result<(), ToolError>;
    /// Opens a model for a conversation of this agent; without a name, the configured one.
    fn open_model<'a>(&'a self, name: Option<&'a str>, agent: &'a str) -> BoxFuture<'a, Result<Arc<dyn Provider>, ToolError>>;
    /// Refuses where commands cannot run in a sandbox.
    fn check_sandbox(&self) -> Result<(), ToolError>;
    /// Stores files where the sub-agent of this session can read them.
    fn attach<'a>(&'a self, session: &'a str, files: Vec<AgentAttachment>) -> BoxFuture<'a, Result<Vec<StoredAttachment>, ToolError>>;
    /// The tools that a sub-agent is offered, of those that its parent has.
    fn tools(&self, child: &ChildOffer<'_>) -> Vec<String>;
    /// Builds a conversation. Its session must be started by the parent.
    fn build(&self, child: ChildConversation) -> BoxFuture<'_, Result<Runner, ToolError>>;
}

/// A sub-agent that is to run.
pub(super) struct RunTask {
    pub(super) lanes: Arc<Lanes>,
    pub(super) factory: Arc<dyn SubAgentFactory>,
    pub(super) live: Arc<LiveAgent>,
    pub(super) child: ChildConversation,
    /// Its first message.
    pub(super) input: String,
    /// The budget that it spends from.
    pub(super) meter: Arc<dyn Meter>,
    pub(super) max_rounds: Option<u32>,
    pub(super) timeout: Option<Duration>,
    /// Stops it, if it is not in the background.
    pub(super) call: Option<CancellationToken>,
    /// Whether its session is removed after a report.
    pub(super) forget: bool,
}

impl RunTask {
    /// Runs it in a task of its own: a panic in it, too, leaves a truthful state.
    pub(super) fn start(self) {
        let (lanes, live, forget) = (Arc::clone(&self.lanes), Arc::clone(&self.live), self.forget);
        let (before, call) = (live.status(), self.call.clone());
        tokio::spawn(async move {
            let waiting = lanes.lane(before.depth);
            let lane = tokio::select! {
                biased;
                () = live.stop_token().cancelled() => None,
                () = stopped(call.as_ref()) => None,
                lane = waiting => lane,
            };
            let outcome = match lane {
                Some(_lane) => {
                    live.change(|status| (status.state, status.started) = (SubAgentState::Running, Some(SystemTime::now())));
                    store(&lanes, &live).await;
                    tokio::spawn(self.work()).await.unwrap_or_else(|panic| SubAgentOutcome::failed(format!("it broke off: {panic}")))
                }
                None => SubAgentOutcome::stopped(&live, String::new()),
            };
            finish(&lanes, &live, outcome.after(&before), forget).await;
        });
    }

    async fn work(self) -> SubAgentOutcome {
        let Self { factory, live, child, input, meter, max_rounds, timeout, call, .. } = self;
        let agents = Arc::clone(&child.agents);
        let mut runner = match factory.build(child).await {
            Ok(runner) => runner,
            Err(error) => return SubAgentOutcome::failed(error.message().to_owned()),
        };
        runner.meter = Arc::new(InheritedMeter::new(Arc::clone(&runner.meter), meter));
        runner.max_rounds = max_rounds;
        runner.steering = live.steering.clone();
        runner.waits_for_agents = true;
        agents.attach(&runner, live.stop_token().clone());
        let limits = async {
            tokio::select! {
                () = stopped(call.as_ref()) => live.stop(SubAgentState::Killed, "the call that started it was stopped"),
                () = time_is_up(timeout) => live.stop(SubAgentState::TimedOut, &over_time(timeout)),
            }
        };
        let turns = turns(&mut runner, &live, input);
        tokio::pin!(turns);
        tokio::select! {
            outcome = &mut turns => return outcome,
            () = limits => {}
        }
        // It was stopped, and ends with a whole conversation.
        turns.await
    }
}

async fn stopped(call: Option<&CancellationToken>) {
    match call {
        Some(call) => call.cancelled().await,
        None => std::future::pending().await,
    }
}

async fn time_is_up(timeout: Option<Duration>) {
    match timeout {
        Some(timeout) => tokio::time::sleep(timeout).await,
        None => std::future::pending().await,
    }
}

fn over_time(timeout: Option<Duration>) -> String {
    format!("it took longer than {} seconds", timeout.unwrap_or_default().as_secs())
}

/// The task, and then messages that arrived after the last answer.
async fn turns(runner: &mut Runner, live: &LiveAgent, mut input: String) -> SubAgentOutcome {
    let mut outcome = SubAgentOutcome::default();
    loop {
        let end = runner.turn(Message::user(input), live.stop_token()).await;
        let is_done = end.reason == EndReason::Done;
        outcome.add(end, live);
        match live.unread().filter(|_| is_done) {
            Some(unread) => input = unread,
            None => return outcome,
        }
    }
}

/// How a sub-agent ended.
struct SubAgentOutcome {
    state: SubAgentState,
    error: Option<String>,
    answer: String,
    rounds: u32,
    calls: u32,
    input: u64,
    output: u64,
    cost: Option<Micros>,
}

impl Default for SubAgentOutcome {
    fn default() -> Self {
        let (error, answer, cost) = (None, String::new(), Some(Micros::default()));
        Self { state: SubAgentState::Done, error, answer, rounds: 0, calls: 0, input: 0, output: 0, cost }
    }
}

impl SubAgentOutcome {
    fn failed(error: String) -> Self {
        Self { state: SubAgentState::Failed, error: Some(error), ..Self::default() }
    }

    fn stopped(live: &LiveAgent, answer: String) -> Self {
        let (state, why) = live.stop_reason();
        Self { state, error: Some(why), answer, ..Self::default() }
    }

    /// With what earlier runs of an open sub-agent used.
    fn after(self, before: &SubAgentStatus) -> Self {
        Self {
            rounds: self.rounds + before.rounds,
            calls: self.calls + before.calls,
            input: self.input + before.input,
            output: self.output + before.output,
            cost: self.cost.map(|cost| cost.plus(Micros(before.cost_micros.unwrap_or_default()))),
            ..self
        }
    }

    fn add(&mut self, end: TurnEnd, live: &LiveAgent) {
        (self.state, self.error) = end_state(&end, || live.stop_reason());
        if !end.text.trim().is_empty() {
            self.answer = end.text;
        }
        self.rounds += end.rounds;
        self.calls += end.calls;
        self.input += end.usage.input;
        self.output += end.usage.output;
        self.cost = self.cost.zip(end.cost).map(|(sum, cost)| sum.plus(cost));
    }
}

/// The state that a turn leaves a sub-agent in, and why it has no answer; `stopped` says why it was stopped, if it was.
pub(super) fn end_state(end: &TurnEnd, stopped: impl FnOnce() -> (SubAgentState, String)) -> (SubAgentState, Option<String>) {
    let failed = |why: &str| (SubAgentState::Failed, Some(end.error.clone().unwrap_or_else(|| why.to_owned())));
    match end.reason {
        EndReason::Done => (SubAgentState::Done, None),
        EndReason::MaxTokens => (SubAgentState::Done, Some("its last answer was cut at the limit of its model".to_owned())),
        EndReason::Refused => failed("its model refused to answer"),
        EndReason::Loop => failed("the loop guard stopped it: it repeated itself"),
        EndReason::MaxRounds => failed(&format!("it used all of its {} rounds", end.rounds)),
        EndReason::Budget => failed("the budget is used up"),
        EndReason::Cancelled => {
            let (state, why) = stopped();
            (state, Some(why))
        }
        EndReason::Failed | EndReason::NoOutput => failed("its model did not answer"),
    }
}

/// Stores the last state, and reports it.
async fn finish(lanes: &Lanes, live: &LiveAgent, outcome: SubAgentOutcome, forget: bool) {
    live.close();
    let SubAgentOutcome { state, error, answer, rounds, calls, input, output, cost } = outcome;
    let mut status = live.status();
    (status.state, status.error, status.ended) = (state, error, Some(SystemTime::now()));
    (status.rounds, status.calls, status.input, status.output) = (rounds, calls, input, output);
    status.cost_micros = cost.filter(|_| rounds > 0).map(|cost| cost.0);
    status.answer = Some(answer).filter(|answer| !answer.is_empty());
    status.reported = !status.background;
    // A store that fails has said so in the conversation of the sub-agent; its parent still gets the answer.
    lanes.store.put_sub_agent(status.clone()).await.ok();
    if forget && has_whole_answer(&status) {
        lanes.forget_after_report(&status.id);
    }
    lanes.remove(status.clone());
    live.change(|last| *last = status);
}

pub(super) async fn store(lanes: &Lanes, live: &LiveAgent) {
    let status = live.status();
    lanes.store.put_sub_agent(status).await.ok();
}
