//! `haft plugins`: lists, adds, checks and removes plugins.

mod declared;

use std::path::{Path, PathBuf};

use haft_contract::ToolSource;
use haft_plugins::{InstalledPlugin, PluginFault, PluginFiles, PluginManifest, PluginOrigin, PluginRecord};
use haft_text::display;
use serde_json::{Value, json};

use self::declared::{declared, declared_json};
use crate::arguments::{AddPluginArgs, Common, PluginsCommand};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, DIM, GOOD, Output, note, print};
use crate::table::{ColumnFit, Table, TableCell};
use crate::terminal::Terminal;
use crate::text_builder::TextBuilder;
use crate::wire::{self, ProjectPlugin};

pub(crate) use self::declared::trust_lines;

const ADD: &str = "Add it? [y]es, [n]o: ";

pub(crate) fn run(common: &Common, command: &PluginsCommand, output: &Output) -> Result<Exit, Failure> {
    match command {
        PluginsCommand::List => list(common, output),
        PluginsCommand::Add(request) => add(common, request, output),
        PluginsCommand::Check { folder: None } => check_all(common, output),
        PluginsCommand::Check { folder: Some(folder) } => check(common, folder, output),
        PluginsCommand::Remove { name } => remove(name, output),
    }
}

fn faulty(fault: &PluginFault) -> Failure {
    Failure::failed("plugin_error", fault.to_string())
        .help("`haft plugins check FOLDER` checks it without adding it; docs/PLUGINS.md has the format")
}

/// One line of the list.
struct PluginRow {
    name: String,
    version: String,
    from: &'static str,
    tools: Vec<String>,
    /// What keeps it from running.
    problem: Option<String>,
    source: PathBuf,
}

impl PluginRow {
    fn of_record(plugin: InstalledPlugin) -> Self {
        let problem = plugin.warning();
        let PluginRecord { name, version, tools, source, origin, .. } = plugin.record;
        Self { name, version, from: origin.as_str(), tools, problem, source }
    }

    /// A plugin of the project that no record names.
    fn of_project(plugin: ProjectPlugin) -> Self {
        let folder = plugin.folder;
        let named = folder.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let (name, version, tools, problem) = match plugin.content {
            Ok((_, manifest)) => {
                let tools = manifest.tools.into_iter().map(|tool| tool.name).collect();
                (manifest.name, manifest.version, tools, "not trusted: see `haft trust --show`, and run `haft trust`".to_owned())
            }
            Err(fault) => (named, String::new(), Vec::new(), fault.to_string()),
        };
        Self { name, version, from: "project", tools, problem: Some(problem), source: folder }
    }

    fn to_json(&self) -> Value {
        json!({
            "name": self.name, "version": self.version, "from": self.from, "tools": self.tools, "source": self.source.to_string_lossy(),
            "runs": self.problem.is_none(), "problem": self.problem,
        })
    }
}

/// Every plugin that counts here, or would.
fn rows(common: &Common) -> Result<Vec<PluginRow>, Failure> {
    let workspace = wire::workspace(common)?;
    let installed = wire::plugin_store()?.installed(Some(&workspace)).map_err(|fault| faulty(&fault))?;
    let known: Vec<PathBuf> = installed.iter().map(|plugin| plugin.record.source.clone()).collect();
    let registry = wire::registry()?;
    let mut rows = Vec::new();
    for plugin in installed {
        let clash = wire::register_plugin(&registry, &plugin).err();
        let row = PluginRow::of_record(plugin);
        rows.push(PluginRow { problem: row.problem.or(clash), ..row });
    }
    let others = wire::project_plugins(&workspace).into_iter().filter(|plugin| !known.contains(&plugin.folder));
    rows.extend(others.map(PluginRow::of_project));
    Ok(rows)
}

fn list(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let rows = rows(common)?;
    let columns = [
        ("NAME", ColumnFit::Keep),
        ("VERSION", ColumnFit::Keep),
        ("FROM", ColumnFit::Keep),
        ("TOOLS", ColumnFit::Wrap),
        ("STATE", ColumnFit::Wrap),
    ];
    let mut table = Table::new(&columns);
    for row in &rows {
        let state = match &row.problem {
            None => TableCell::styled("runs", GOOD),
            Some(problem) => TableCell::styled(problem, CAUTION),
        };
        let tools = TableCell::new(&row.tools.join(", "));
        table.row(vec![TableCell::new(&row.name), TableCell::new(&row.version), TableCell::styled(row.from, DIM), tools, state]);
    }
    if rows.is_empty() {
        note("there are no plugins: `haft plugins add FOLDER` adds one");
    }
    let text = || if rows.is_empty() { String::new() } else { table.render(output.width) };
    output.show(|| rows.iter().map(PluginRow::to_json).collect::<Vec<_>>(), text)
}

/// A folder that holds together, and whose tools fit among the others.
struct CheckedFolder {
    folder: PathBuf,
    files: PluginFiles,
    manifest: PluginManifest,
    /// What it would replace.
    before: Option<PluginRecord>,
}

fn read(common: &Common, folder: &Path) -> Result<CheckedFolder, Failure> {
    let shown = display::escape_line(&folder.to_string_lossy()).into_owned();
    let folder = folder
        .canonicalize()
        .map_err(|error| Failure::usage(format!("'{shown}' cannot be read: {error}")).help("name the folder of a plugin"))?;
    let files = PluginFiles::read(&folder).map_err(|fault| faulty(&fault))?;
    let manifest = files.manifest().map_err(|fault| faulty(&fault))?;
    let store = wire::plugin_store()?;
    let records = store.records().map_err(|fault| faulty(&fault))?;
    let is_own = |record: &&PluginRecord| record.name == manifest.name && !matches!(record.origin, PluginOrigin::Project(_));
    let before = records.iter().find(is_own).cloned();
    let registry = wire::registry_in(common.workspace.as_deref())?;
    registry.unregister_source(&ToolSource::Plugin(manifest.name.clone()));
    let tried = InstalledPlugin::tried(&files, &folder).map_err(|fault| faulty(&fault))?;
    let unusable = |why: String| {
        Failure::failed("plugin_error", format!("the plugin '{}' cannot be used: {why}", manifest.name))
            .help("change its manifest, and try again")
    };
    wire::register_plugin(&registry, &tried).map_err(unusable)?;
    for entry in manifest.tools.iter().filter_map(|tool| registry.get(&tool.name)) {
        entry.compile().map_err(|why| unusable(format!("the parameters of '{}' are no JSON Schema: {why}", entry.name())))?;
    }
    Ok(CheckedFolder { folder, files, manifest, before })
}

fn add(common: &Common, request: &AddPluginArgs, output: &Output) -> Result<Exit, Failure> {
    let checked = read(common, &request.folder)?;
    let CheckedFolder { folder, files, manifest, before } = &checked;
    let origin = if request.link { PluginOrigin::Linked } else { PluginOrigin::User };
    let record = PluginRecord::new(files, manifest, folder, origin);
    let is_same = before.as_ref() == Some(&record);
    let page = page(&checked, &record)?;
    if !request.yes && !is_same {
        if !Terminal::is_there() {
            let help = "look at it with `haft plugins check FOLDER`, then repeat this with --yes";
            return Err(Failure::usage("a plugin is added after a question, and nobody can be asked here").help(help));
        }
        let answer = block_on(async { Ok(Terminal::standard().confirm(&format!("{page}\n"), ADD).await) })?;
        if answer != Some(true) {
            note("not added");
            return Ok(Exit::Failed);
        }
    } else if !output.json {
        print(&page)?;
    }
    // Also where nothing changed: the copy may have.
    wire::plugin_store()?.approve(files, record.clone()).map_err(|fault| faulty(&fault))?;
    let data = || {
        let mut data = declared_json(manifest, &record.fingerprint);
        (data["added"], data["changed"]) = (json!(true), json!(!is_same));
        data
    };
    let optional: Vec<&str> = manifest.tools.iter().filter(|tool| tool.optional).map(|tool| tool.name.as_str()).collect();
    let text = || {
        let mut page = TextBuilder::default();
        page.line(format_args!("{GOOD}added{GOOD:#}: {} {}", manifest.name, display::escape_line(&manifest.version)));
        if !optional.is_empty() {
            page.line(format_args!("optional tools are offered once you name them: tools.also_allow = {optional:?}"));
        }
        page.finish()
    };
    output.show(data, text)
}

/// What the folder declares, and what differs from the plugin of this name.
fn page(checked: &CheckedFolder, record: &PluginRecord) -> Result<String, Failure> {
    let mut page = declared(&checked.manifest, &checked.files, &record.fingerprint);
    if let Some(before) = checked.before.as_ref().filter(|before| before.fingerprint != record.fingerprint) {
        let changed = wire::plugin_store()?.differences(&checked.files, before);
        page.line(format_args!("\n{CAUTION}It replaces version {}{CAUTION:#}", display::escape_line(&before.version)));
        page.section("Files that differ", &display::escape_lines(&changed.join("\n")));
    }
    Ok(page.finish())
}

fn check(common: &Common, folder: &Path, output: &Output) -> Result<Exit, Failure> {
    let checked = read(common, folder)?;
    let record = PluginRecord::new(&checked.files, &checked.manifest, &checked.folder, PluginOrigin::User);
    let page = page(&checked, &record)?;
    output.show(|| declared_json(&checked.manifest, &record.fingerprint), || page)
}

fn check_all(common: &Common, output: &Output) -> Result<Exit, Failure> {
    let rows = rows(common)?;
    let problems: Vec<&PluginRow> = rows.iter().filter(|row| row.problem.is_some()).collect();
    let page = || {
        let mut page = TextBuilder::default();
        for row in &problems {
            let (name, problem) = (display::escape_line(&row.name), row.problem.as_deref().unwrap_or_default());
            page.line(format_args!("{CAUTION}{name}{CAUTION:#}: {}", display::escape_line(problem)));
        }
        page.line(format_args!("{} can be used", haft_text::numbers::count(rows.len() - problems.len(), "plugin")));
        page.finish()
    };
    output.show(|| rows.iter().map(PluginRow::to_json).collect::<Vec<_>>(), page)?;
    Ok(if problems.is_empty() { Exit::Success } else { Exit::Failed })
}

fn remove(name: &str, output: &Output) -> Result<Exit, Failure> {
    let store = wire::plugin_store()?;
    let records = store.records().map_err(|fault| faulty(&fault))?;
    let is_own = |record: &PluginRecord| record.name == name && !matches!(record.origin, PluginOrigin::Project(_));
    if !records.iter().any(is_own) {
        let near = haft_text::suggest::nearest(name, records.iter().map(|record| record.name.as_str()));
        let help = match near.first() {
            Some(near) if *near == name => "it is one of a project: `haft trust --revoke` in that folder removes it".to_owned(),
            Some(near) => format!("did you mean '{near}'? `haft plugins list` lists them"),
            None => "`haft plugins list` lists them".to_owned(),
        };
        return Err(Failure::failed("not_found", format!("you have added no plugin '{}'", display::escape_line(name))).help(help));
    }
    store.remove(is_own).map_err(|fault| faulty(&fault))?;
    output.show(|| json!({ "removed": name }), || format!("{GOOD}removed{GOOD:#}: {name}\n"))
}
