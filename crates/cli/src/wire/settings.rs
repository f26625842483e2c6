//! The configuration of this process: files, variables and flags, checked against what there is.

use std::path::{Path, PathBuf};

use haft_config::{Complaint, Config, Flag, Layer, ListOf, Loaded, Look, Problem, Provenance, Request};
use haft_contract::Effect;
use haft_engine::catalog::{PROFILES, Vocabulary};
use haft_engine::{Registry, RuleKind, RuleSet};
use haft_host::{LocalFiles, NetworkRule, WorkspaceOptions};

use super::policy::{home, vocabulary};
use super::trust::Trusted;
use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::{Output, note, warn};

/// What holds for this process.
#[derive(Debug)]
pub(crate) struct Settings {
    pub(crate) config: Config,
    pub(crate) provenance: Provenance,
    pub(crate) data_folder: PathBuf,
    pub(crate) workspace: PathBuf,
    pub(crate) agent: String,
    /// The files of the workspace that hooks name: whoever writes one of them chooses what the hook does.
    hook_files: Vec<PathBuf>,
    /// A file in place of the person's own.
    named_file: Option<PathBuf>,
}

impl Settings {
    /// The file in place of the person's own, if one was named.
    pub(super) fn named_file(&self) -> Option<&Path> {
        self.named_file.as_deref()
    }
    /// Haft's own data and configuration, and what hooks run, which no tool may write.
    pub(super) fn own_paths(&self) -> Vec<PathBuf> {
        // Without HOME there is no such folder, and nothing in it to protect.
        let config_folder = user_file().ok().and_then(|file| file.parent().map(Path::to_owned));
        let own = std::iter::once(self.data_folder.clone()).chain(config_folder).chain(self.named_file.clone());
        own.chain(self.hook_files.iter().cloned()).collect()
    }
}

/// Loads the configuration; errors end the command. Warnings about variables are for everyone, because there is no file
/// in which they could be seen later; the others are for those who want to hear more.
pub(super) fn load(common: &Common, registry: &Registry, output: &Output) -> Result<Settings, Failure> {
    let workspace = workspace(common)?;
    let loaded = check(common, &workspace, registry);
    if loaded.errors().next().is_some() {
        return Err(refused(&loaded, output));
    }
    if output.verbose && !loaded.problems.is_empty() {
        note(loaded.report(Look::Styled, report_width(output)).trim_end());
    } else {
        loaded.warnings().filter(|problem| problem.source.layer == Layer::Environment).for_each(say);
    }
    of(common, workspace, &loaded)
}

/// What a configuration without errors holds for this process.
pub(super) fn of(common: &Common, workspace: PathBuf, loaded: &Loaded) -> Result<Settings, Failure> {
    let agent = common.agent.clone().unwrap_or_else(|| super::MAIN.into());
    let (config, provenance, hook_files) = (loaded.config.clone(), loaded.provenance.clone(), loaded.hook_files.clone());
    Ok(Settings { config, provenance, data_folder: data_folder()?, workspace, agent, hook_files, named_file: config_file(common) })
}

fn say(problem: &Problem) {
    let help = problem.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    warn(&format!("{}{help}", problem.message));
}

/// Reads and checks every layer.
pub(crate) fn check(common: &Common, workspace: &Path, registry: &Registry) -> Loaded {
    read(common, workspace, registry, Trust::Asked)
}

/// Whether a project's file may start what it wants to start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// If the person said so.
    Asked,
    /// As if they had not.
    Never,
}

fn is_trusted(workspace: &Path, fingerprint: &str) -> bool {
    data_folder().and_then(|folder| Trusted::read(&folder)).is_ok_and(|trusted| trusted.holds(workspace, fingerprint))
}

/// Reads and checks every layer, with or without what only trust would start.
pub(crate) fn read(common: &Common, workspace: &Path, registry: &Registry, trust: Trust) -> Loaded {
    read_with(common, workspace, registry, trust, None)
}

/// As [`check`], if the person's file held this text.
pub(crate) fn tried(common: &Common, workspace: &Path, registry: &Registry, own_text: &str) -> Loaded {
    read_with(common, workspace, registry, Trust::Asked, Some(own_text))
}

fn read_with(common: &Common, workspace: &Path, registry: &Registry, trust: Trust, own_text: Option<&str>) -> Loaded {
    let environment = |name: &str| std::env::var_os(name);
    let flags = flags(common);
    let vocabulary = vocabulary(registry);
    let judge = |of: ListOf, entry: &str| judged(of, entry, &vocabulary, workspace);
    let mut request = Request::new(workspace, &environment);
    request.config_file = config_file(common);
    request.config_file_from = if common.config.is_some() { "--config" } else { "HAFT_CONFIG" };
    request.own_text = own_text;
    request.environment_names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    request.flags = &flags;
    request.check = Some(&judge);
    request.other_variables = &[super::models::LOCAL_VARIABLE];
    let trusts = |fingerprint: &str| trust == Trust::Asked && is_trusted(workspace, fingerprint);
    request.trusted = Some(&trusts);
    let spelling = |entry: &str| vocabulary.canonical(entry).map_or_else(|| entry.to_owned(), str::to_owned);
    request.spelling = Some(&spelling);
    haft_config::load(&request)
}

fn flags(common: &Common) -> Vec<Flag<'_>> {
    let flag = |key: &'static str, name: &'static str, value: Option<String>| value.map(|value| Flag { key, value, name });
    [
        flag("preset", "--preset", common.preset.clone()),
        flag("access", "--access", common.access.map(|level| level.to_string())),
        flag("tools.profile", "--profile", common.profile.clone()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The file that was named, by flag or else by variable.
pub(crate) fn config_file(common: &Common) -> Option<PathBuf> {
    let named = || std::env::var_os("HAFT_CONFIG").filter(|value| !value.is_empty()).map(PathBuf::from);
    let file = common.config.clone().or_else(named)?;
    Some(std::path::absolute(&file).unwrap_or(file))
}

/// Where the data is.
pub(crate) fn data_folder() -> Result<PathBuf, Failure> {
    haft_config::data_folder(&|name: &str| std::env::var_os(name)).map_err(|error| Failure::config(error.to_string()))
}

/// Where the person's own file is, when none was named.
pub(crate) fn user_file() -> Result<PathBuf, Failure> {
    haft_config::config_file(&|name: &str| std::env::var_os(name)).map_err(|error| Failure::config(error.to_string()))
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
pub(crate) fn refused(loaded: &Loaded, output: &Output) -> Failure {
    let message = loaded.errors().next().map_or_else(String::new, |problem| problem.message.clone());
    Failure::config(message)
        .report(loaded.report(Look::Styled, report_width(output)))
        .fact("problems", haft_config::report_json(&loaded.problems))
}

pub(crate) fn report_width(output: &Output) -> usize {
    output.width.unwrap_or(140)
}

/// Judges an entry of a list by what only the whole program knows.
fn judged(of: ListOf, entry: &str, vocabulary: &Vocabulary, workspace: &Path) -> Result<(), Complaint> {
    match of {
        ListOf::Tools => tool(entry, vocabulary),
        ListOf::Matchers => matcher(entry, vocabulary),
        ListOf::Profiles => profile(entry),
        ListOf::RulesDeny => rule(RuleKind::Deny, entry, vocabulary),
        ListOf::RulesAsk => rule(RuleKind::Ask, entry, vocabulary),
        ListOf::RulesAllow => rule(RuleKind::Allow, entry, vocabulary),
        ListOf::Hosts => {
            entry.parse::<NetworkRule>().map(drop).map_err(|error| Complaint { message: error.problem, help: Some(HOSTS.into()) })
        }
        ListOf::Globs => glob(entry, workspace),
        ListOf::Folders => folder(Path::new(entry)),
        _ => Ok(()),
    }
}

/// The host alone knows which patterns it takes, and says so when it opens files.
pub(super) fn glob(entry: &str, workspace: &Path) -> Result<(), Complaint> {
    let options = WorkspaceOptions { root: workspace.to_owned(), deny_read: vec![entry.to_owned()], ..WorkspaceOptions::default() };
    match LocalFiles::open(options) {
        Err(error) if error.message().starts_with(GLOBS) => Err(Complaint {
            message: error.message()[GLOBS.len()..].trim_end_matches('.').to_owned(),
            help: Some("use a pattern like \"**/*.key\"".into()),
        }),
        _ => Ok(()),
    }
}

/// How the host begins what it says of a pattern.
const GLOBS: &str = "workspace.deny_read: ";

fn folder(path: &Path) -> Result<(), Complaint> {
    let complaint = |message: &str| Complaint {
        message: message.into(),
        help: Some("create the folder, correct the path, or remove the entry".into()),
    };
    match path.metadata() {
        Ok(metadata) if !metadata.is_dir() => return Err(complaint("it is not a folder")),
        Ok(_) => {}
        Err(error) => return Err(complaint(&format!("it cannot be opened: {error}"))),
    }
    let options = WorkspaceOptions { root: path.to_owned(), ..WorkspaceOptions::default() };
    LocalFiles::open(options).map(drop).map_err(|error| complaint(error.message()))
}

const HOSTS: &str =
    "a host (example.org), all beneath one (*.example.org), an address (10.1.2.3) or a range (10.1.0.0/16), with or without :port";

/// Groups that the person made are known to the configuration alone, which asks for all others here.
fn tool(entry: &str, vocabulary: &Vocabulary) -> Result<(), Complaint> {
    vocabulary.check_entry(entry, &[]).map_err(|(message, help)| Complaint { message, help: Some(help) })
}

fn matcher(entry: &str, vocabulary: &Vocabulary) -> Result<(), Complaint> {
    let Some(kind) = entry.trim().strip_prefix("effect:") else { return tool(entry, vocabulary) };
    if Effect::KINDS.contains(&kind) {
        return Ok(());
    }
    Err(Complaint { message: format!("there is no effect '{kind}'"), help: Some(format!("use one of: {}", Effect::KINDS.join(", "))) })
}

fn profile(entry: &str) -> Result<(), Complaint> {
    if PROFILES.contains(&entry) {
        return Ok(());
    }
    let near = haft_engine::nearest(entry, PROFILES.iter().copied());
    let meant = near.first().map(|near| format!("did you mean \"{near}\"? ")).unwrap_or_default();
    Err(Complaint { message: format!("there is no profile '{entry}'"), help: Some(format!("{meant}There are: {}", PROFILES.join(", "))) })
}

fn rule(kind: RuleKind, entry: &str, vocabulary: &Vocabulary) -> Result<(), Complaint> {
    RuleSet::check(kind, entry, vocabulary, home().as_deref()).map_err(|fault| Complaint { message: fault.message, help: fault.help })
}
