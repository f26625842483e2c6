//! `haft agents`: who there is, what each of them has, and how that is changed.

mod ask;
mod diff;
mod draft;
mod edit;
mod flags;
mod lists;
mod show;

use std::sync::Arc;

use haft_config::{Setting, Value};
use haft_contract::Dialect;
use haft_engine::{Policy, Session};
use serde_json::json;

use crate::arguments::{Agents, Common, Who};
use crate::commands::tools::Listed;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, print};
use crate::table::{Cell, Room, Table};
use crate::wire::{MAIN, Wire};

/// What stands where nobody said anything.
const NOT_SET: &str = "not set";

pub(crate) fn run(common: &Common, command: &Agents, output: &Output) -> Result<Exit, Failure> {
    match command {
        Agents::List => list(&Wire::new(common, output)?, output),
        Agents::Show { name } => show::run(&Wire::new(common, output)?, name, output),
        Agents::Edit(request) => edit::run(common, request, output),
    }
}

/// Everyone there is: the agent that the person talks to, and those with a table.
fn names(wire: &Wire) -> Vec<String> {
    let named = wire.settings.provenance.names_beneath(&["agents"]);
    std::iter::once(MAIN.to_owned()).chain(named.into_iter().filter(|name| name != MAIN)).collect()
}

/// An agent as the configuration makes it.
struct View<'a> {
    name: &'a str,
    /// Its own model, or else the one for all.
    model: Option<&'a Setting>,
    prompt: Option<&'a Setting>,
    session: Session,
    tools: Vec<Listed>,
}

impl<'a> View<'a> {
    fn of(wire: &'a Wire, name: &'a str) -> Result<Self, Failure> {
        let set = |path: &[&str]| wire.settings.provenance.get_at(path).filter(|setting| text(setting).is_some());
        let model = set(&["agents", name, "model"]).or_else(|| set(&["model"]));
        // What a provider's lists remove is not there for an agent with a model of that provider.
        let who = Who { provider: model.and_then(text).map(str::to_owned), ..Who::default() };
        let session = wire.listing_as(name, &who)?;
        let tools = wire.registry.entries().into_iter().map(|entry| Listed {
            decision: wire.policy.offer(&entry.candidate(), session.caller()),
            dialect: Dialect::Haft,
            entry: Arc::clone(&entry),
        });
        Ok(Self { name, model, prompt: set(&["agents", name, "prompt"]), tools: tools.collect(), session })
    }

    fn offered(&self) -> usize {
        self.tools.iter().filter(|tool| tool.is_offered()).count()
    }

    /// How many of all tools it has.
    fn share(&self) -> String {
        format!("{} of {}", self.offered(), self.tools.len())
    }
}

/// The text of a setting that is one.
fn text(setting: &Setting) -> Option<&str> {
    match &setting.value {
        Value::Text(text) => Some(text),
        _ => None,
    }
}

fn list(wire: &Wire, output: &Output) -> Result<Exit, Failure> {
    let names = names(wire);
    let agents = names.iter().map(|name| View::of(wire, name)).collect::<Result<Vec<_>, _>>()?;
    if output.json {
        output.data(&agents.iter().map(in_short).collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    let columns = [("NAME", Room::Keep), ("MODEL", Room::Cut), ("ACCESS", Room::Drop(1)), ("TOOLS", Room::Keep), ("PROMPT", Room::Cut)];
    let mut table = Table::new(&columns);
    for agent in &agents {
        let model = agent.model.and_then(text).map_or_else(|| Cell::styled(NOT_SET, DIM), Cell::new);
        let prompt = agent.prompt.and_then(text).and_then(|prompt| prompt.trim().lines().next()).unwrap_or_default();
        let access = agent.session.access();
        table.row(vec![Cell::new(agent.name), model, Cell::new(access.as_str()), Cell::new(&agent.share()), Cell::new(prompt)]);
    }
    print(&table.render(output.width))?;
    Ok(Exit::Success)
}

fn in_short(agent: &View<'_>) -> serde_json::Value {
    json!({
        "name": agent.name,
        "model": agent.model.and_then(text),
        "access": agent.session.access(),
        "tools": { "offered": agent.offered(), "total": agent.tools.len() },
        "prompt": agent.prompt.and_then(text),
    })
}
