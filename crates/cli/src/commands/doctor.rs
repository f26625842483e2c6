//! `haft doctor`: checks what works here, and says how to fix the rest. It sends nothing.

mod automation;
mod channels;
mod machine;
mod media;
mod nodes;
mod packages;
mod sandbox;
mod state;

use anstyle::Style;
use haft_config::Loaded;
use haft_engine::Registry;
use haft_text::display;
use serde_json::{Value, json};

use self::packages::Package;
use crate::arguments::{CallerArgs, Common, DoctorArgs};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, DIM, ERROR, GOOD, Output, PLAIN};
use crate::table::wrap;
use crate::wire::{self, Wire};

/// The result of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CheckState {
    Good,
    /// It works, but could be better.
    Warning,
    Error,
}

/// One check.
#[derive(Debug, Clone)]
struct DoctorCheck {
    name: &'static str,
    state: CheckState,
    message: String,
    fix: Option<String>,
    /// What to install.
    package: Option<Package>,
    /// More lines of text.
    more: Vec<String>,
    /// More JSON.
    details: Option<Value>,
}

impl DoctorCheck {
    fn good(name: &'static str, message: impl Into<String>) -> Self {
        Self { name, state: CheckState::Good, message: message.into(), fix: None, package: None, more: Vec::new(), details: None }
    }
    fn warning(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: CheckState::Warning, fix: Some(fix.into()), ..Self::good(name, message) }
    }
    fn error(name: &'static str, message: impl Into<String>, fix: impl Into<String>) -> Self {
        Self { state: CheckState::Error, fix: Some(fix.into()), ..Self::good(name, message) }
    }
    /// What is installed to fix it.
    fn install(self, package: Package) -> Self {
        Self { package: Some(package), ..self }
    }
}

pub(crate) fn run(common: &Common, request: DoctorArgs, output: &Output) -> Result<Exit, Failure> {
    let checks = block_on(async { Ok(all(common, output).await) })?;
    if request.fix {
        let missing: Vec<Package> = checks.iter().filter_map(|check| check.package).collect();
        return packages::print(&missing, output);
    }
    output.show(|| checks.iter().map(to_json).collect::<Vec<_>>(), || checks.iter().map(|check| lines(check, output)).collect())?;
    let broken = checks.iter().any(|check| check.state == CheckState::Error);
    Ok(if broken { Exit::Failed } else { Exit::Success })
}

/// Every check as JSON.
pub(crate) async fn report(common: &Common, output: &Output) -> Value {
    all(common, output).await.iter().map(to_json).collect()
}

async fn all(common: &Common, output: &Output) -> Vec<DoctorCheck> {
    let mut checks = Vec::new();
    match wire::registry_in(common.workspace.as_deref()) {
        Ok(registry) => {
            checks.extend(configuration(common, &registry, output));
            checks.push(tools(&registry));
        }
        Err(failure) => checks.push(DoctorCheck::error("tools", failure.message.as_str(), "report it: a built-in tool is faulty")),
    }
    if let Ok(wire) = Wire::new(common, output) {
        checks.extend(channels::checks(&wire).await);
        checks.extend(media::checks(&wire));
        checks.push(automation::check(&wire).await);
    }
    // After everything that opens the database: a damaged one is recovered by the next that does, and says so.
    checks.extend(state::checks().await);
    checks.extend(nodes::check(common, output).await);
    checks.extend(machine::checks());
    checks
}

fn configuration(common: &Common, registry: &Registry, output: &Output) -> Vec<DoctorCheck> {
    let workspace = match wire::workspace(common) {
        Ok(workspace) => workspace,
        Err(failure) => {
            return vec![DoctorCheck::error("workspace", failure.message.as_str(), failure.help.as_deref().unwrap_or_default())];
        }
    };
    let mut checks = vec![configuration_check(&wire::check(common, &workspace, registry))];
    if checks.iter().any(|check| check.state == CheckState::Error) {
        return checks;
    }
    let opened =
        Wire::new(common, output).and_then(|wire| Ok((wire.listing(&wire.settings.agent, &CallerArgs::default())?, wire.shell()?)));
    checks.extend(match opened {
        Ok((session, shell)) => {
            let usable = DoctorCheck::good("workspace", format!("{} ({})", workspace.display(), session.access()));
            [vec![usable], sandbox::checks(&shell)].concat()
        }
        Err(failure) => {
            const FIX: &str = "correct [workspace] in the configuration; `haft config show` shows the file";
            vec![DoctorCheck::error("workspace", failure.message.as_str(), FIX)]
        }
    });
    checks
}

fn configuration_check(loaded: &Loaded) -> DoctorCheck {
    const FIX: &str = "`haft config check` lists them";
    match (loaded.errors().count(), loaded.warnings().count()) {
        (0, 0) => DoctorCheck::good("configuration", "no problems"),
        (0, warnings) => DoctorCheck::warning("configuration", format!("{warnings} warnings"), FIX),
        (errors, _) => DoctorCheck::error("configuration", format!("{errors} errors: haft does not run with it"), FIX),
    }
}

fn tools(registry: &Registry) -> DoctorCheck {
    let entries = registry.entries();
    let faults: Vec<String> =
        entries.iter().filter_map(|entry| entry.compile().err().map(|why| format!("{}: {why}", entry.name()))).collect();
    if faults.is_empty() {
        return DoctorCheck::good("tools", format!("{} tools, every schema compiles", entries.len()));
    }
    DoctorCheck::error("tools", faults.join("; "), "switch them off with tools.disabled, and report it")
}

fn to_json(check: &DoctorCheck) -> Value {
    let mut value = json!({ "check": check.name, "status": appearance(check.state).1, "message": check.message, "fix": check.fix });
    if let Some(details) = &check.details {
        value["details"] = details.clone();
    }
    value
}

fn appearance(state: CheckState) -> (&'static str, &'static str, Style) {
    match state {
        CheckState::Good => ("✓", "ok", GOOD),
        CheckState::Warning => ("!", "warning", CAUTION),
        CheckState::Error => ("✗", "error", ERROR),
    }
}

fn lines(check: &DoctorCheck, output: &Output) -> String {
    let (symbol, word, style) = appearance(check.state);
    let (mark, indent) = if output.has_symbols() { (symbol, 2) } else { (word, 9) };
    let width = output.width.map_or(usize::MAX, |width| width.saturating_sub(indent));
    let message = wrap(&display::escape_line(&format!("{}: {}", check.name, check.message)), width);
    let more = check.more.iter().flat_map(|line| wrap(&display::escape_line(line), width));
    let fix = check.fix.iter().flat_map(|fix| wrap(&display::escape_line(&format!("help: {fix}")), width));
    let lines = message.into_iter().map(|line| (PLAIN, line)).chain(more.chain(fix).map(|line| (DIM, line)));
    let marked = |(number, (text_style, line)): (usize, (Style, String))| {
        let mark = if number == 0 { mark } else { "" };
        format!("{style}{mark:<indent$}{style:#}{text_style}{line}{text_style:#}\n")
    };
    lines.enumerate().map(marked).collect()
}
