//! A hundred sub-agents, beside the same rounds in one session, and what idle sub-agents take.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft::{BoxFuture, Session, ToolError};
use haft_agent::{
    ChildConversation, ChildOffer, ConversationAgents, LaneLimits, Lanes, NullLedger, Provider, Runner, StoredSession, SubAgentFactory,
    built_in_types,
};
use haft_contract::ports::SubAgents;
use haft_contract::{AgentAttachment, AgentType, KnownAgent, StoredAttachment, SubAgentRequest, SubAgentState};
use haft_provider::{Completion, Delta, Model, ModelTurn, ProviderError, ProviderErrorKind};
use haft_testkit::FakeHost;
use tokio_util::sync::CancellationToken;

use crate::measure::{ROUNDS, middle, row};
use crate::{Instantly, World, resident, turn, world};

const AGENTS: usize = 100;
const ROUNDS_EACH: u32 = 5;

/// Builds every sub-agent with the same engine and a model.
struct Factory {
    world: Arc<World>,
    model: Arc<dyn Provider>,
}

impl SubAgentFactory for Factory {
    fn types(&self) -> Vec<AgentType> {
        built_in_types()
    }
    fn agents(&self) -> Vec<KnownAgent> {
        Vec::new()
    }
    fn check_model(&self, _: &str) -> Result<(), ToolError> {
        Ok(())
    }
    fn open_model<'a>(&'a self, _: Option<&'a str>, _: &'a str) -> BoxFuture<'a, Result<Arc<dyn Provider>, ToolError>> {
        Box::pin(async { Ok(Arc::clone(&self.model)) })
    }
    fn check_sandbox(&self) -> Result<(), ToolError> {
        Ok(())
    }
    fn attach<'a>(&'a self, _: &'a str, _: Vec<AgentAttachment>) -> BoxFuture<'a, Result<Vec<StoredAttachment>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn tools(&self, _: &ChildOffer<'_>) -> Vec<String> {
        Vec::new()
    }
    fn build(&self, child: ChildConversation) -> BoxFuture<'_, Result<Runner, ToolError>> {
        Box::pin(async move {
            let stored = &self.world.stored;
            let opened = StoredSession::open(Arc::clone(&stored.sessions), &*stored.log, child.record.clone()).await;
            let (ledger, _) = opened.map_err(|error| ToolError::execution(error.to_string()))?;
            let session = Session::builder(FakeHost::new() as _).loop_limits(None).id(child.record.id.as_str()).started_by(&child.parent);
            Ok(Runner::new(self.world.engine.clone(), session.build(), Arc::clone(&self.model), Arc::new(ledger)))
        })
    }
}

/// A conversation that starts sub-agents with this model.
fn conversation(world: &Arc<World>, model: Arc<dyn Provider>) -> (Runner, ConversationAgents) {
    let limits = LaneLimits { max_children: AGENTS, concurrency: AGENTS, ..LaneLimits::default() };
    let factory = Factory { world: Arc::clone(world), model: Arc::clone(&model) };
    let agents = ConversationAgents::new(Arc::new(Lanes::new(Arc::clone(&world.stored.sessions), limits)), Arc::new(factory));
    let runner = Runner::new(world.engine.clone(), world.session.clone(), model, Arc::new(NullLedger));
    agents.attach(&runner, CancellationToken::new());
    (runner, agents)
}

fn request() -> SubAgentRequest {
    SubAgentRequest { task: "go".into(), background: true, ..SubAgentRequest::default() }
}

async fn all_done(agents: &ConversationAgents) {
    let mut started = Vec::new();
    for _ in 0..AGENTS {
        started.push(agents.spawn(request(), CancellationToken::new()).await.expect("it starts"));
    }
    for agent in started {
        let ended = agents.wait(&agent.status.id, None).await.expect("it ends");
        assert_eq!((ended.state, ended.calls), (SubAgentState::Done, ROUNDS_EACH), "{:?}", ended.error);
    }
}

pub(crate) async fn hundred() {
    let world = Arc::new(world());
    let (mut ours, mut reference) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (_runner, agents) = conversation(&world, Instantly::new(ROUNDS_EACH as usize));
        let started = Instant::now();
        all_done(&agents).await;
        ours.push(started.elapsed());
        world.stored.settle().await;
        let record = world.stored.session().await;
        let (ledger, _) =
            StoredSession::open(Arc::clone(&world.stored.sessions), &*world.stored.log, record).await.expect("an open session");
        let rounds = ROUNDS_EACH * u32::try_from(AGENTS).expect("few");
        reference.push(turn(&world, Arc::new(ledger), rounds).await * rounds);
    }
    row("100 sub-agents of 5 noop rounds, durable", middle(ours), middle(reference), "the same 500 rounds in one session; budget 3x");
}

/// A model that never answers.
struct Silent(Model);

impl Provider for Silent {
    fn model(&self) -> &Model {
        &self.0
    }
    fn answer<'a>(
        &'a self,
        _: ModelTurn<'a>,
        cancel: &'a CancellationToken,
        _: &'a mut (dyn FnMut(Delta) + Send),
    ) -> BoxFuture<'a, Result<Completion, ProviderError>> {
        Box::pin(async move {
            cancel.cancelled().await;
            Err(ProviderError::new(ProviderErrorKind::Cancelled, "cancelled"))
        })
    }
}

pub(crate) async fn idle() {
    let world = Arc::new(world());
    let model = Arc::new(Silent(Model::new("here", haft_provider::Protocol::Anthropic, "m")));
    let (_runner, agents) = conversation(&world, model);
    let before = resident();
    for _ in 0..AGENTS {
        agents.spawn(request(), CancellationToken::new()).await.expect("it starts");
    }
    // Until every one has asked its model.
    tokio::time::sleep(Duration::from_millis(500)).await;
    let each = resident().saturating_sub(before) / AGENTS;
    println!("{:<46} {each:>9} KB {:>12} {:>8}  budget 200 KB", "memory of one idle sub-agent of 100", "-", "-");
    agents.end_all("measured").await;
}
