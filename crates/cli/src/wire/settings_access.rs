//! The settings that the tool `config` reads, and the few that it sets.

use std::collections::BTreeMap;
use std::io::Cursor;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_config::{ConfigKey, ConfigRow, KEYS, Loaded, ModelSetting, OwnFile, Provenance, SaveError, model_key};
use haft_contract::ports::{Journal, PreImage, SettingChange, SettingReport, SettingsAccess};
use haft_contract::{BoxFuture, ToolError};
use haft_engine::Registry;
use haft_patch::diff::unified;
use haft_text::suggest::nearest;
use serde_json::{Value, json};

use super::Wire;
use super::rule_file::OwnFilePath;
use super::settings::{Settings, check_text, own_text_alone};
use crate::arguments::Common;

const NOT_SHOWN: &str = "(not shown)";

/// The settings of this process.
pub(super) struct ModelSettings {
    provenance: Arc<Provenance>,
    common: Common,
    workspace: PathBuf,
    registry: Arc<Registry>,
    /// The user's file.
    file: OwnFilePath,
}

impl ModelSettings {
    pub(super) fn new(wire: &Wire) -> Self {
        let Settings { provenance, common, workspace, .. } = &wire.settings;
        Self {
            provenance: Arc::clone(provenance),
            common: common.clone(),
            workspace: workspace.clone(),
            registry: Arc::clone(&wire.registry),
            file: wire.settings.own_file.clone(),
        }
    }

    /// The user's file as it is now.
    pub(super) fn own_file(&self) -> Result<OwnFile, ToolError> {
        let file = self.file.get().map_err(|why| ToolError::execution(format!("There is no configuration file: {why}.")))?;
        OwnFile::read(file).map_err(|error| unsaved(&error))
    }

    /// The settings with this text as the user's file.
    pub(super) fn with_text(&self, text: &str) -> Self {
        let Self { common, workspace, registry, file, .. } = self;
        let (common, workspace, file) = (common.clone(), workspace.clone(), file.clone());
        Self { provenance: Arc::new(self.load(text).provenance), common, workspace, registry: Arc::clone(registry), file }
    }

    pub(super) fn load(&self, text: &str) -> Loaded {
        check_text(&self.common, &self.workspace, &self.registry, text)
    }

    /// The settings of this text alone: without the project, variables and flags.
    pub(super) fn load_alone(&self, text: &str) -> Loaded {
        own_text_alone(&self.common, text)
    }

    /// The file after a change, and everything that the change must not break checked.
    fn draft(&self, key: &'static ConfigKey, value: &Value) -> Result<SettingDraft, ToolError> {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let setting = ModelSetting::read(key, &text).map_err(|why| ToolError::validation(format!("{why}; '{text}' is not that.")))?;
        let file = self.file.get().map_err(|why| ToolError::execution(format!("The setting cannot be saved: {why}.")))?;
        let own = OwnFile::read(file).map_err(|error| unsaved(&error))?;
        let text = own.with_setting(&setting).map_err(|error| unsaved(&error))?;
        self.check_draft(key, &own, &text)?;
        Ok(SettingDraft { own, text })
    }

    /// Refuses a file with errors, and one in which anything but the key differs: whatever was written, the result counts.
    fn check_draft(&self, key: &ConfigKey, own: &OwnFile, text: &str) -> Result<(), ToolError> {
        let (before, after) = (self.load(own.text()), self.load(text));
        if let Some(problem) = after.errors().next() {
            return Err(ToolError::execution(format!("The setting is not saved, because the file has an error: {}.", problem.message)));
        }
        let others = |loaded: &Loaded| -> Vec<(String, String)> {
            let rows = loaded.provenance.rows().into_iter().filter(|row| row.path != key.path);
            rows.map(|row| (row.path, row.value)).collect()
        };
        if others(&before) != others(&after) {
            return Err(ToolError::denied(
                "The setting is not saved, because other settings would change with it. Ask the user to set it.",
            ));
        }
        Ok(())
    }
}

/// The user's file, and its text after a change.
struct SettingDraft {
    own: OwnFile,
    text: String,
}

impl SettingsAccess for ModelSettings {
    fn read(&self, key: &str) -> Result<Vec<SettingReport>, ToolError> {
        let wanted = plain(key);
        let is_beneath = |path: &str| {
            let path = plain(path);
            wanted.is_empty() || path == wanted || path.strip_prefix(&wanted).is_some_and(|rest| rest.starts_with(['.', '[']))
        };
        let rows = self.provenance.rows().into_iter().zip(values(&self.provenance)).filter(|(row, _)| is_beneath(&row.path));
        let reports: Vec<SettingReport> = rows
            .map(|(row, value)| SettingReport {
                is_settable: model_key(&row.path).is_some(),
                value: public_value(row.key, value),
                key: row.path,
                source: row.source,
            })
            .collect();
        if reports.is_empty() { Err(unknown(key)) } else { Ok(reports) }
    }

    fn check(&self, key: &str, value: &Value) -> Result<SettingChange, ToolError> {
        let key = model_key(key).ok_or_else(|| not_settable(key))?;
        let draft = self.draft(key, value)?;
        let at = |loaded: &Loaded| values_at(&loaded.provenance, key.path);
        let (before, value) = (at(&self.load(draft.own.text())), at(&self.load(&draft.text)));
        Ok(SettingChange { key: key.path.to_owned(), before, value, file: draft.own.path().to_owned() })
    }

    fn write<'a>(&'a self, change: &'a SettingChange, journal: &'a dyn Journal) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let key = model_key(&change.key).ok_or_else(|| not_settable(&change.key))?;
            let SettingDraft { own, text } = self.draft(key, &change.value)?;
            if own.text() == text {
                return Ok("(nothing changes: the file says so already)".into());
            }
            let path = own.path().to_owned();
            let difference = settings_difference(&self.load(own.text()).provenance, &self.load(&text).provenance, &path);
            journal.keep(pre_image(&own, &text)?).await?;
            let after = text.clone();
            let written = tokio::task::spawn_blocking(move || own.replace(text).map(drop));
            let written = written.await.map_err(|error| ToolError::execution(format!("Saving was cut short: {error}.")))?;
            if let Err(error) = written {
                journal.withdraw(&path, Some(&hash(&after)?)).await?;
                return Err(unsaved(&error));
            }
            Ok(difference)
        })
    }
}

pub(super) fn pre_image(own: &OwnFile, after: &str) -> Result<PreImage, ToolError> {
    let content = own.exists().then(|| Box::new(Cursor::new(own.text().as_bytes().to_vec())) as Box<_>);
    let mode = if own.exists() { file_mode(own.path()) } else { None };
    Ok(PreImage {
        path: own.path().to_owned(),
        content,
        mode,
        after: Some(hash(after)?),
        created_directories: Vec::new(),
        metadata_from: None,
        modified: None,
    })
}

fn file_mode(path: &Path) -> Option<u32> {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().ok().map(|metadata| metadata.permissions().mode() & 0o7777)
}

pub(super) fn hash(text: &str) -> Result<String, ToolError> {
    haft_host::sha256(text.as_bytes(), || Ok(())).map_err(|error| ToolError::execution(error.to_string()))
}

/// The values of all settings, in the order of their rows.
fn values(provenance: &Provenance) -> Vec<Value> {
    let Value::Array(settings) = provenance.to_json() else { return Vec::new() };
    settings.into_iter().map(|mut setting| setting["value"].take()).collect()
}

fn values_at(provenance: &Provenance, path: &str) -> Value {
    let at = provenance.rows().iter().position(|row| row.path == path);
    at.and_then(|at| values(provenance).into_iter().nth(at)).unwrap_or_default()
}

impl Wire {
    /// All settings as data, without what is secret in them.
    pub(crate) fn public_settings(&self) -> Value {
        public_settings(&self.settings.provenance)
    }

    /// What becomes of the settings when the text of the user's file changes, as [`settings_difference`] has it. `common` is what the
    /// caller was started with.
    pub(crate) fn text_difference(&self, common: &Common, file: &Path, [before, after]: [&str; 2]) -> String {
        let load = |text| check_text(common, &self.settings.workspace, &self.registry, text).provenance;
        settings_difference(&load(before), &load(after), file)
    }
}

fn public_settings(provenance: &Provenance) -> Value {
    let mut settings = provenance.to_json();
    for (row, setting) in provenance.rows().into_iter().zip(settings.as_array_mut().into_iter().flatten()) {
        let value = public_value(row.key, setting["value"].take());
        if value == NOT_SHOWN
            && let Some(setting) = setting.as_object_mut()
        {
            setting.remove("entries");
        }
        setting["value"] = value;
    }
    settings
}

/// A key as it is compared where it is only read: in lower case, without blanks and a dot at its end.
fn plain(key: &str) -> String {
    key.trim().trim_end_matches(['.', '*']).trim_end_matches('.').to_lowercase()
}

/// Keys whose values can hold a secret.
fn is_secret(key: &str) -> bool {
    let of_servers = ["mcp.servers.*.env.*", "mcp.servers.*.headers.*", "mcp.servers.*.command", "mcp.servers.*.args"];
    key.ends_with("api_key_command") || key.starts_with("hooks[]") || of_servers.contains(&key)
}

/// The value of a key without what is secret in it.
fn public_value(key: &str, value: Value) -> Value {
    if is_secret(key) { json!(NOT_SHOWN) } else { without_credentials(value) }
}

/// The user, the password and the query of an address are not shown: services put tokens there.
fn without_credentials(value: Value) -> Value {
    let Some((scheme, rest)) = value.as_str().and_then(|text| text.split_once("://")) else { return value };
    let (rest, query) = rest.find(['?', '#']).map_or((rest, ""), |at| (&rest[..at], NOT_SHOWN));
    let (host, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let host = host.rsplit_once('@').map_or_else(|| host.to_owned(), |(_, host)| format!("{NOT_SHOWN}@{host}"));
    let mark = if query.is_empty() { "" } else { "?" };
    json!(format!("{scheme}://{host}{path}{mark}{query}"))
}

/// What a change does to the settings, as lines of keys and values. Not lines of the file: beside a key that a model may change stand others
/// that it must not read.
pub(super) fn settings_difference(before: &Provenance, after: &Provenance, file: &Path) -> String {
    let old: BTreeMap<String, Value> = before.rows().into_iter().map(|row| row.path).zip(values(before)).collect();
    let public = |provenance: &Provenance, is_new: &dyn Fn(&ConfigRow, &Value) -> bool| -> String {
        let rows = provenance.rows().into_iter().zip(values(provenance)).filter(|(_, value)| !value.is_null());
        let line = |(row, value): (ConfigRow, Value)| {
            // What was secret stays so; what replaces it was written by the caller, and the user must see it.
            let value = if is_new(&row, &value) { value } else { public_value(row.key, value) };
            format!("{} = {value}\n", row.path)
        };
        rows.map(line).collect()
    };
    let (was, is) =
        (public(before, &|_, _| false), public(after, &|row, value| !row.key.starts_with("hooks[]") && old.get(&row.path) != Some(value)));
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    unified(was.as_bytes(), is.as_bytes(), &name, 0)
}

pub(super) fn unsaved(error: &SaveError) -> ToolError {
    ToolError::execution(error.to_string())
}

fn unknown(key: &str) -> ToolError {
    let near = nearest(&plain(key), KEYS.iter().map(|key| key.path));
    let meant = near.first().map(|near| format!("Did you mean '{near}'? ")).unwrap_or_default();
    ToolError::validation(format!("There is no setting '{key}'. {meant}A part of a key, such as 'display', reads all beneath it."))
}

/// What a model may set, for one that tried something else.
fn not_settable(key: &str) -> ToolError {
    let all: Vec<&str> = KEYS.iter().filter(|key| key.model_may_set).map(|key| key.path).collect();
    ToolError::denied(format!(
        "A model cannot set '{key}': what it may do, where data goes and what is spent is for the user to decide, in the configuration \
         file. It can set: {}, written exactly so.",
        all.join(", ")
    ))
}

#[cfg(test)]
mod tests {
    use haft_contract::ErrorKind;
    use haft_testkit::FakeHost;

    use super::*;
    use crate::output::Output;

    const FILE: &str = "# mine\naccess = \"read-only\" # stays\n\n[display]\ntodo_list = true\n";

    struct World {
        folder: tempfile::TempDir,
        access: ModelSettings,
    }

    impl World {
        fn new(text: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            let file = folder.path().join("config.toml");
            std::fs::write(&file, text).unwrap();
            let common = Common { workspace: Some(folder.path().to_owned()), config: Some(file), ..Common::default() };
            let wire = Wire::new(&common, &Output::new(false, false, false)).map_err(|failure| failure.message.clone()).unwrap();
            Self { access: ModelSettings::new(&wire), folder }
        }

        fn text(&self) -> String {
            std::fs::read_to_string(self.folder.path().join("config.toml")).unwrap()
        }

        async fn set(&self, key: &str, value: Value) -> Result<String, ToolError> {
            let change = self.access.check(key, &value)?;
            self.access.write(&change, &*FakeHost::new().journal).await
        }
    }

    /// Ways to write a key that somebody may try.
    fn spellings(path: &str) -> Vec<String> {
        let named = path.replace('*', "main");
        let first = named.replace("[]", "[0]");
        let parts: Vec<String> = first.split('.').map(|part| format!("\"{part}\"")).collect();
        let mut spellings = vec![
            path.to_owned(),
            first.to_uppercase(),
            format!("{first}."),
            format!(".{first}"),
            format!(" {first} "),
            format!("{first}[0]"),
            format!("{first}.display.todo_list"),
            format!("display.todo_list\n{first}"),
            format!("display.todo_list = true\n{first}"),
            first.replace('_', "-"),
            first.replace('.', "/"),
            parts.join("."),
            path.split('.').next().unwrap_or_default().to_owned(),
            named,
            first,
        ];
        spellings.retain(|spelling| model_key(spelling).is_none());
        spellings
    }

    #[tokio::test]
    async fn every_key_that_is_not_for_models_is_refused_in_every_spelling() {
        let world = World::new(FILE);
        let values = [json!("full-access"), json!("off"), json!(true), json!(1), json!(["*"]), json!({"todos": false}), Value::Null];
        let forbidden: Vec<&ConfigKey> = KEYS.iter().filter(|key| !key.model_may_set).collect();
        assert!(forbidden.len() > 100, "{}", forbidden.len());
        for spelling in forbidden.iter().flat_map(|key| spellings(key.path)) {
            for value in &values {
                let error = world.set(&spelling, value.clone()).await.unwrap_err();
                assert_eq!(error.kind(), ErrorKind::PermissionDenied, "{spelling:?} {value}");
                // A change that was not checked is refused as well.
                let file = world.folder.path().join("config.toml");
                let forged = SettingChange { key: spelling.clone(), before: Value::Null, value: value.clone(), file };
                assert!(world.access.write(&forged, &*FakeHost::new().journal).await.is_err(), "{spelling:?} {value}");
            }
        }
        assert_eq!(world.text(), FILE, "the file is as it was");
    }

    #[test]
    fn no_key_about_rights_data_or_money_is_for_models() {
        let never = [
            "access",
            "ask",
            "preset",
            "tools",
            "groups",
            "rules",
            "network",
            "web",
            "workspace",
            "guards",
            "limits",
            "approvals",
            "history",
            "retention",
            "agents",
            "subagents",
            "sandbox",
            "channels",
            "model",
            "sessions",
            "small_model",
            "models",
            "providers",
            "prices",
            "budget",
            "quota",
            "hooks",
            "exec",
            "mcp",
            "memory",
            "gateway",
            "tool_settings",
            "max_rounds",
            "node",
            "browser",
            "image",
            "tts",
            "transcription",
        ];
        let first = |key: &ConfigKey| key.path.split(['.', '[']).next().unwrap_or_default().to_owned();
        let settable: Vec<&str> = KEYS.iter().filter(|key| key.model_may_set).map(|key| key.path).collect();
        assert_eq!(settable, ["context.compact_percent", "display.todo_list", "display.usage"]);
        for key in KEYS.iter().filter(|key| never.contains(&first(key).as_str())) {
            assert!(!key.model_may_set, "{}", key.path);
        }
        // A new part of the configuration is forbidden or for models, on purpose.
        let unknown: Vec<String> = KEYS.iter().map(first).filter(|name| !never.contains(&name.as_str())).collect();
        assert!(unknown.iter().all(|name| ["context", "display"].contains(&name.as_str())), "{unknown:?}");
    }

    #[tokio::test]
    async fn a_key_for_models_is_set_with_a_diff_and_a_pre_image() {
        let world = World::new(FILE);
        let host = FakeHost::new();
        let change = world.access.check("display.todo_list", &json!("false")).unwrap();
        assert_eq!((&change.before, &change.value), (&json!(true), &json!(false)));
        let diff = world.access.write(&change, &*host.journal).await.unwrap();
        assert!(diff.ends_with("-display.todo_list = true\n+display.todo_list = false\n"), "{diff}");
        assert_eq!(world.text(), FILE.replace("todo_list = true", "todo_list = false"));
        assert_eq!(host.journal.kept().len(), 1);
        assert_eq!(world.set("display.todo_list", json!("false")).await.unwrap(), "(nothing changes: the file says so already)");
        for (key, value, words) in [
            ("display.todo_list", json!("maybe"), "takes true or false"),
            ("display.todo_list", json!({"a": 1}), "takes true or false"),
            ("context.compact_percent", json!("5"), "from 20 to 95"),
        ] {
            let error = world.set(key, value).await.unwrap_err();
            assert!(error.kind() == ErrorKind::ValidationError && error.message().contains(words), "{error:?}");
        }
    }

    #[test]
    fn settings_are_read_with_their_source_and_without_secrets() {
        let world = World::new(
            "access = \"read-only\"\n[providers.work]\nprotocol = \"openai\"\nbase_url = \"https://me:pass@host/v1\"\n\
             api_key_command = \"print-key tok-123\"\n[[hooks]]\nevent = \"before_tool_call\"\ncommand = \"./hook --token tok-123\"\n\
             [mcp.servers.hub]\ncommand = \"hub-tok-123\"\nargs = [\"--token=tok-123\"]\nenv = { KEY = \"tok-123\" }\n\
             [mcp.servers.far]\nurl = \"https://me:pass@far/mcp\"\nheaders = { Authorization = \"tok-123\" }\n",
        );
        let read = |key: &str| world.access.read(key).unwrap();
        let access = &read(" Access. ")[0];
        assert_eq!((access.key.as_str(), &access.value, access.is_settable), ("access", &json!("read-only"), false));
        assert!(access.source.ends_with("config.toml:1:10"), "{}", access.source);
        let all = read("*").iter().map(|setting| format!("{} {}", setting.key, setting.value)).collect::<Vec<_>>().join("\n");
        assert!(
            all.contains("providers.work.base_url \"https://(not shown)@host/v1\"") && !all.contains("tok-123") && !all.contains("pass@"),
            "{all}"
        );
        assert_eq!(read("display").len(), 2);
        let public = public_settings(&world.access.provenance);
        let text = public.to_string();
        assert!(!text.contains("tok-123") && !text.contains("pass@") && text.contains("https://(not shown)@far/mcp"), "{text}");
        assert_eq!(public.as_array().unwrap().len(), values(&world.access.provenance).len());
        let error = world.access.read("displya.todo_list").unwrap_err();
        assert!(error.message().contains("Did you mean 'display.todo_list'?"), "{error:?}");
    }
}
