//! `haft config`: check, show, schema, path.

use std::sync::Arc;

use haft_config::{Loaded, Look, report_json};
use haft_engine::{Entry, Policy, Verdict};
use serde_json::json;

use crate::arguments::{Common, Config};
use crate::failure::{Exit, Failure};
use crate::output::{DIM, GOOD, Output, print};
use crate::table::{Cell, Room, Table};
use crate::wire::{self, Wire};

pub(crate) fn run(common: &Common, command: Config, output: &Output) -> Result<Exit, Failure> {
    match command {
        Config::Check => check(common, output),
        Config::Show => show(common, output),
        Config::Schema => output.data(&haft_config::schema()).map(|()| Exit::Success),
        Config::Path => path(common, output),
    }
}

fn check(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let (workspace, registry) = (wire::workspace(common)?, wire::registry()?);
    let mut loaded = wire::check(common, &workspace, &registry);
    let wrong = loaded.errors().next().is_some();
    if !wrong {
        let wire = Wire::loaded(registry, common, &workspace, &loaded)?;
        warn_of_idle_agents(&wire, &mut loaded)?;
        wire::warn_of_idle_rules(&wire, &mut loaded);
    }
    if output.json {
        let status = if wrong { "error" } else { "success" };
        output.data(&json!({ "status": status, "problems": report_json(&loaded.problems) }))?;
    } else if loaded.problems.is_empty() {
        print(&format!("{GOOD}ok{GOOD:#}: nothing is wrong with the configuration\n"))?;
    } else {
        print(&loaded.report(Look::Styled, wire::report_width(output)))?;
    }
    Ok(if wrong { Exit::Usage } else { Exit::Success })
}

/// An agent that no tool is left for is hardly what anyone wants.
fn warn_of_idle_agents(wire: &Wire, loaded: &mut Loaded) -> Result<(), Failure> {
    let agents = loaded.provenance.names_beneath(&["agents"]);
    for agent in std::iter::once(wire::MAIN).chain(agents.iter().map(String::as_str)) {
        let session = wire.listing_for(agent)?;
        let offered = |entry: &Arc<Entry>| wire.policy.offer(&entry.candidate(), session.caller()).verdict != Verdict::Deny;
        if !wire.registry.entries().iter().any(offered) {
            let message = format!("no tool is left for the agent '{agent}'");
            let help = format!("`haft explain --all --agent {agent}` says what removed each");
            loaded.warn(&["tools.disabled", "tools.profile", "tools.deny", "tools.allow"], message, help);
        }
    }
    Ok(())
}

fn show(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let wire = Wire::new(common, output)?;
    let provenance = &wire.settings.provenance;
    if output.json {
        output.data(&provenance.to_json())?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(&[("KEY", Room::Keep), ("VALUE", Room::Wrap), ("SOURCE", Room::Wrap)]);
    for row in provenance.rows() {
        table.row(vec![Cell::new(&row.path), Cell::new(&row.value), Cell::styled(&row.source, DIM)]);
    }
    print(&table.render(output.width))?;
    Ok(Exit::Success)
}

fn path(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let project = wire::workspace(common)?.join(".haft").join("config.toml");
    let user = wire::config_file(common).map_or_else(wire::user_file, Ok)?;
    let rows = [("user", user), ("project", project), ("data", wire::data_folder()?)];
    if output.json {
        let object: serde_json::Map<_, _> = rows
            .iter()
            .map(|(name, path)| ((*name).to_owned(), json!({ "path": path.to_string_lossy(), "exists": path.exists() })))
            .collect();
        output.data(&object)?;
        return Ok(Exit::Success);
    }
    let mut table = Table::new(&[("", Room::Keep), ("", Room::Keep), ("", Room::Keep)]);
    for (name, path) in &rows {
        let state = if path.exists() { "" } else { "(not there)" };
        table.row(vec![Cell::new(name), Cell::new(&path.to_string_lossy()), Cell::styled(state, DIM)]);
    }
    print(&table.render(None))?;
    Ok(Exit::Success)
}
