//! All layers, read and put together.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::decode::{Check, Complaint, Decoder};
use crate::document::Contents;
use crate::groups::Uses;
use crate::hooks::Hook;
use crate::merge::merge;
use crate::origin::Origin;
use crate::paths::{self, Environment, absolute};
use crate::problem::{Problem, Problems, Severity};
use crate::provenance::Provenance;
use crate::text::{quoted, sentence};
use crate::trust::{doubtful, fingerprint, not_run};
use crate::{Config, Flag, Layer, ListOf, Pending, Root, Source, Sourced, Value, document, groups, lint, models, presets, read, variables};

/// What to load.
#[non_exhaustive]
pub struct Request<'a> {
    /// The folder whose `.haft/config.toml` is the project's file.
    pub workspace: &'a Path,
    /// The file to read in place of the person's own; it must exist.
    pub config_file: Option<PathBuf>,
    /// What named that file: `--config`, unless it was a variable.
    pub config_file_from: &'a str,
    /// The text of the person's file in place of what it holds: to try a change before it is written.
    pub own_text: Option<&'a str>,
    /// Looks up a variable.
    pub environment: Environment<'a>,
    /// The names of all variables, to find misspelt ones.
    pub environment_names: Vec<String>,
    /// `HAFT_…` variables that the caller reads itself.
    pub other_variables: &'a [&'a str],
    /// Values of the command line, in its order.
    pub flags: &'a [Flag<'a>],
    /// Judges entries of lists: whether there is such a tool, whether a host parses.
    pub check: Option<Check<'a>>,
    /// Whether the person trusts a project's file with this fingerprint: only then does anything of it start.
    pub trusted: Option<&'a dyn Fn(&str) -> bool>,
    /// The one spelling of a tool's name, an alias or a pattern, so that the linter sees which entries say the same.
    pub spelling: Option<&'a dyn Fn(&str) -> String>,
}

impl std::fmt::Debug for Request<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Request").field("workspace", &self.workspace).field("config_file", &self.config_file).finish_non_exhaustive()
    }
}

impl<'a> Request<'a> {
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
            check: None,
            trusted: None,
            spelling: None,
        }
    }
    pub(crate) fn home(&self) -> Option<PathBuf> {
        absolute(self.environment, "HOME").ok().flatten()
    }
}

/// A configuration, where it came from, and what is wrong with it.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct Loaded {
    /// The values. Not to be used while there are errors: a file that could not be read may hold denials.
    pub config: Config,
    /// Where each came from.
    pub provenance: Provenance,
    /// Errors and warnings, in the order of the layers.
    pub problems: Vec<Problem>,
    /// What of the project's file waits for the person's trust; empty if it is trusted.
    pub untrusted: Vec<Pending>,
    /// The fingerprint of the project's file as it was read, with the files that its hooks name: what is trusted. `None` if
    /// there is no such file, or none that can be trusted.
    pub fingerprint: Option<String>,
    /// Why the project's file cannot be trusted, if it cannot.
    pub untrustable: Option<String>,
    /// The files of the workspace that any hook names, trusted or not, there or not: no tool may write them.
    pub hook_files: Vec<PathBuf>,
    /// The text of the files, for the report.
    pub(crate) texts: Vec<(Arc<PathBuf>, String)>,
}

impl Loaded {
    /// What makes it unusable.
    pub fn errors(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.severity == Severity::Error)
    }
    /// Adds a warning that only the whole program can give, at the last of these keys that somebody set.
    pub fn warn(&mut self, keys: &[&str], message: impl AsRef<str>, help: impl AsRef<str>) {
        let mut set = keys.iter().rev().filter_map(|key| self.provenance.get(key)).filter(|setting| setting.source.layer != Layer::BuiltIn);
        let source = set.next().map_or(Source::BUILT_IN, |setting| setting.source.clone());
        self.problems.push(Problem::warning(source, message).help(help));
    }
    /// Adds a warning that only the whole program can give, about an entry of a list.
    pub fn warn_at(&mut self, source: Source, key: &str, message: impl AsRef<str>, help: impl AsRef<str>) {
        self.problems.push(Problem::warning(source, message).key(key).help(help));
    }
    /// What the person should know.
    pub fn warnings(&self) -> impl Iterator<Item = &Problem> {
        self.problems.iter().filter(|problem| problem.severity == Severity::Warning)
    }
}

/// Loads every layer. Whatever is wrong is a problem of the result, never a panic.
pub fn load(request: &Request<'_>) -> Loaded {
    let mut loading = Loading { request, found: Contents::default(), problems: Vec::new(), texts: Vec::new(), fingerprint: None };
    loading.user();
    loading.project();
    for read in [variables::environment, variables::flags] {
        let settings = read(request, &mut loading.problems);
        loading.layer(Contents { settings, ..Contents::default() });
    }
    loading.finish()
}

struct Loading<'r> {
    request: &'r Request<'r>,
    found: Contents,
    problems: Vec<Problem>,
    texts: Vec<(Arc<PathBuf>, String)>,
    fingerprint: Option<Result<String, String>>,
}

impl Loading<'_> {
    fn user(&mut self) {
        if let Some(path) = &self.request.config_file {
            let text = self.own_text(path);
            self.file(Layer::User, path.clone(), text, Absent::Error);
            return;
        }
        match paths::config_file(self.request.environment) {
            Ok(path) => {
                let text = self.own_text(&path);
                self.file(Layer::User, path, text, Absent::Fine);
            }
            Err(error) => self.problems.push(Problem::error(Source { layer: Layer::User, ..Source::BUILT_IN }, error.to_string())),
        }
    }

    fn own_text(&self, path: &Path) -> Result<Option<String>, String> {
        self.request.own_text.map_or_else(|| read::read(path), |text| Ok(Some(text.to_owned())))
    }

    fn project(&mut self) {
        let path = self.request.workspace.join(read::PROJECT_FOLDER).join(read::PROJECT_FILE);
        let text = read::read_project(self.request.workspace);
        let bytes = text.as_ref().ok().and_then(Clone::clone);
        self.file(Layer::Project, path, text, Absent::Fine);
        let of_project = || self.found.hooks.iter().filter(|hook| hook.source.layer == Layer::Project);
        self.fingerprint = bytes.map(|text| fingerprint(&text, of_project()));
        if let Some(Err(why)) = &self.fingerprint {
            let source = of_project().next().map_or(Source::BUILT_IN, |hook| hook.source.clone());
            let problem = Problem::warning(source, format!("the project's file cannot be trusted: {why}"));
            self.problems.push(problem.key("hooks").help("have its hooks name fewer and smaller files of the workspace"));
        }
    }

    fn file(&mut self, layer: Layer, path: PathBuf, text: Result<Option<String>, String>, absent: Absent) {
        let path = Arc::new(path);
        let source = Source { layer, file: Some(Arc::clone(&path)), ..Source::BUILT_IN };
        match (text, absent) {
            (Ok(Some(text)), _) => self.text(layer, path, read::without_mark(&text).0.to_owned()),
            (Ok(None), Absent::Fine) => {}
            (Ok(None), Absent::Error) => {
                let from = self.request.config_file_from;
                let problem = Problem::error(source, format!("the file that {from} names does not exist"));
                self.problems.push(problem.help(format!("correct the path, or leave {from} out")));
            }
            (Err(why), _) => {
                let problem = Problem::error(source, format!("the configuration file cannot be read: {why}"));
                self.problems.push(problem.help("Haft does not run without what the file may deny: put it right, or move it away"));
            }
        }
    }

    fn text(&mut self, layer: Layer, path: Arc<PathBuf>, text: String) {
        let origin = Origin::file(layer, Arc::clone(&path), &text);
        let mut decoder = Decoder { origin: &origin, home: self.request.home(), check: self.request.check, problems: Problems::default() };
        let contents = document::contents(&text, &mut decoder);
        self.problems.extend(decoder.problems.finish(origin.whole()));
        self.layer(contents);
        self.texts.push((path, text));
    }

    /// Adds what a layer says; layers come weakest first.
    fn layer(&mut self, mut contents: Contents) {
        let (workspace, home) = (self.request.workspace, self.request.home());
        contents.hooks.iter_mut().for_each(|hook| hook.look_around(workspace, home.as_deref()));
        self.problems.extend(contents.hooks.iter().flat_map(|hook| doubtful(hook, workspace)));
        self.found.settings.extend(presets::expand(contents.settings, &mut self.problems));
        self.found.names.extend(contents.names);
        self.found.hooks.extend(contents.hooks);
    }

    fn finish(mut self) -> Loaded {
        let uses = Uses::of(&self.found);
        let hook_files = self.found.hooks.iter().flat_map(|hook| hook.files.iter().chain(&hook.missing)).cloned().collect();
        let untrusted = self.withhold();
        let check = self.request.check;
        let (mut errors, mut widenings, mut oddities) = (Problems::default(), Problems::default(), Problems::default());
        let provenance = merge(self.found, &mut widenings);
        uses.judge(&provenance, check, &mut errors);
        groups::judge(&provenance, check, &mut errors);
        whole(&provenance, &mut errors);
        models::judge(&provenance, &mut errors);
        lint::lint(&provenance, self.request.spelling, &mut oddities);
        self.problems.extend(errors.finish(Source::BUILT_IN));
        self.problems.extend(widenings.finish_warnings().into_iter().chain(oddities.finish_warnings()));
        self.problems.extend(unusable_roots(&provenance, self.request));
        self.problems.sort_by_key(|problem| (problem.source.layer, problem.source.line, problem.source.column));
        let Self { problems, texts, fingerprint, .. } = self;
        let (fingerprint, untrustable) = match fingerprint.transpose() {
            Ok(fingerprint) => (fingerprint, None),
            Err(why) => (None, Some(sentence(&why))),
        };
        Loaded { config: Config::from(&provenance), provenance, problems, untrusted, fingerprint, untrustable, hook_files, texts }
    }

    /// Takes away what only trust would start, and says so.
    fn withhold(&mut self) -> Vec<Pending> {
        if self.is_trusted() {
            return Vec::new();
        }
        let of_project = |hook: &mut Hook| hook.source.layer == Layer::Project;
        let withheld: Vec<Hook> = self.found.hooks.extract_if(.., of_project).collect();
        self.problems.extend(withheld.iter().map(not_run));
        let workspace = self.request.workspace;
        withheld.iter().map(|hook| Pending::hook(hook, workspace)).collect()
    }

    /// Whether the person trusts the very content that was read.
    fn is_trusted(&self) -> bool {
        match (self.request.trusted, &self.fingerprint) {
            (Some(judge), Some(Ok(fingerprint))) => judge(fingerprint),
            _ => false,
        }
    }
}

#[derive(Clone, Copy)]
enum Absent {
    Fine,
    Error,
}

/// What only shows when all layers are together.
fn whole(provenance: &Provenance, problems: &mut Problems) {
    for (lower, upper) in [("guards.loop_note", "guards.loop_block"), ("guards.loop_block", "guards.loop_stop")] {
        if let Some(problem) = not_increasing(provenance, lower, upper) {
            problems.add(|| problem);
        }
    }
}

/// Folders that hold once all layers are together, and cannot be opened: a tool's files may be there.
fn unusable_roots(provenance: &Provenance, request: &Request<'_>) -> Vec<Problem> {
    const KEY: &str = "workspace.roots";
    let Some(check) = request.check else { return Vec::new() };
    let judged = |root: &Sourced<Root>| {
        let Complaint { message, help } = check(ListOf::Folders, root.value.path.to_str()?).err()?;
        let path = quoted(&root.value.path.to_string_lossy());
        let help = help.unwrap_or_else(|| "correct it, or remove it from the list".into());
        Some(Problem::error(root.source.clone(), format!("'{KEY}' holds {path}: {message}")).key(KEY).help(help))
    };
    provenance.roots(KEY).iter().filter_map(judged).collect()
}

fn not_increasing(provenance: &Provenance, lower: &str, upper: &str) -> Option<Problem> {
    let (low, high) = (provenance.get(lower)?, provenance.get(upper)?);
    let (Value::Count(below), Value::Count(above)) = (&low.value, &high.value) else { return None };
    if below < above {
        return None;
    }
    // The stronger layer is the one that was written last.
    let late = if low.source.layer > high.source.layer { low } else { high };
    let message = format!("'{upper}' ({above}, {}) must be greater than '{lower}' ({below}, {})", high.source, low.source);
    Some(Problem::error(late.source.clone(), message).key(late.key.path).help("note < block < stop: change one of the two"))
}
