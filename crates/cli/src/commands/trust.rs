//! `haft trust`: shows what a project's file would start, and trusts it.

mod plugin_offers;

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_config::{FILES, Loaded, PendingTrust, Problem};
use haft_text::display;
use serde_json::{Value, json};

use self::plugin_offers::PluginOffers;
use crate::arguments::{Common, TrustArgs};
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, GOOD, Output, print};
use crate::text_builder::TextBuilder;
use crate::wire::{self, TrustMode, TrustedFolders};

pub(crate) fn run(common: &Common, request: TrustArgs, output: &Output) -> Result<Exit, Failure> {
    let workspace = wire::workspace(common)?;
    let data_folder = wire::data_folder()?;
    let mut trusted = TrustedFolders::read(&data_folder)?;
    let offers = offers(&wire::prompt_folders(&workspace, &data_folder).offered_by_project(), &workspace);
    let plugins = PluginOffers::read(&workspace)?;
    if request.revoke {
        let removed = trusted.remove(&workspace)? | plugins.revoke()?;
        let text = if removed { "the project's file is no longer trusted" } else { "the project's file was not trusted" };
        return output.show(|| json!({ "trusted": false, "changed": removed }), || format!("{text}\n"));
    }
    let loaded = wire::read(common, &workspace, &*wire::registry_in(Some(&workspace))?, TrustMode::Never);
    if let Some(problem) = of_project(&loaded).find(|problem| problem.severity == haft_config::Severity::Error) {
        return Err(Failure::config(format!("the project's file cannot be trusted while it has errors: {}", problem.message))
            .help("`haft config check` lists them"));
    }
    if let Some(why) = &loaded.untrustable {
        return Err(Failure::config(format!("the project's file cannot be trusted: {why}"))
            .help("let its hooks name fewer and smaller files of the workspace"));
    }
    let Some(fingerprint) = loaded.fingerprint.clone() else {
        if !offers.is_empty() || !plugins.is_empty() {
            return trust_folder(&mut trusted, &workspace, &offers, &plugins, request, output);
        }
        let text = "there is no .haft/config.toml here, and there are no skills, commands or plugins, so there is nothing to trust\n";
        return output.show(|| json!({ "trusted": false, "changed": false }), || text.to_owned());
    };
    let before = trusted.contains(&workspace, &fingerprint) && plugins.are_approved();
    if !request.show {
        plugins.approve()?;
        trusted.add(&workspace, fingerprint, SystemTime::now())?;
    }
    show(&loaded, &offers, &plugins, before, request, output)
}

/// Folders with skills, commands and types of agents, relative to the workspace where they lie in it.
fn offers(folders: &[PathBuf], workspace: &Path) -> Vec<String> {
    let shown = |folder: &PathBuf| display::escape_line(&folder.strip_prefix(workspace).unwrap_or(folder).to_string_lossy()).into_owned();
    folders.iter().map(shown).collect()
}

/// Trusts a project without a file: it has nothing to start, and its skills and commands are text without rights.
fn trust_folder(
    trusted: &mut TrustedFolders,
    workspace: &Path,
    offers: &[String],
    plugins: &PluginOffers,
    request: TrustArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let was_known = trusted.knows(workspace);
    let before = was_known && plugins.are_approved();
    if !request.show && !before {
        plugins.approve()?;
        if !was_known {
            trusted.add(workspace, String::new(), SystemTime::now())?;
        }
    }
    let is_trusted = before || !request.show;
    let data = || {
        let changed = is_trusted != before;
        let data = json!({ "trusted": is_trusted, "changed": changed, "starts": [], "doubts": [], "ignored": [], "offers": offers });
        plugins.add_to(data)
    };
    let page = || {
        let mut page = TextBuilder::default();
        page.line(if is_trusted {
            let until = if plugins.is_empty() { "there is no .haft/config.toml, so it starts nothing" } else { PLUGINS_RUN };
            format!("{GOOD}trusted{GOOD:#}: {until}")
        } else {
            let what = if offers.is_empty() { "its plugins" } else { "its skills and commands" };
            format!("{CAUTION}not trusted{CAUTION:#}: {what} do not count")
        });
        plugins.show(&mut page, is_trusted);
        page.section(if is_trusted { OFFERS } else { WOULD_OFFER }, &offers.join("\n"));
        page.finish()
    };
    output.show(data, page)
}

const PLUGINS_RUN: &str = "its plugins run until one of their files changes";
const OFFERS: &str = "Skills, commands and types of agents in these folders count";
const WOULD_OFFER: &str = "Skills, commands and types of agents in these folders would count";

fn of_project(loaded: &Loaded) -> impl Iterator<Item = &Problem> {
    loaded.problems.iter().filter(|problem| problem.source.layer == haft_config::ConfigLayer::Project)
}

fn show(
    loaded: &Loaded,
    offers: &[String],
    plugins: &PluginOffers,
    before: bool,
    request: TrustArgs,
    output: &Output,
) -> Result<Exit, Failure> {
    let messages = |wanted: fn(&Problem) -> bool| -> Vec<String> {
        of_project(loaded).filter(|problem| wanted(problem)).map(|problem| problem.message.clone()).collect()
    };
    let ignored = messages(Problem::is_widening);
    let doubts = messages(|problem| problem.key.as_deref() == Some("hooks[].command"));
    let trusted = before || !request.show;
    if output.json {
        let starts: Vec<Value> = loaded.untrusted.iter().map(pending_json).collect();
        let changed = trusted != before;
        let data =
            json!({ "trusted": trusted, "changed": changed, "starts": starts, "doubts": doubts, "ignored": ignored, "offers": offers });
        output.data(&plugins.add_to(data))?;
        return Ok(Exit::Success);
    }
    let mut page = TextBuilder::default();
    page.line(match (before, request.show) {
        (true, _) => format!("{GOOD}trusted{GOOD:#}: nothing has changed since you trusted it"),
        (false, true) => format!("{CAUTION}not trusted{CAUTION:#}: what the project's file would start does not run"),
        (false, false) => format!("{GOOD}trusted{GOOD:#}: until the file, or a file that its hooks name, changes"),
    });
    let lines = |texts: &[String]| texts.iter().map(|text| display::escape_line(text).into_owned()).collect::<Vec<_>>().join("\n");
    let starts: Vec<String> = loaded.untrusted.iter().flat_map(pending_lines).collect();
    page.section(if trusted { "It starts" } else { "It would start" }, &if starts.is_empty() { "nothing".into() } else { lines(&starts) });
    plugins.show(&mut page, trusted);
    page.section("Look at this first", &lines(&doubts));
    page.section(if trusted { OFFERS } else { WOULD_OFFER }, &offers.join("\n"));
    page.section("A project's file cannot widen access, so this is ignored", &lines(&ignored));
    print(&page.finish())?;
    Ok(Exit::Success)
}

/// Every field, never truncated.
fn pending_lines(pending: &PendingTrust) -> Vec<String> {
    let fields = pending.fields.iter().map(|(name, value)| format!("  {name}: {value}"));
    std::iter::once(format!("{} ({})", pending.what, pending.source)).chain(fields).collect()
}

fn pending_json(pending: &PendingTrust) -> Value {
    let mut object = json!({ "what": pending.what, "source": pending.source.to_string(), "files": [] });
    for (name, value) in &pending.fields {
        match (*name, &mut object["files"]) {
            (FILES, Value::Array(files)) => files.push(json!(value)),
            (name, _) => object[name] = json!(value),
        }
    }
    object
}
