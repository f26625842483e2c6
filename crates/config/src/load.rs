//! Loads and merges all layers.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::decode::{Decoder, EntryCheck, EntryFault};
use crate::document::LayerContents;
use crate::groups::GroupUses;
use crate::hooks::HookSettings;
use crate::merge::merge;
use crate::paths::{self, Environment, absolute};
use crate::problem::{Problem, Problems, Severity, quoted, sentence};
use crate::provenance::{Provenance, Setting};
use crate::servers;
use crate::source_text::SourceText;
use crate::trust::{fingerprint, not_run, report_unprotected};
use crate::{
    Config, ConfigLayer, FlagValue, ListKind, MergeRule, PendingTrust, RootSetting, SettingSource, Sourced, document, groups, lint, models,
    presets, read, variables,
};

/// The files, variables and flags to load.
#[non_exhaustive]
pub struct LoadRequest<'a> {
    /// The folder whose `.haft/config.toml` is the project's file.
    pub workspace: &'a Path,
    /// The file that replaces the user's; it must exist.
    pub config_file: Option<PathBuf>,
    /// The flag or variable that named it, for messages.
    pub config_file_from: &'a str,
    /// A text that replaces the content of the user's file: to try a change before it is written.
    pub own_text: Option<&'a str>,
    /// Looks up a variable.
    pub environment: Environment<'a>,
    /// The names of all variables, to find misspelt ones.
    pub environment_names: Vec<String>,
    /// `HAFT_…` variables that the caller reads itself.
    pub other_variables: &'a [&'a str],
    /// Values of the command line, in its order.
    pub flags: &'a [FlagValue<'a>],
    /// Files that can only tighten what all layers together say, and their texts: those of an operator who runs Haft for others.
    pub limits: Vec<(PathBuf, String)>,
    /// Checks entries of lists: whether a tool exists, whether a host parses.
    pub check: Option<EntryCheck<'a>>,
    /// Whether the user trusts a project's file with this fingerprint: only then does anything of it start.
    pub trusted: Option<&'a dyn Fn(&str) -> bool>,
    /// The canonical spelling of a tool's name, an alias or a pattern, for the linter.
    pub spelling: Option<&'a dyn Fn(&str) -> String>,
}

haft_contract::opaque_debug!(LoadRequest<'_>: workspace = workspace, config_file = config_file);

impl<'a> LoadRequest<'a> {
    /// The files of this workspace and this environment; no flags.
    pub fn new(workspace: &'a Path, environment: Environment<'a>) -> Self {
        Self {
            workspace,
            config_file: None,
            config_file_from: "--config",
            own_text: None,
            environment,
            environment_names: Vec::new(),
            other_variables: &[],
            flags: &[],
            limits: Vec::new(),
            check: None,
            trusted: None,
            spelling: None,
        }
    }
    pub(crate) fn home(&self) -> Option<PathBuf> {
        absolute(self.environment, "HOME").ok().flatten()
    }
}

/// A configuration, its sources and its problems.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Loaded {
    /// The values. Invalid while there are errors: an unreadable file may have denials.
    pub config: Config,
    /// The source of each value.
    pub provenance: Provenance,
    /// Errors and warnings, in the order of the layers.
    pub problems: Vec<Problem>,
    /// Hooks of the project's file that wait for the user's trust, and do not run.
    pub withheld_hooks: Vec<HookSettings>,
    /// Parts of the project's file that wait for the user's trust; empty if it is trusted.
    pub untrusted: Vec<PendingTrust>,
    /// The fingerprint of the project's file with the files that its hooks name, for trust. `None` if there is no such file,
    /// or none that can be trusted.
    pub fingerprint: Option<String>,
    /// Why the project's file cannot be trusted, if it cannot.
    pub untrustable: Option<String>,
    /// Files of the workspace that any hook names, trusted or not, existing or not: no tool may write them.
    pub hook_files: Vec<PathBuf>,
    /// The text of the files, for the report.
    pub(crate) texts: Vec<(Arc<PathBuf>, String)>,
}

impl Loaded {
    /// The problems that make it unusable.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.severity == Severity::Error)
    }
    /// Adds a warning of the caller at the last of these keys that a layer set.
    pub fn warn(&mut self, keys: &[&str], message: impl AsRef<str>, help: impl AsRef<str>) {
        let mut set =
            keys.iter().rev().filter_map(|key| self.provenance.get(key)).filter(|setting| setting.source.layer != ConfigLayer::BuiltIn);
        let source = set.next().map_or(SettingSource::BUILT_IN, |setting| setting.source.clone());
        self.problems.push(Problem::warning(source, message).help(help));
    }
    /// Adds a warning of the caller about an entry of a list.
    pub fn warn_at(&mut self, source: SettingSource, key: &str, message: impl AsRef<str>, help: impl AsRef<str>) {
        self.problems.push(Problem::warning(source, message).key(key).help(help));
    }
    /// The problems that do not stop Haft.
    pub fn warnings(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.severity == Severity::Warning)
    }
}

/// Loads every layer. Faults become problems of the result, never a panic.
pub fn load(request: &LoadRequest<'_>) -> Loaded {
    let mut loading =
        LayerLoader { request, contents: LayerContents::default(), problems: Vec::new(), texts: Vec::new(), fingerprint: None };
    loading.user();
    loading.project();
    for read in [variables::environment, variables::flags] {
        let settings = read(request, &mut loading.problems);
        loading.layer(LayerContents { settings, ..LayerContents::default() });
    }
    loading.limits();
    loading.finish()
}

struct LayerLoader<'r> {
    request: &'r LoadRequest<'r>,
    contents: LayerContents,
    problems: Vec<Problem>,
    texts: Vec<(Arc<PathBuf>, String)>,
    fingerprint: Option<Result<String, String>>,
}

impl LayerLoader<'_> {
    fn user(&mut self) {
        if let Some(path) = &self.request.config_file {
            let text = self.own_text(path);
            self.file(ConfigLayer::User, path.clone(), text, IfMissing::Error);
            return;
        }
        match paths::config_file(self.request.environment) {
            Ok(path) => {
                let text = self.own_text(&path);
                self.file(ConfigLayer::User, path, text, IfMissing::Fine);
            }
            Err(error) => {
                self.problems
                    .push(Problem::error(SettingSource { layer: ConfigLayer::User, ..SettingSource::BUILT_IN }, error.to_string()));
            }
        }
    }

    fn own_text(&self, path: &Path) -> Result<Option<String>, String> {
        self.request.own_text.map_or_else(|| read::read(path), |text| Ok(Some(text.to_owned())))
    }

    fn project(&mut self) {
        let path = self.request.workspace.join(read::PROJECT_FOLDER).join(read::PROJECT_FILE);
        let text = read::read_project(self.request.workspace);
        let bytes = text.as_ref().ok().and_then(Clone::clone);
        self.file(ConfigLayer::Project, path, text, IfMissing::Fine);
        let of_project = || self.contents.hooks.iter().filter(|hook| hook.source.layer == ConfigLayer::Project);
        let servers = servers::started(&self.contents.settings, self.request.workspace, self.request.home().as_deref());
        let of_servers = servers.iter().filter(|server| server.layer == ConfigLayer::Project).flat_map(|server| &server.files);
        let files = of_project().flat_map(|hook| hook.files.iter().chain(&hook.missing)).chain(of_servers);
        self.fingerprint = bytes.map(|text| fingerprint(&text, files));
        if let Some(Err(why)) = &self.fingerprint {
            let source = of_project().next().map_or(SettingSource::BUILT_IN, |hook| hook.source.clone());
            let problem = Problem::warning(source, format!("the project's file cannot be trusted: {why}"));
            self.problems.push(problem.key("hooks").help("have its hooks name fewer and smaller files of the workspace"));
        }
    }

    /// As files of a project, after all others: nothing that a variable or a flag says lifts them.
    fn limits(&mut self) {
        for (path, text) in &self.request.limits {
            self.text(ConfigLayer::Project, Arc::new(path.clone()), read::without_bom(text).0.to_owned());
        }
    }

    fn file(&mut self, layer: ConfigLayer, path: PathBuf, text: Result<Option<String>, String>, absent: IfMissing) {
        let path = Arc::new(path);
        let source = SettingSource { layer, file: Some(Arc::clone(&path)), ..SettingSource::BUILT_IN };
        match (text, absent) {
            (Ok(Some(text)), _) => self.text(layer, path, read::without_bom(&text).0.to_owned()),
            (Ok(None), IfMissing::Fine) => {}
            (Ok(None), IfMissing::Error) => {
                let from = self.request.config_file_from;
                let problem = Problem::error(source, format!("the file that {from} names does not exist"));
                self.problems.push(problem.help(format!("correct the path, or leave {from} out")));
            }
            (Err(why), _) => {
                let problem = Problem::error(source, format!("the configuration file cannot be read: {why}"));
                self.problems.push(problem.help("Haft does not run without the file's denials: fix it, or move it away"));
            }
        }
    }

    fn text(&mut self, layer: ConfigLayer, path: Arc<PathBuf>, text: String) {
        let origin = SourceText::file(layer, Arc::clone(&path), &text);
        let mut decoder = Decoder { origin: &origin, home: self.request.home(), check: self.request.check, problems: Problems::default() };
        let contents = document::contents(&text, &mut decoder);
        self.problems.extend(decoder.problems.finish(origin.whole()));
        self.layer(contents);
        self.texts.push((path, text));
    }

    /// Adds the contents of a layer; layers come weakest first.
    fn layer(&mut self, mut contents: LayerContents) {
        let (workspace, home) = (self.request.workspace, self.request.home());
        contents.hooks.iter_mut().for_each(|hook| hook.find_files(workspace, home.as_deref()));
        self.problems.extend(contents.hooks.iter().flat_map(|hook| report_unprotected(hook, workspace)));
        self.contents.settings.extend(presets::expand(contents.settings, &mut self.problems));
        self.contents.tables.extend(contents.tables);
        self.contents.hooks.extend(contents.hooks);
    }

    fn finish(mut self) -> Loaded {
        let uses = GroupUses::new(&self.contents);
        let servers = servers::started(&self.contents.settings, self.request.workspace, self.request.home().as_deref());
        let of_servers = servers.into_iter().flat_map(|server| server.files);
        let of_hooks = self.contents.hooks.iter().flat_map(|hook| hook.files.iter().chain(&hook.missing)).cloned();
        let hook_files = of_hooks.chain(of_servers).collect();
        let (untrusted, withheld_hooks) = self.withhold();
        let check = self.request.check;
        let (mut errors, mut widenings, mut oddities) = (Problems::default(), Problems::default(), Problems::default());
        let provenance = merge(self.contents, &mut widenings);
        uses.check(&provenance, check, &mut errors);
        groups::check(&provenance, check, &mut errors);
        check_loop_guard(&provenance, &mut errors);
        models::check(&provenance, &mut errors);
        servers::check(&provenance, &mut errors);
        lint::lint(&provenance, self.request.spelling, &mut oddities);
        self.problems.extend(errors.finish(SettingSource::BUILT_IN));
        self.problems.extend(widenings.finish_warnings().into_iter().chain(oddities.finish_warnings()));
        self.problems.extend(unusable_roots(&provenance, self.request));
        self.problems.sort_by_key(|problem| (problem.source.layer, problem.source.line, problem.source.column));
        let Self { problems, texts, fingerprint, .. } = self;
        let (fingerprint, untrustable) = match fingerprint.transpose() {
            Ok(fingerprint) => (fingerprint, None),
            Err(why) => (None, Some(sentence(&why))),
        };
        Loaded {
            config: Config::from(&provenance),
            provenance,
            problems,
            untrusted,
            fingerprint,
            untrustable,
            hook_files,
            withheld_hooks,
            texts,
        }
    }

    /// Removes the hooks and servers of an untrusted project, and reports them.
    fn withhold(&mut self) -> (Vec<PendingTrust>, Vec<HookSettings>) {
        if self.is_trusted() {
            return Default::default();
        }
        let is_project = |hook: &mut HookSettings| hook.source.layer == ConfigLayer::Project;
        let withheld: Vec<HookSettings> = self.contents.hooks.extract_if(.., is_project).collect();
        self.problems.extend(withheld.iter().map(not_run));
        let workspace = self.request.workspace;
        let is_server = |setting: &mut Setting| setting.source.layer == ConfigLayer::Project && setting.key.merge == MergeRule::Trusted;
        let servers: Vec<Setting> = self.contents.settings.extract_if(.., is_server).collect();
        let pending = servers::pending(&servers);
        self.problems.extend(pending.iter().map(servers::not_started));
        (withheld.iter().map(|hook| PendingTrust::hook(hook, workspace)).chain(pending).collect(), withheld)
    }

    /// Whether the user trusts the content that was read.
    fn is_trusted(&self) -> bool {
        match (self.request.trusted, &self.fingerprint) {
            (Some(trusts), Some(Ok(fingerprint))) => trusts(fingerprint),
            _ => false,
        }
    }
}

#[derive(Clone, Copy)]
enum IfMissing {
    Fine,
    Error,
}

/// Checks that the thresholds of the loop guard increase.
fn check_loop_guard(provenance: &Provenance, problems: &mut Problems) {
    for (lower, upper) in [("guards.loop_note", "guards.loop_block"), ("guards.loop_block", "guards.loop_stop")] {
        if let Some(problem) = not_increasing(provenance, lower, upper) {
            problems.add(|| problem);
        }
    }
}

/// Reports folders that cannot be opened.
fn unusable_roots(provenance: &Provenance, request: &LoadRequest<'_>) -> Vec<Problem> {
    const KEY: &str = "workspace.roots";
    let Some(check) = request.check else { return Vec::new() };
    let check_root = |root: &Sourced<RootSetting>| {
        let EntryFault { message, help } = check(ListKind::Folders, root.value.path.to_str()?).err()?;
        let path = quoted(&root.value.path.to_string_lossy());
        let help = help.unwrap_or_else(|| "correct it, or remove it from the list".into());
        Some(Problem::error(root.source.clone(), format!("'{KEY}' holds {path}: {message}")).key(KEY).help(help))
    };
    provenance.value(KEY).roots().iter().filter_map(check_root).collect()
}

fn not_increasing(provenance: &Provenance, lower: &str, upper: &str) -> Option<Problem> {
    let (low, high) = (provenance.get(lower)?, provenance.get(upper)?);
    let (below, above) = (low.value.as_count()?, high.value.as_count()?);
    if below < above {
        return None;
    }
    // The stronger layer was written last.
    let late = if low.source.layer > high.source.layer { low } else { high };
    let message = format!("'{upper}' ({above}, {}) must be greater than '{lower}' ({below}, {})", high.source, low.source);
    Some(Problem::error(late.source.clone(), message).key(late.key.path).help("note < block < stop: change one of the two"))
}
