//! `haft worker`: does the work of servers, under its own configuration.

mod calls;
mod questions;
mod reach;
mod said;
mod shown;
mod tenant;
mod tenants;
mod turns;
mod volumes;
mod watcher;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use haft_agent::{EndReason, TurnEnd, TurnEndRecord};
use haft_contract::BoxFuture;
use haft_fleet::{
    CountingWatcher, FleetMetrics, FleetWorker, TakenWork, WorkEnd, WorkRunner, WorkerSettings, topic_of_call, topic_of_turn,
};
use haft_gateway::PageApprovals;
use haft_store::{CallLog, StateStore, WorkerRecord, new_uuid};
use haft_tui::chat::ChatOptions;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use self::questions::FleetQuestions;
use self::reach::ServerReach;
use self::shown::{FleetCanvas, FleetScreens};
use self::tenants::TenantWorkers;
use self::volumes::{AgentVolumes, SessionVolumes};
use self::watcher::WorkerLog;
use crate::arguments::{Common, WorkerArgs};
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};
use crate::wire::{self, FleetLink, ServedChannels, ServedParts, ServerControl, Wire, WorkBody, WorkLimits};

pub(crate) fn run(common: &Common, request: &WorkerArgs, output: &Output) -> Result<Exit, Failure> {
    if crate::tenants::current().is_some() {
        return tenant::run(common, output);
    }
    let wire = Wire::new(common, output)?;
    block_on(async {
        let store = wire::store(&wire.settings.data_folder)?;
        wire.repair_interrupted(&(Arc::clone(&store) as Arc<dyn CallLog>)).await;
        let link = FleetLink::required(&store).await?;
        let settings = settings(&wire, request)?;
        let volumes = AgentVolumes::new(&wire, SessionVolumes { folder: request.volumes.clone(), remote: request.git.clone() })?;
        let tenants = Arc::new(TenantWorkers::new(common, request, &link, &wire.settings.data_folder));
        let reach = ServerReach::Queue(Box::new(link.queue.clone()));
        let served = served_parts(&wire, store, &reach, &request.labels);
        // Before it says that it is ready: servers look for a worker that offers a tool.
        link.work.present(settings.record.clone()).await?;
        show(&settings, output)?;
        let runner = TurnRunner { common: common.clone(), output: output.clone(), reach, served, volumes };
        let runner = Arc::new(WorkerRunner { turns: runner, tenants: Arc::clone(&tenants) });
        let metrics = FleetMetrics::new(link.work.clone());
        let stop = CancellationToken::new();
        tokio::spawn(Arc::clone(&tenants).clear(stop.child_token()));
        wire::serve_metrics(&metrics, request.metrics, &stop).await?;
        let log = watcher::traced(&settings.record.name, Arc::new(WorkerLog::new(settings.record.name.clone(), output)))?;
        let watcher = Arc::new(CountingWatcher { metrics, inner: log });
        let worker = FleetWorker { queue: link.queue, work: link.work, runner, watcher, settings };
        let (ended, _) = Box::pin(interruptible(worker.run(&stop), &stop)).await?;
        tenants.end().await;
        ended.map_err(|error| wire::fleet_failure(&error))?;
        Ok(Exit::Success)
    })
}

/// What turns have on a worker: the pages of servers.
fn served_parts(wire: &Wire, store: Arc<StateStore>, reach: &ServerReach, labels: &[String]) -> ServedParts {
    let approvals = PageApprovals::new(wire.settings.workspace.clone(), wire.own_file().ok());
    approvals.listen(Arc::new(FleetQuestions::new(reach.clone(), &approvals)));
    ServedParts {
        approvals,
        store,
        nodes: None,
        channels: ServedChannels::default(),
        canvas: Arc::new(FleetCanvas::new(reach)),
        browsers: Arc::new(FleetScreens::new(reach)),
        labels: labels.into(),
        control: Arc::new(ServerControl::default()),
    }
}

fn settings(wire: &Wire, request: &WorkerArgs) -> Result<WorkerSettings, Failure> {
    let agents = if request.agents.is_empty() { wire.agents() } else { request.agents.clone() };
    agents.iter().try_for_each(|agent| wire.known_agent(agent))?;
    let tools = request.tools.iter().map(|tool| Ok(super::tools::find(wire, tool)?.name().to_owned()));
    let tools = tools.collect::<Result<Vec<String>, Failure>>()?;
    let labels = || std::iter::once(None).chain(request.labels.iter().map(|label| Some(label.as_str())));
    let turns = agents.iter().flat_map(|agent| labels().map(move |label| topic_of_turn(agent, label)));
    let calls = tools.iter().flat_map(|tool| labels().map(move |label| topic_of_call(tool, label)));
    let host = rustix::system::uname().nodename().to_string_lossy().into_owned();
    let record = WorkerRecord {
        name: request.name.clone().unwrap_or_else(|| host.clone()),
        token: new_uuid().to_string(),
        host,
        version: env!("CARGO_PKG_VERSION").to_owned(),
        workspace: wire.settings.workspace.to_string_lossy().into_owned(),
        topics: turns.chain(calls).collect(),
        capacity: request.capacity,
        ..WorkerRecord::default()
    };
    Ok(WorkerSettings { record, lease: Duration::from_secs(request.lease), grace: Duration::from_secs(request.grace) })
}

fn show(settings: &WorkerSettings, output: &Output) -> Result<(), Failure> {
    let WorkerRecord { name, token, topics, capacity, .. } = &settings.record;
    if output.json {
        output.data(&json!({ "event": "ready", "name": name, "token": token, "topics": topics, "capacity": capacity }))?;
    }
    note(&format!("The worker '{name}' takes {} at once: {}. Ctrl-C ends it when what runs has ended.", capacity, topics.join(", ")));
    Ok(())
}

/// Runs work: that of tenants in processes of theirs, all other in this one.
struct WorkerRunner {
    turns: TurnRunner,
    tenants: Arc<TenantWorkers>,
}

/// Runs turns and calls with the configuration of this machine, limited by what the server allows.
struct TurnRunner {
    common: Common,
    output: Output,
    reach: ServerReach,
    served: ServedParts,
    volumes: AgentVolumes,
}

impl TurnRunner {
    fn wire(&self, agent: &str, workspace: Option<PathBuf>, limits: WorkLimits) -> Result<Wire, Failure> {
        let workspace = workspace.or_else(|| self.common.workspace.clone());
        let common = self.common.with(&ChatOptions { workspace, agent: Some(agent.to_owned()), access: self.common.access })?;
        Ok(Wire::new(&common, &self.output)?.limited_by(limits)?.serving(&self.served))
    }
}

impl WorkRunner for WorkerRunner {
    fn run(self: Arc<Self>, work: TakenWork) -> BoxFuture<'static, WorkEnd> {
        Box::pin(async move {
            let outcome = match WorkBody::decode(&work.body) {
                Ok(WorkBody::Turn(turn)) => self.turns.turn(&work, *turn).await,
                Ok(WorkBody::Call(call)) => self.turns.call(*call, None).await,
                Ok(WorkBody::TenantTurn(of_tenant) | WorkBody::TenantCall(of_tenant)) => return self.tenants.run(&work, *of_tenant).await,
                Err(error) => self.ended(&format!("a worker of version {} cannot read the work: {error}", env!("CARGO_PKG_VERSION"))),
            };
            WorkEnd::Done(outcome)
        })
    }

    fn ended(&self, why: &str) -> String {
        let mut end = TurnEnd::new(EndReason::Cancelled);
        end.error = Some(format!("The turn was ended by its worker: {why}."));
        outcome(&end)
    }

    fn accepts(&self, body: &str) -> bool {
        WorkBody::is_known(body)
    }
}

/// The outcome of a turn, as the server reads it.
fn outcome(end: &TurnEnd) -> String {
    json!({ "end": TurnEndRecord::from(end) }).to_string()
}
