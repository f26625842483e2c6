//! `haft fleet status`: queues, leases, workers and lag.

use haft_store::{TopicLoad, WorkRecord, WorkState, WorkerRecord};
use serde_json::{Value, json};

use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note, print};
use crate::table::{ColumnFit, Table, TableCell};
use crate::wire::{self, FleetLink};

/// Work that is listed.
const MOST: usize = 100;

/// The state of a fleet.
struct FleetStatus {
    load: Vec<TopicLoad>,
    /// By topic: messages that wait, and those with a worker.
    messages: Vec<(String, u64, usize)>,
    leases: Vec<WorkRecord>,
    aside: Vec<WorkRecord>,
    workers: Vec<WorkerRecord>,
}

pub(super) fn run(output: &Output) -> Result<Exit, Failure> {
    block_on(async {
        let store = wire::store(&wire::data_folder()?)?;
        let link = FleetLink::required(&store).await?;
        let status = FleetStatus::read(&link).await?;
        if output.json {
            output.data(&status.to_json())?;
            return Ok(Exit::Success);
        }
        status.show(output)?;
        Ok(Exit::Success)
    })
}

impl FleetStatus {
    async fn read(link: &FleetLink) -> Result<Self, Failure> {
        let (load, workers) = (link.work.load().await?, link.work.workers().await?);
        let mut topics: Vec<String> = load.iter().map(|load| load.topic.clone()).collect();
        topics.extend(workers.iter().flat_map(|worker| worker.topics.iter().cloned()));
        topics.sort_unstable();
        topics.dedup();
        let messages = link.queue.waiting(&topics).await.map_err(|error| wire::fleet_failure(&error))?;
        let leases = link.work.list(vec![WorkState::Claimed, WorkState::Started], MOST).await?;
        let aside = link.work.list(vec![WorkState::Aside, WorkState::Unknown], MOST).await?;
        Ok(Self { load, messages, leases, aside, workers })
    }

    fn to_json(&self) -> Value {
        let load = |load: &TopicLoad| {
            json!({ "topic": load.topic, "tenant": load.tenant, "queued": load.queued, "running": load.running,
                "oldest_ms": u64::try_from(load.oldest.as_millis()).unwrap_or(u64::MAX) })
        };
        let work = |work: &WorkRecord| {
            json!({ "id": work.id, "topic": work.topic, "tenant": work.tenant, "state": work.state.as_str(), "worker": work.worker,
                "attempts": work.attempts, "story": work.story })
        };
        let worker = |worker: &WorkerRecord| {
            json!({ "name": worker.name, "token": worker.token, "host": worker.host, "version": worker.version,
                "workspace": worker.workspace, "topics": worker.topics, "running": worker.running, "capacity": worker.capacity,
                "draining": worker.draining })
        };
        let message = |(topic, waiting, taken): &(String, u64, usize)| json!({ "topic": topic, "waiting": waiting, "taken": taken });
        json!({
            "queues": self.load.iter().map(load).collect::<Vec<_>>(),
            "messages": self.messages.iter().map(message).collect::<Vec<_>>(),
            "leases": self.leases.iter().map(work).collect::<Vec<_>>(),
            "aside": self.aside.iter().map(work).collect::<Vec<_>>(),
            "workers": self.workers.iter().map(worker).collect::<Vec<_>>(),
        })
    }

    fn show(&self, output: &Output) -> Result<(), Failure> {
        self.show_workers(output)?;
        self.show_queues(output)?;
        let columns = [
            ("WORK", ColumnFit::Keep),
            ("TENANT", ColumnFit::Drop(1)),
            ("TOPIC", ColumnFit::Keep),
            ("STATE", ColumnFit::Keep),
            ("WORKER", ColumnFit::Keep),
        ];
        let mut table = Table::new(&columns);
        for work in self.leases.iter().chain(&self.aside) {
            let cells = [work.id.as_str(), &work.tenant, &work.topic, work.state.as_str(), work.worker.as_deref().unwrap_or("-")];
            table.row(cells.map(TableCell::new).into());
        }
        if !(self.leases.is_empty() && self.aside.is_empty()) {
            print(&table.render(output.width))?;
        }
        Ok(())
    }

    fn show_workers(&self, output: &Output) -> Result<(), Failure> {
        if self.workers.is_empty() {
            note("No worker lives: start one with `haft worker`.");
            return Ok(());
        }
        let columns = [
            ("WORKER", ColumnFit::Keep),
            ("HOST", ColumnFit::Drop(2)),
            ("LOAD", ColumnFit::Keep),
            ("STATE", ColumnFit::Keep),
            ("TAKES", ColumnFit::Drop(1)),
        ];
        let mut table = Table::new(&columns);
        for worker in &self.workers {
            let (load, takes) = (format!("{}/{}", worker.running, worker.capacity), worker.topics.join(" "));
            let state = if worker.draining { "draining" } else { "ready" };
            table.row([worker.name.as_str(), &worker.host, &load, state, &takes].map(TableCell::new).into());
        }
        print(&table.render(output.width))?;
        Ok(())
    }

    fn show_queues(&self, output: &Output) -> Result<(), Failure> {
        if self.load.is_empty() {
            note("No work waits or runs.");
            return Ok(());
        }
        let columns = [
            ("QUEUE", ColumnFit::Keep),
            ("TENANT", ColumnFit::Drop(1)),
            ("WAITS", ColumnFit::Keep),
            ("RUNS", ColumnFit::Keep),
            ("LAG", ColumnFit::Keep),
        ];
        let mut table = Table::new(&columns);
        for load in &self.load {
            let (queued, running) = (load.queued.to_string(), load.running.to_string());
            let lag = format!("{:.1} s", load.oldest.as_secs_f64());
            table.row([load.topic.as_str(), &load.tenant, &queued, &running, &lag].map(TableCell::new).into());
        }
        print(&table.render(output.width))?;
        Ok(())
    }
}
