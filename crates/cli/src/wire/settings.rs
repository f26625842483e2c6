//! The configuration of this process: files, variables and flags, loaded and checked.

use std::cell::LazyCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_config::{
    Config, ConfigLayer, EntryFault, FlagValue, HookSettings, ListKind, LoadRequest, Loaded, Problem, Provenance, ReportStyle,
};
use haft_contract::{Dialect, Effect};
use haft_engine::Registry;
use haft_host::{LocalFiles, NetworkRules, WorkspaceOptions};
use haft_pattern::{Glob, GlobError, HOST_FORMS};
use haft_policy::catalog::{PROFILES, Vocabulary};
use haft_policy::{RuleKind, RuleSet};

use super::MAIN;
use super::policy::{home, vocabulary};
use super::rule_file::OwnFilePath;
use super::trust::TrustedFolders;
use crate::arguments::Common;
use crate::failure::Failure;
use crate::output::{Output, note, warn};

/// The loaded configuration.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(crate) config: Arc<Config>,
    pub(crate) provenance: Arc<Provenance>,
    pub(crate) data_folder: PathBuf,
    pub(crate) workspace: PathBuf,
    pub(crate) agent: String,
    /// The dialect of the command line.
    dialect: Option<Dialect>,
    /// Files of the workspace that hooks name; a tool that writes one would change the hook.
    hook_files: Vec<PathBuf>,
    /// Hooks of the project that do not run, because the user has not trusted them.
    pub(super) withheld_hooks: Vec<HookSettings>,
    /// The file for the user's own settings.
    pub(super) own_file: OwnFilePath,
    /// The flags that they were loaded with.
    pub(crate) common: Common,
}

impl Settings {
    /// Names of all agents.
    pub(crate) fn agents(&self) -> Vec<String> {
        let agents = self.provenance.names_beneath(&["agents"]);
        std::iter::once(MAIN.to_owned()).chain(agents.into_iter().filter(|name| name != MAIN)).collect()
    }

    /// Refuses an agent that is not configured: nothing would restrict it.
    pub(crate) fn known_agent(&self, name: &str) -> Result<(), Failure> {
        let known = self.agents();
        if known.iter().any(|known| known == name) {
            return Ok(());
        }
        let near = haft_text::suggest::nearest(name, known.iter().map(String::as_str));
        let meant = near.first().map(|near| format!("did you mean '{near}'? Or ")).unwrap_or_default();
        Err(Failure::usage(format!("there is no agent '{name}'")).help(format!("{meant}configure it in [agents.{name}]")))
    }

    /// The user's own groups of tools: their names without `group:`, and what is in them.
    pub(crate) fn tool_groups(&self) -> Vec<(String, Vec<String>)> {
        let members = |members: &[haft_config::Sourced<String>]| members.iter().map(|member| member.value.clone()).collect();
        self.provenance.groups().map(|(name, list)| (name.to_owned(), members(list))).collect()
    }

    /// The user's configuration file, or the one named in its place, or why there is none.
    pub(super) fn own_file(&self) -> Result<PathBuf, String> {
        self.own_file.get().map(Path::to_owned).map_err(str::to_owned)
    }
    /// The dialect of an agent with a model, as `provider/model`: of the command line, the agent, or the model.
    pub(crate) fn dialect(&self, agent: &str, model: Option<&str>) -> Dialect {
        let at = |path: &[&str]| self.provenance.value_at(path).as_text().and_then(|name| name.parse().ok());
        let of_model = || model.and_then(|model| at(&["models", model, "dialect"]));
        self.dialect.or_else(|| at(&["agents", agent, "dialect"])).or_else(of_model).unwrap_or_default()
    }
    /// Paths that no tool may write: Haft's data and configuration, and files of hooks.
    pub(super) fn own_paths(&self) -> Vec<PathBuf> {
        let config_folder = user_file().ok().and_then(|file| file.parent().map(Path::to_owned));
        let own = std::iter::once(self.data_folder.clone()).chain(config_folder).chain(self.own_file.get_named().map(Path::to_owned));
        own.chain(self.hook_files.iter().cloned()).collect()
    }
}

/// Loads the configuration; errors end the command. Warnings about variables are always printed, others with `--verbose`.
pub(super) fn load(common: &Common, registry: &Registry, output: &Output) -> Result<Settings, Failure> {
    let workspace = workspace(common)?;
    let loaded = check(common, &workspace, registry);
    if loaded.errors().next().is_some() {
        return Err(refused(&loaded, output));
    }
    if output.verbose && !loaded.problems.is_empty() {
        note(loaded.report(ReportStyle::Styled, report_width(output)).trim_end());
    } else {
        loaded.warnings().filter(|problem| problem.source.layer == ConfigLayer::Environment).for_each(print_problem);
    }
    build(common, workspace, loaded)
}

/// The settings of a configuration without errors.
pub(super) fn build(common: &Common, workspace: PathBuf, loaded: Loaded) -> Result<Settings, Failure> {
    let agent = common.agent.clone().unwrap_or_else(|| MAIN.into());
    Ok(Settings {
        config: Arc::new(loaded.config),
        provenance: Arc::new(loaded.provenance),
        data_folder: data_folder()?,
        own_file: OwnFilePath::new(config_file(common), workspace.clone()),
        workspace,
        agent,
        dialect: common.dialect,
        hook_files: loaded.hook_files,
        withheld_hooks: loaded.withheld_hooks,
        common: common.clone(),
    })
}

fn print_problem(problem: &Problem) {
    let help = problem.help.as_ref().map(|help| format!(" ({help})")).unwrap_or_default();
    warn(&format!("{}{help}", problem.message));
}

/// Reads and checks every layer.
pub(crate) fn check(common: &Common, workspace: &Path, registry: &Registry) -> Loaded {
    read(common, workspace, registry, TrustMode::Stored)
}

/// Whether a project's file may be trusted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TrustMode {
    /// If the user trusted it.
    Stored,
    /// Never.
    Never,
}

fn is_trusted(workspace: &Path, fingerprint: &str) -> bool {
    data_folder().and_then(|folder| TrustedFolders::read(&folder)).is_ok_and(|trusted| trusted.contains(workspace, fingerprint))
}

/// Reads and checks every layer in this mode.
pub(crate) fn read(common: &Common, workspace: &Path, registry: &Registry, trust: TrustMode) -> Loaded {
    read_with(common, workspace, registry, trust, None, crate::tenants::limits())
}

/// What problems of limits that are only tried name as their file.
pub(crate) const TRIED_LIMITS: &str = "settings of the tenant";

/// As [`check`], with this text as limits of a tenant that works in this folder.
pub(crate) fn check_limits(common: &Common, workspace: &Path, limits: &str) -> Result<Loaded, Failure> {
    let limits = vec![(PathBuf::from(TRIED_LIMITS), limits.to_owned())];
    Ok(read_with(common, workspace, &*super::registry()?, TrustMode::Never, None, limits))
}

/// As [`check`], with this text in place of the user's file.
pub(crate) fn check_text(common: &Common, workspace: &Path, registry: &Registry, own_text: &str) -> Loaded {
    read_with(common, workspace, registry, TrustMode::Stored, Some(own_text), crate::tenants::limits())
}

/// What this text says as the user's file, without a project, variables and flags. Its errors are those of [`check_text`].
pub(crate) fn own_text_alone(common: &Common, own_text: &str) -> Loaded {
    let environment = |name: &str| if name.starts_with("HAFT_") { None } else { std::env::var_os(name) };
    // Nothing is beneath it.
    let mut request = LoadRequest::new(Path::new("/dev/null"), &environment);
    request.config_file = config_file(common);
    request.own_text = Some(own_text);
    haft_config::load(&request)
}

fn read_with(
    common: &Common,
    workspace: &Path,
    registry: &Registry,
    trust: TrustMode,
    own_text: Option<&str>,
    limits: Vec<(PathBuf, String)>,
) -> Loaded {
    let environment = |name: &str| std::env::var_os(name);
    let flags = flags(common);
    let servers = || haft_config::configured_servers(workspace, config_file(common).as_deref(), own_text, &environment);
    let vocabulary = LazyCell::new(|| vocabulary(registry, &servers()));
    let check = |list: ListKind, entry: &str| check_entry(list, entry, &vocabulary);
    let mut request = LoadRequest::new(workspace, &environment);
    request.config_file = config_file(common);
    request.config_file_from = if common.config.is_some() { "--config" } else { "HAFT_CONFIG" };
    request.own_text = own_text;
    request.environment_names = std::env::vars_os().filter_map(|(name, _)| name.into_string().ok()).collect();
    request.flags = &flags;
    request.limits = limits;
    request.check = Some(&check);
    request.other_variables = &[super::models::LOCAL_VARIABLE];
    let trusts = |fingerprint: &str| trust == TrustMode::Stored && is_trusted(workspace, fingerprint);
    request.trusted = Some(&trusts);
    let spelling = |entry: &str| vocabulary.canonical(entry).map_or_else(|| entry.to_owned(), str::to_owned);
    request.spelling = Some(&spelling);
    let mut loaded = haft_config::load(&request);
    // Where the operator is stricter than what holds for every tenant, nothing is wrong.
    loaded.problems.retain(|problem| problem.source.file.as_ref().is_none_or(|file| file.as_os_str() != crate::tenants::EVERY_TENANT));
    loaded
}

fn flags(common: &Common) -> Vec<FlagValue<'_>> {
    let flag = |key: &'static str, name: &'static str, value: Option<String>| value.map(|value| FlagValue { key, value, name });
    [
        flag("preset", "--preset", common.preset.clone()),
        flag("access", "--access", common.access.map(|level| level.to_string())),
        flag("tools.profile", "--profile", common.profile.clone()),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// The file of `--config` or `HAFT_CONFIG`.
pub(crate) fn config_file(common: &Common) -> Option<PathBuf> {
    let named = || std::env::var_os("HAFT_CONFIG").filter(|value| !value.is_empty()).map(PathBuf::from);
    let file = common.config.clone().or_else(named)?;
    Some(std::path::absolute(&file).unwrap_or(file))
}

/// The data folder.
pub(crate) fn data_folder() -> Result<PathBuf, Failure> {
    haft_config::data_folder(&|name: &str| std::env::var_os(name)).map_err(|error| Failure::config(error.to_string()))
}

/// The user's configuration file.
pub(crate) fn user_file() -> Result<PathBuf, Failure> {
    haft_config::config_file(&|name: &str| std::env::var_os(name)).map_err(|error| Failure::config(error.to_string()))
}

/// The workspace: an existing folder with symbolic links resolved.
pub(crate) fn workspace(common: &Common) -> Result<PathBuf, Failure> {
    let named = common.workspace.clone().unwrap_or_else(|| PathBuf::from("."));
    let refused = |why: &str| {
        let message = format!("the workspace '{}' cannot be used: {why}", named.display());
        Failure::usage(message).help("give an existing folder with --workspace DIR, or change to it first")
    };
    let folder = named.canonicalize().map_err(|error| refused(&error.to_string()))?;
    if folder.is_dir() { Ok(folder) } else { Err(refused("it is not a folder")) }
}

/// The failure of a configuration with errors.
pub(crate) fn refused(loaded: &Loaded, output: &Output) -> Failure {
    let message = loaded.errors().next().map_or_else(String::new, |problem| problem.message.clone());
    Failure::config(message)
        .report(loaded.report(ReportStyle::Styled, report_width(output)))
        .fact("problems", haft_config::report_json(&loaded.problems))
}

pub(crate) fn report_width(output: &Output) -> usize {
    output.width.unwrap_or(140)
}

/// Checks an entry of a list against tools, rules, hosts and folders.
pub(super) fn check_entry(list: ListKind, entry: &str, vocabulary: &Vocabulary) -> Result<(), EntryFault> {
    match list {
        ListKind::Tools => tool(entry, vocabulary),
        ListKind::Matchers => matcher(entry, vocabulary),
        ListKind::Profiles => profile(entry),
        ListKind::RulesDeny => rule(RuleKind::Deny, entry, vocabulary),
        ListKind::RulesOnly => rule(RuleKind::Only, entry, vocabulary),
        ListKind::RulesAsk => rule(RuleKind::Ask, entry, vocabulary),
        ListKind::RulesAllow => rule(RuleKind::Allow, entry, vocabulary),
        ListKind::Hosts => {
            NetworkRules::parse_entry(entry).map(drop).map_err(|error| EntryFault { message: error.problem, help: Some(HOST_FORMS.into()) })
        }
        ListKind::Globs => glob(entry),
        ListKind::Folders => folder(Path::new(entry)),
        _ => Ok(()),
    }
}

pub(super) fn glob(entry: &str) -> Result<(), EntryFault> {
    let complaint = |error: GlobError| EntryFault { message: error.to_string(), help: Some("use a pattern like \"**/*.key\"".into()) };
    Glob::parse_protected(entry).map(drop).map_err(complaint)
}

fn folder(path: &Path) -> Result<(), EntryFault> {
    let complaint = |message: &str| EntryFault {
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

/// The configuration checks the user's own groups itself.
fn tool(entry: &str, vocabulary: &Vocabulary) -> Result<(), EntryFault> {
    vocabulary.check_entry(entry, &[]).map_err(|(message, help)| EntryFault { message, help: Some(help) })
}

fn matcher(entry: &str, vocabulary: &Vocabulary) -> Result<(), EntryFault> {
    let Some(kind) = entry.trim().strip_prefix("effect:") else { return tool(entry, vocabulary) };
    if Effect::KINDS.contains(&kind) {
        return Ok(());
    }
    Err(EntryFault { message: format!("there is no effect '{kind}'"), help: Some(format!("use one of: {}", Effect::KINDS.join(", "))) })
}

fn profile(entry: &str) -> Result<(), EntryFault> {
    if PROFILES.contains(&entry) {
        return Ok(());
    }
    let near = haft_text::suggest::nearest(entry, PROFILES.iter().copied());
    let meant = near.first().map(|near| format!("did you mean \"{near}\"? ")).unwrap_or_default();
    Err(EntryFault { message: format!("there is no profile '{entry}'"), help: Some(format!("{meant}There are: {}", PROFILES.join(", "))) })
}

fn rule(kind: RuleKind, entry: &str, vocabulary: &Vocabulary) -> Result<(), EntryFault> {
    RuleSet::check(kind, entry, vocabulary, home().as_deref()).map_err(|fault| EntryFault { message: fault.message, help: fault.help })
}
