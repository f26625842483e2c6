//! `haft node run`: this machine works for its gateway.

use std::sync::Arc;

use haft_nodes::{NodeClient, NodeEvent, NodeStore};
use haft_text::display;
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::arguments::{Common, NodeRunArgs};
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};
use crate::wire::{self, LocalRunner, Wire};

pub(super) fn run(common: &Common, request: &NodeRunArgs, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let store = NodeStore::new(&wire.settings.data_folder.join("node"));
    let broken = |error: std::io::Error| Failure::failed("execution_error", error.to_string());
    if request.forget {
        let text = if store.forget().map_err(broken)? { "the pairing is removed" } else { "this machine is not paired" };
        return output.show(|| json!({ "done": text }), || format!("{text}\n"));
    }
    let url = match &request.gateway {
        Some(url) => url.clone(),
        None => store.gateway().map_err(broken)?.map(|gateway| gateway.url).ok_or_else(not_paired)?,
    };
    let name = request.name.clone().unwrap_or_else(|| wire::node_name(&wire.settings));
    block_on(async {
        let runner = Arc::new(LocalRunner::new(&wire, common, output)?);
        let shown = output.clone();
        let watcher = Arc::new(move |event: &NodeEvent| show(event, &shown));
        let node = NodeClient { url, name, store, runner, watcher };
        let stop = CancellationToken::new();
        let (ended, _) = Box::pin(interruptible(node.run(&stop), &stop)).await?;
        match ended {
            Ok(()) => Ok(Exit::Success),
            Err(why) => Err(Failure::failed("permission_denied", why.to_string())),
        }
    })
}

fn not_paired() -> Failure {
    Failure::usage("this machine is not paired").help("run `haft node pair` at the gateway, and the command that it prints here")
}

fn show(event: &NodeEvent, output: &Output) {
    let (event, text) = match event {
        NodeEvent::Waiting { code } => {
            (json!({ "event": "waiting", "code": code }), format!("Code: {code}\nType it at the gateway: haft node approve {code}"))
        }
        NodeEvent::Paired { name, gateway } => {
            (json!({ "event": "paired", "name": name, "gateway": gateway }), format!("Paired as '{name}' with the gateway {gateway}."))
        }
        NodeEvent::Connected { name } => (json!({ "event": "connected", "name": name }), format!("Connected as '{name}'. Ctrl-C ends it.")),
        NodeEvent::Lost { why, wait } => {
            let text = format!("The connection is lost ({why}); trying again in {:.1} s.", wait.as_secs_f64());
            (json!({ "event": "lost", "why": why }), text)
        }
        _ => return,
    };
    if output.json {
        // A reader that is gone does not stop the node.
        output.show(|| event, String::new).ok();
    } else {
        note(&display::escape_lines(&text));
    }
}
