//! `haft doctor`: what works here, and what to do about what does not. Nothing is sent anywhere.

mod machine;
mod sandbox;
mod state;

use anstyle::Style;
use haft_config::Loaded;
use haft_contract::visible;
use haft_engine::Registry;
use serde_json::{Value, json};

use crate::arguments::{Common, Who};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{BAD, CARE, DIM, GOOD, Output, PLAIN, print};
use crate::table::wrapped;
use crate::wire::{self, Wire};

/// How one thing is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// It works.
    Good,
    /// It works, but not as well as it could.
    Care,
    /// It does not work.
    Bad,
}

/// One thing that was looked at.
#[derive(Debug, Clone)]
struct Check {
    name: &'static str,
    state: State,
    message: String,
    fix: Option<String>,
    /// More about it for people, a line each.
    more: Vec<String>,
    /// More about it for programs.
    details: Option<Value>,
}

impl Check {
    fn good(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, state: State::Good, message: message.into(), fix: None, more: Vec::new(), details: None }
    }
    fn care(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Care, fix: Some(fix.into()), ..Self::good(name, message) }
    }
    fn bad(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: State::Bad, fix: Some(fix.into()), ..Self::good(name, message) }
    }
}

pub(crate) fn run(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let checks = block_on(async { Ok(all(common, output).await) })?;
    if output.json {
        output.data(&checks.iter().map(to_json).collect::<Vec<_>>())?;
    } else {
        print(&checks.iter().map(|check| lines(check, output)).collect::<String>())?;
    }
    let broken = checks.iter().any(|check| check.state == State::Bad);
    Ok(if broken { Exit::Failed } else { Exit::Success })
}

async fn all(common: &Common, output: &Output) -> Vec<Check> {
    let mut checks = Vec::new();
    match wire::registry() {
        Ok(registry) => {
            checks.extend(configuration(common, &registry, output));
            checks.push(tools(&registry));
        }
        Err(failure) => checks.push(Check::bad("tools", failure.message.as_str(), "report it: a tool of this haft is faulty")),
    }
    checks.extend(state::checks().await);
    checks.extend(machine::checks());
    checks
}

fn configuration(common: &Common, registry: &Registry, output: &Output) -> Vec<Check> {
    let workspace = match wire::workspace(common) {
        Ok(workspace) => workspace,
        Err(failure) => return vec![Check::bad("workspace", failure.message.as_str(), failure.help.as_deref().unwrap_or_default())],
    };
    let mut checks = vec![judged(&wire::check(common, &workspace, registry))];
    if checks.iter().any(|check| check.state == State::Bad) {
        return checks;
    }
    let opened = Wire::new(common, output).and_then(|wire| Ok((wire.listing(&Who::default())?, wire.shell()?)));
    checks.extend(match opened {
        Ok((session, shell)) => {
            let found = Check::good("workspace", format!("{} ({})", workspace.display(), session.access()));
            [vec![found], sandbox::checks(&shell)].concat()
        }
        Err(failure) => {
            const FIX: &str = "correct [workspace] in the configuration; `haft config show` says where";
            vec![Check::bad("workspace", failure.message.as_str(), FIX)]
        }
    });
    checks
}

fn judged(loaded: &Loaded) -> Check {
    const FIX: &str = "`haft config check` shows what and where";
    match (loaded.errors().count(), loaded.warnings().count()) {
        (0, 0) => Check::good("configuration", "nothing is wrong with it"),
        (0, warnings) => Check::care("configuration", format!("{warnings} to look at"), FIX),
        (errors, _) => Check::bad("configuration", format!("{errors} wrong: haft does not run with it"), FIX),
    }
}

fn tools(registry: &Registry) -> Check {
    let entries = registry.entries();
    let faults: Vec<String> =
        entries.iter().filter_map(|entry| entry.compile().err().map(|why| format!("{}: {why}", entry.name()))).collect();
    if faults.is_empty() {
        return Check::good("tools", format!("{} tools, every schema compiles", entries.len()));
    }
    Check::bad("tools", faults.join("; "), "switch them off with tools.disabled, and report it")
}

fn to_json(check: &Check) -> Value {
    let mut shown = json!({ "check": check.name, "status": look(check.state).1, "message": check.message, "fix": check.fix });
    if let Some(details) = &check.details {
        shown["details"] = details.clone();
    }
    shown
}

fn look(state: State) -> (&'static str, &'static str, Style) {
    match state {
        State::Good => ("✓", "ok", GOOD),
        State::Care => ("!", "warning", CARE),
        State::Bad => ("✗", "error", BAD),
    }
}

fn lines(check: &Check, output: &Output) -> String {
    let (symbol, word, style) = look(check.state);
    let (mark, indent) = if output.has_symbols() { (symbol, 2) } else { (word, 9) };
    let room = output.width.map_or(usize::MAX, |width| width.saturating_sub(indent));
    let message = wrapped(&visible::line(&format!("{}: {}", check.name, check.message)), room);
    let more = check.more.iter().flat_map(|line| wrapped(&visible::line(line), room));
    let fix = check.fix.iter().flat_map(|fix| wrapped(&visible::line(&format!("help: {fix}")), room));
    let lines = message.into_iter().map(|line| (PLAIN, line)).chain(more.chain(fix).map(|line| (DIM, line)));
    let marked = |(number, (text_style, line)): (usize, (Style, String))| {
        let mark = if number == 0 { mark } else { "" };
        format!("{style}{mark:<indent$}{style:#}{text_style}{line}{text_style:#}\n")
    };
    lines.enumerate().map(marked).collect()
}
