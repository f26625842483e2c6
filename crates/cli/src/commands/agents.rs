//! `haft agents`: lists, shows and edits agents.

pub(crate) mod draft;
mod edit;
pub(crate) mod flags;
mod lists;
pub(crate) mod prompt;
pub(crate) mod show;
mod system_prompt;

use std::sync::Arc;

use haft_config::Setting;
use haft_engine::Session;
use haft_policy::Policy;
use serde_json::json;

use crate::arguments::{AgentsCommand, CallerArgs, Common};
use crate::commands::tools::ListedTool;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output};
use crate::table::{ColumnFit, Table, TableCell};
use crate::wire::Wire;

const NOT_SET: &str = "not set";

pub(crate) fn run(common: &Common, command: &AgentsCommand, output: &Output) -> Result<Exit, Failure> {
    match command {
        AgentsCommand::List => list(&Wire::new(common, output)?, output),
        AgentsCommand::Show { name, prompt: true } => {
            let common = Common { agent: Some(name.clone()), ..common.clone() };
            system_prompt::run(&Wire::new(&common, output)?, output)
        }
        AgentsCommand::Show { name, prompt: false } => show::run(&Wire::new(common, output)?, name, output),
        AgentsCommand::Edit(request) => edit::run(common, request, output),
    }
}

/// An agent with its settings and tools.
pub(crate) struct AgentView<'a> {
    pub(crate) name: &'a str,
    /// Its own model, or else the one for all.
    model: Option<&'a Setting>,
    prompt: Option<&'a Setting>,
    session: Session,
    pub(crate) tools: Vec<ListedTool>,
}

impl<'a> AgentView<'a> {
    pub(crate) fn new(wire: &'a Wire, name: &'a str) -> Result<Self, Failure> {
        let set = |path: &[&str]| wire.settings.provenance.get_at(path).filter(|setting| setting.value.as_text().is_some());
        let model = set(&["agents", name, "model"]).or_else(|| set(&["model"]));
        // The lists of its model's provider apply as well.
        let who = CallerArgs { provider: model.and_then(text).map(str::to_owned), ..CallerArgs::default() };
        let session = wire.listing(name, &who)?;
        let tools = wire.registry.entries().into_iter().map(|entry| ListedTool {
            decision: wire.policy.offer(&entry.candidate(), session.caller()),
            dialect: session.dialect(),
            entry: Arc::clone(&entry),
        });
        Ok(Self { name, model, prompt: set(&["agents", name, "prompt"]), tools: tools.collect(), session })
    }

    fn offered(&self) -> usize {
        self.tools.iter().filter(|tool| tool.is_offered()).count()
    }

    /// `12 of 20`.
    fn share(&self) -> String {
        format!("{} of {}", self.offered(), self.tools.len())
    }
}

fn text(setting: &Setting) -> Option<&str> {
    setting.value.as_text()
}

fn list(wire: &Wire, output: &Output) -> Result<Exit, Failure> {
    let names = wire.agents();
    let agents = names.iter().map(|name| AgentView::new(wire, name)).collect::<Result<Vec<_>, _>>()?;
    let columns = [
        ("NAME", ColumnFit::Keep),
        ("MODEL", ColumnFit::Cut),
        ("ACCESS", ColumnFit::Drop(1)),
        ("TOOLS", ColumnFit::Keep),
        ("PROMPT", ColumnFit::Cut),
    ];
    let mut table = Table::new(&columns);
    for agent in &agents {
        let model = agent.model.and_then(text).map_or_else(|| TableCell::styled(NOT_SET, DIM), TableCell::new);
        let prompt = agent.prompt.and_then(text).and_then(|prompt| prompt.trim().lines().next()).unwrap_or_default();
        let access = agent.session.access();
        table.row(vec![
            TableCell::new(agent.name),
            model,
            TableCell::new(access.as_str()),
            TableCell::new(&agent.share()),
            TableCell::new(prompt),
        ]);
    }
    output.show(|| agents.iter().map(summary_json).collect::<Vec<_>>(), || table.render(output.width))
}

pub(crate) fn summary_json(agent: &AgentView<'_>) -> serde_json::Value {
    json!({
        "name": agent.name,
        "model": agent.model.and_then(text),
        "access": agent.session.access(),
        "tools": { "offered": agent.offered(), "total": agent.tools.len() },
        "prompt": agent.prompt.and_then(text),
    })
}
