//! The configuration of this process: files, variables and flags, checked against what there is.

use std::path::{Path, PathBuf};

use haft_config::{Complaint, Config, Flag, ListOf, Loaded, Look, Paths, Provenance, Request};
use haft_engine::Registry;
use haft_host::NetworkRule;

use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::{Output, note};

/// What holds for this process.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    pub(crate) provenance: Provenance,
    pub(crate) paths: Paths,
    pub(crate) workspace: PathBuf,
    pub(crate) agent: String,
    /// A file in place of the person's own.
    named_file: Option<PathBuf>,
}

impl Settings {
    /// Haft's own data and configuration, which no tool may write.
    pub(super) fn own_paths(&self) -> Vec<PathBuf> {
        let config_folder = self.paths.config_file.parent().map(Path::to_owned);
        std::iter::once(self.paths.data_folder.clone()).chain(config_folder).chain(self.named_file.clone()).collect()
    }
}

/// Loads the configuration; errors end the command, warnings are shown to those who want to hear more.
pub(super) fn load(common: &Common, registry: &Registry, output: &Output) -> Result<Settings, Failure> {
    let workspace = workspace(common)?;
    let loaded = check(common, &workspace, registry);
    if loaded.errors().next().is_some() {
        return Err(refused(&loaded, output));
    }
    if output.verbose && !loaded.problems.is_empty() {
        note(loaded.report(Look::Styled, report_width(output)).trim_end());
    }
    let agent = common.agent.clone().unwrap_or_else(|| "main".into());
    let named_file = config_file(common);
    Ok(Settings { config: loaded.config, provenance: loaded.provenance, paths: paths()?, workspace, agent, named_file })
}

/// Reads and checks every layer.
pub(crate) fn check(common: &Common, workspace: &Path, registry: &Registry) -> Loaded {
    let environment = |name: &str| std::env::var_os(name);
    let flags: Vec<Flag<'_>> =
        common.access.iter().map(|level| Flag { key: "access", value: level.to_string(), name: "--access" }).collect();
    let judge = |of: ListOf, entry: &str| judged(of, entry, registry);
    let mut request = Request::new(workspace, &environment);
    request.config_file = config_file(common);
    request.environment_names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    request.flags = &flags;
    request.check = Some(&judge);
    haft_config::load(&request)
}

/// The file that was named, by flag or else by variable.
pub(crate) fn config_file(common: &Common) -> Option<PathBuf> {
    let named = || std::env::var_os("HAFT_CONFIG").filter(|value| !value.is_empty()).map(PathBuf::from);
    let file = common.config.clone().or_else(named)?;
    Some(std::path::absolute(&file).unwrap_or(file))
}

/// Where the person's file and the data are.
pub(crate) fn paths() -> Result<Paths, Failure> {
    Paths::resolve(&|name: &str| std::env::var_os(name)).map_err(|error| Failure::config(error.to_string()))
}

/// The workspace: an existing folder, free of links.
pub(crate) fn workspace(common: &Common) -> Result<PathBuf, Failure> {
    let named = common.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let refused = |why: &str| {
        let message = format!("the workspace '{}' cannot be used: {why}", named.display());
        Failure::usage(message).help("give an existing folder with --workspace DIR, or go there first")
    };
    let folder = named.canonicalize().map_err(|error| refused(&error.to_string()))?;
    if folder.is_dir() { Ok(folder) } else { Err(refused("it is not a folder")) }
}

/// The report of a configuration that cannot be used.
fn refused(loaded: &Loaded, output: &Output) -> Failure {
    let message = loaded.errors().next().map_or_else(String::new, |problem| problem.message.clone());
    Failure::config(message)
        .report(loaded.report(Look::Styled, report_width(output)))
        .fact("problems", haft_config::report_json(&loaded.problems))
}

pub(crate) fn report_width(output: &Output) -> usize {
    output.width.unwrap_or(140)
}

/// Judges an entry of a list by what only the whole program knows.
fn judged(of: ListOf, entry: &str, registry: &Registry) -> Result<(), Complaint> {
    match of {
        ListOf::Tools => tool(entry, registry),
        ListOf::Hosts => {
            entry.parse::<NetworkRule>().map(drop).map_err(|error| Complaint { message: error.problem, help: Some(HOSTS.into()) })
        }
        _ => Ok(()),
    }
}

const HOSTS: &str =
    "a host (example.org), all beneath one (*.example.org), an address (10.1.2.3) or a range (10.1.0.0/16), with or without :port";

fn tool(entry: &str, registry: &Registry) -> Result<(), Complaint> {
    if entry.contains('*') || registry.has(entry) {
        return Ok(());
    }
    let help = match registry.nearest(entry).as_slice() {
        [] => "`haft tools` lists the tools".to_owned(),
        near => format!("did you mean {}?", near.join(" or ")),
    };
    Err(Complaint { message: format!("there is no tool '{entry}'"), help: Some(help) })
}
