//! `haft config`: check, show, schema, preset, path.

mod preset;

use std::path::PathBuf;
use std::sync::Arc;

use haft_config::{Loaded, ReportStyle, report_json};
use haft_engine::ToolEntry;
use haft_policy::{Policy, Verdict};
use serde_json::json;

use crate::arguments::{CallerArgs, Common, ConfigCommand};
use crate::failure::{Exit, Failure};
use crate::output::{DIM, GOOD, Output, print};
use crate::table::{ColumnFit, Table, TableCell};
use crate::wire::{self, Wire};

pub(crate) fn run(common: &Common, command: ConfigCommand, output: &Output) -> Result<Exit, Failure> {
    match command {
        ConfigCommand::Check => check(common, output),
        ConfigCommand::Show => show(common, output),
        ConfigCommand::Schema => output.data(&haft_config::schema()).map(|()| Exit::Success),
        ConfigCommand::Preset { name: None, .. } => preset::list(common, output),
        ConfigCommand::Preset { name: Some(name), dry_run } => preset::choose(common, &name, dry_run, output),
        ConfigCommand::Path => path(common, output),
    }
}

fn check(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let (workspace, registry) = (wire::workspace(common)?, wire::registry_in(common.workspace.as_deref())?);
    let mut loaded = wire::check(common, &workspace, &registry);
    let wrong = loaded.errors().next().is_some();
    if !wrong {
        let wire = Wire::with_config(registry, common, &workspace, &loaded)?;
        warn_of_idle_agents(&wire, &mut loaded)?;
        wire::warn_of_idle_rules(&wire, &mut loaded);
        wire::warn_of_settings(&wire, &mut loaded);
    }
    if output.json {
        let status = if wrong { "error" } else { "success" };
        output.data(&json!({ "status": status, "problems": report_json(&loaded.problems) }))?;
    } else if loaded.problems.is_empty() {
        print(&format!("{GOOD}ok{GOOD:#}: the configuration has no problems\n"))?;
    } else {
        print(&loaded.report(ReportStyle::Styled, wire::report_width(output)))?;
    }
    Ok(if wrong { Exit::Usage } else { Exit::Success })
}

/// Warns of agents that are offered no tool.
fn warn_of_idle_agents(wire: &Wire, loaded: &mut Loaded) -> Result<(), Failure> {
    for agent in wire.agents() {
        let session = wire.listing(&agent, &CallerArgs::default())?;
        let offered = |entry: &Arc<ToolEntry>| wire.policy.offer(&entry.candidate(), session.caller()).verdict != Verdict::Deny;
        if !wire.registry.entries().iter().any(offered) {
            let message = format!("the agent '{agent}' is offered no tool");
            let help = format!("`haft explain --all --agent {agent}` shows what removed each");
            loaded.warn(&["tools.disabled", "tools.profile", "tools.deny", "tools.allow"], message, help);
        }
    }
    Ok(())
}

fn show(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let provenance = &wire.settings.provenance;
    let mut table = Table::new(&[("KEY", ColumnFit::Keep), ("VALUE", ColumnFit::Wrap), ("SOURCE", ColumnFit::Wrap)]);
    for row in provenance.rows() {
        table.row(vec![TableCell::new(&row.path), TableCell::new(&row.value), TableCell::styled(&row.source, DIM)]);
    }
    output.show(|| provenance.to_json(), || table.render(output.width))
}

fn path(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let project = wire::workspace(common)?.join(".haft").join("config.toml");
    let user = wire::config_file(common).map_or_else(wire::user_file, Ok)?;
    let rows = [("user", user), ("project", project), ("data", wire::data_folder()?)];
    let row = |(name, path): &(&str, PathBuf)| ((*name).to_owned(), json!({ "path": path.to_string_lossy(), "exists": path.exists() }));
    let data = || rows.iter().map(row).collect::<serde_json::Map<_, _>>();
    let mut table = Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Keep), ("", ColumnFit::Keep)]);
    for (name, path) in &rows {
        let state = if path.exists() { "" } else { "(does not exist)" };
        table.row(vec![TableCell::new(name), TableCell::new(&path.to_string_lossy()), TableCell::styled(state, DIM)]);
    }
    output.show(data, || table.render(None))
}
