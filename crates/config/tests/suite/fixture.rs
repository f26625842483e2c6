//! A home, a workspace, an environment and flags, as a test wants them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use haft_config::{EntryCheck, EntryFault, FlagValue, ListKind, LoadRequest, Loaded, load};
use serde_json::Value as Json;

pub(super) struct Fixture {
    folder: tempfile::TempDir,
    variables: Vec<(String, OsString)>,
    flags: Vec<(&'static str, &'static str, String)>,
    trusted: bool,
    config_file: Option<PathBuf>,
}

impl Fixture {
    pub(super) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let home = folder.path().join("home");
        let fixture = Self { variables: vec![("HOME".into(), home.into())], folder, flags: Vec::new(), trusted: false, config_file: None };
        for file in [fixture.user_file(), fixture.project_file()] {
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        }
        fixture
    }
    pub(super) fn user_file(&self) -> PathBuf {
        self.folder.path().join("home/.config/haft/config.toml")
    }
    pub(super) fn project_file(&self) -> PathBuf {
        self.workspace().join(".haft/config.toml")
    }
    pub(super) fn workspace(&self) -> PathBuf {
        self.folder.path().join("work")
    }
    pub(super) fn path(&self) -> &Path {
        self.folder.path()
    }
    pub(super) fn user(self, text: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.user_file(), text).unwrap();
        self
    }
    pub(super) fn project(self, text: impl AsRef<[u8]>) -> Self {
        std::fs::write(self.project_file(), text).unwrap();
        self
    }
    pub(super) fn variable(mut self, name: &str, value: impl Into<OsString>) -> Self {
        self.variables.push((name.into(), value.into()));
        self
    }
    pub(super) fn without_variables(mut self) -> Self {
        self.variables.clear();
        self
    }
    pub(super) fn flag(self, key: &'static str, value: &str) -> Self {
        self.named_flag("--flag", key, value)
    }
    pub(super) fn named_flag(mut self, name: &'static str, key: &'static str, value: &str) -> Self {
        self.flags.push((name, key, value.into()));
        self
    }
    pub(super) fn trusted(mut self) -> Self {
        self.trusted = true;
        self
    }
    pub(super) fn config_file(mut self, path: PathBuf) -> Self {
        self.config_file = Some(path);
        self
    }
    pub(super) fn load(&self) -> Loaded {
        self.load_with(None)
    }
    pub(super) fn load_with(&self, check: Option<EntryCheck<'_>>) -> Loaded {
        let environment = |name: &str| self.variables.iter().find(|(known, _)| known == name).map(|(_, value)| value.clone());
        let flags: Vec<_> = self.flags.iter().map(|(name, key, value)| FlagValue { key, value: value.clone(), name }).collect();
        let workspace = self.workspace();
        let mut request = LoadRequest::new(&workspace, &environment);
        request.environment_names = self.variables.iter().map(|(name, _)| name.clone()).collect();
        request.other_variables = &["HAFT_OTHER"];
        request.config_file.clone_from(&self.config_file);
        request.flags = &flags;
        request.check = check;
        let trusts = |_: &str| true;
        request.trusted = if self.trusted { Some(&trusts) } else { None };
        let spelling = |entry: &str| match entry {
            "read" => "read_file".to_owned(),
            entry => entry.to_lowercase(),
        };
        request.spelling = Some(&spelling);
        load(&request)
    }
    /// Every problem as `severity layer line:column key message | help`, with the folder's own path cut out.
    pub(super) fn problems(&self, loaded: &Loaded) -> Vec<String> {
        let place = |part: Option<u32>| part.map_or("-".into(), |number| number.to_string());
        loaded
            .problems
            .iter()
            .map(|problem| {
                let layer = text(&serde_json::to_value(problem.source.layer).unwrap());
                let severity = text(&serde_json::to_value(problem.severity).unwrap());
                let (line, column) = (place(problem.source.line), place(problem.source.column));
                let (key, help) = (problem.key.as_deref().unwrap_or("-"), problem.help.as_deref().unwrap_or("-"));
                self.relative(&format!("{severity} {layer} {line}:{column} {key} {} | {help}", problem.message))
            })
            .collect()
    }
    /// The problems of a user's file, checked strictly.
    pub(super) fn problems_of(self, user: &str) -> Vec<String> {
        let fixture = self.user(user);
        fixture.problems(&fixture.load_with(Some(&strict_check)))
    }
    /// Text without the temporary folder's path, which differs from run to run.
    pub(super) fn relative(&self, text: &str) -> String {
        text.replace(&format!("{}/", self.path().display()), "")
    }
}

/// The texts of a list or of requirements, without their sources.
pub(super) fn texts(loaded: &Loaded, key: &str) -> Vec<String> {
    let value = loaded.provenance.value(key);
    value.entries().iter().chain(value.texts()).map(|entry| entry.value.clone()).collect()
}

/// The lists of which each must match, without their sources.
pub(super) fn lists(loaded: &Loaded, key: &str) -> Vec<Vec<String>> {
    let lists = loaded.provenance.value(key).lists().iter();
    lists.map(|list| list.value.iter().map(|entry| entry.value.clone()).collect()).collect()
}

/// Every value by its key, but for the preset.
pub(super) fn all_values(loaded: &Loaded) -> Vec<(&'static str, Json)> {
    let settings = loaded.provenance.settings().iter().filter(|setting| setting.key.path != "preset");
    settings.map(|setting| (setting.key.path, serde_json::json!(setting.value))).collect()
}

/// Many texts, one after the other.
pub(super) fn numbered(count: usize, text: impl Fn(usize) -> String) -> String {
    (0..count).map(text).collect::<Vec<_>>().concat()
}

fn text(json: &Json) -> String {
    json.as_str().unwrap().to_owned()
}

fn no(message: &str, help: &str) -> Result<(), EntryFault> {
    Err(EntryFault { message: message.into(), help: Some(help.into()) })
}

/// What a caller may know beyond this crate: some tools, some hosts, two groups, two profiles.
pub(super) fn strict_check(of: ListKind, entry: &str) -> Result<(), EntryFault> {
    match (of, entry) {
        (ListKind::Tools | ListKind::Matchers, "group:fs" | "group:web") | (ListKind::Profiles, "coding" | "minimal") => Ok(()),
        (ListKind::Tools | ListKind::Matchers, _) if entry.starts_with("group:") => no("there is no such group", "there are: fs, web"),
        (ListKind::Matchers, _) if entry.starts_with("effect:") && entry != "effect:write" => {
            no("there is no such effect", "write effect:write")
        }
        (ListKind::Profiles, _) => no("there is no such profile", "there are: coding, minimal"),
        (ListKind::RulesAllow, "exec(bash *)") => no("a shell can do anything", "name the program itself"),
        (ListKind::RulesAllow | ListKind::RulesAsk | ListKind::RulesDeny, _) if !entry.contains('(') => {
            no("it is no rule", "write tool(what)")
        }
        (ListKind::Tools, "write_fil") => {
            Err(EntryFault { message: "there is no such tool".into(), help: Some("did you mean 'write_file'?".into()) })
        }
        (ListKind::Hosts, "not a host") => Err(EntryFault { message: "a space cannot be in a host".into(), help: None }),
        _ => Ok(()),
    }
}
