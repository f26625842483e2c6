//! The server as a tool sees it: its configuration by path, changes that can only tighten without approval, and its restart.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use haft_config::{ConfigKey, ConfigValue, MergeRule, OwnFile, Provenance, SettingEdit, ValueKind};
use haft_contract::ports::{AuthorityChange, Automation, ConfigPart, ConfigPreview, GatewayControl, Journal, KeyChange, SettingsAccess};
use haft_contract::{BoxFuture, ToolError};
use haft_gateway::ServedSessions;
use haft_patch::diff::unified;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

use super::settings_access::{ModelSettings, hash, pre_image, unsaved};

const DIFF_CONTEXT: usize = 2;
/// The largest schema that one answer shows.
const MOST_SCHEMA_BYTES: usize = 8_000;
const MOST_KEYS: usize = 32;

/// A restart that somebody asked for.
#[derive(Debug, Clone)]
pub(crate) struct RestartRequest {
    pub(crate) session: String,
    pub(crate) reason: String,
    pub(crate) wait: Duration,
}

/// What tools can ask of the server, and what it gives them once it listens.
#[derive(Default)]
pub(crate) struct ServerControl {
    request: Mutex<Option<RestartRequest>>,
    pub(crate) requested: Notify,
    sessions: OnceLock<ServedSessions>,
    /// Reads the configuration again.
    reload: OnceLock<Arc<dyn Fn() + Send + Sync>>,
    url: OnceLock<String>,
}

impl ServerControl {
    /// Gives the tools what there is once the server listens.
    pub(crate) fn offer(&self, sessions: &ServedSessions, url: &str, reload: Arc<dyn Fn() + Send + Sync>) {
        self.sessions.set(sessions.clone()).ok();
        self.url.set(url.to_owned()).ok();
        self.reload.set(reload).ok();
    }

    pub(crate) fn restart_request(&self) -> Option<RestartRequest> {
        self.request.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn request(&self, request: RestartRequest) -> bool {
        let mut current = self.request.lock().unwrap_or_else(PoisonError::into_inner);
        let is_first = current.is_none();
        current.get_or_insert(request);
        self.requested.notify_one();
        is_first
    }
}

/// The server of a conversation.
pub(super) struct ServedGateway {
    pub(super) settings: ModelSettings,
    pub(super) control: Arc<ServerControl>,
    pub(super) automation: Arc<dyn Automation>,
    pub(super) started: Instant,
}

impl ServedGateway {
    fn draft(&self, patch: &Value, base_hash: Option<&str>) -> Result<(OwnFile, String, ConfigPreview), ToolError> {
        let own = self.settings.own_file()?;
        let before_hash = hash(own.text())?;
        if let Some(expected) = base_hash.filter(|expected| *expected != before_hash) {
            return Err(ToolError::validation(format!(
                "Nothing was changed: the configuration file is not the one with the hash {expected}. Read it again with config.get."
            )));
        }
        let edits = edits(patch)?;
        let text = own.with_edits(&edits).map_err(|error| unsaved(&error))?;
        let (before, after) = (self.settings.load(own.text()), self.settings.load(&text));
        if let Some(problem) = after.errors().next() {
            return Err(ToolError::validation(format!("Nothing was changed, because the file would have an error: {}.", problem.message)));
        }
        let keys = changed_keys(&before.provenance, &after.provenance);
        let name = own.path().file_name().unwrap_or_default().to_string_lossy().into_owned();
        let difference = unified(own.text().as_bytes(), text.as_bytes(), &name, DIFF_CONTEXT);
        let preview = ConfigPreview { keys, difference, file: own.path().display().to_string(), hash: before_hash };
        if preview.keys.is_empty() {
            return Err(ToolError::validation("Nothing changes: the configuration says so already."));
        }
        Ok((own, text, preview))
    }
}

impl GatewayControl for ServedGateway {
    fn status(&self) -> BoxFuture<'_, Result<Value, ToolError>> {
        Box::pin(async {
            let jobs = self.automation.status().await?;
            let running = self.control.sessions.get().map(ServedSessions::running).unwrap_or_default();
            Ok(json!({
                "version": env!("CARGO_PKG_VERSION"), "url": self.control.url.get(), "up_seconds": self.started.elapsed().as_secs(),
                "running_turns": running.len(), "restart": self.control.restart_request().map(|request| request.reason),
                "jobs": { "on": jobs.enabled, "off": jobs.disabled, "running": jobs.running, "next": jobs.next },
            }))
        })
    }

    fn config(&self, path: &str) -> Result<ConfigPart, ToolError> {
        let own = self.settings.own_file()?;
        let settings = self.settings.with_text(own.text()).read(path)?;
        Ok(ConfigPart { settings, hash: hash(own.text())? })
    }

    fn schema(&self, path: &str) -> Result<Value, ToolError> {
        let mut found = haft_config::schema();
        for part in path.trim().trim_end_matches(['.', '*']).split('.') {
            let beneath = &found["properties"][part];
            let next = if beneath.is_null() { &found["additionalProperties"] } else { beneath };
            if !next.is_object() {
                let known: Vec<&String> = found["properties"].as_object().into_iter().flat_map(Map::keys).collect();
                return Err(ToolError::validation(format!("There is no key '{path}': '{part}' is none of {known:?}.")));
            }
            found = next.clone();
        }
        if found.to_string().len() <= MOST_SCHEMA_BYTES {
            return Ok(found);
        }
        let keys: Vec<&String> = found["properties"].as_object().into_iter().flat_map(Map::keys).collect();
        Ok(json!({ "keys": keys, "note": "This part is large: name a longer path." }))
    }

    fn preview(&self, patch: &Value, base_hash: Option<&str>) -> Result<ConfigPreview, ToolError> {
        Ok(self.draft(patch, base_hash)?.2)
    }

    fn apply<'a>(&'a self, patch: &'a Value, preview: &'a ConfigPreview, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            let (own, text, _) = self.draft(patch, Some(&preview.hash))?;
            journal.keep(pre_image(&own, &text)?).await?;
            let (file, after) = (own.path().to_owned(), text.clone());
            let written = tokio::task::spawn_blocking(move || own.replace(text).map(drop)).await;
            if let Err(error) = written.map_err(|error| ToolError::execution(format!("Saving was cut short: {error}.")))? {
                journal.withdraw(&file, Some(&hash(&after)?)).await?;
                return Err(unsaved(&error));
            }
            if let Some(reload) = self.control.reload.get() {
                reload();
            }
            Ok(())
        })
    }

    fn restart<'a>(&'a self, session: &'a str, reason: &'a str, wait: Duration) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move {
            let request = RestartRequest { session: session.to_owned(), reason: reason.to_owned(), wait };
            if !self.control.request(request) {
                return Ok("A restart was asked for already; it happens when what runs has ended.".into());
            }
            Ok(format!(
                "The server restarts when this turn and the others have ended, after {} s at the latest. Turns that run longer continue \
                 after the restart. End your turn now.",
                wait.as_secs()
            ))
        })
    }
}

/// The edits of a patch: nested tables are dotted keys.
fn edits(patch: &Value) -> Result<Vec<SettingEdit>, ToolError> {
    let mut edits = Vec::new();
    flatten("", patch, &mut edits)?;
    if edits.len() > MOST_KEYS {
        return Err(ToolError::validation(format!("A patch has at most {MOST_KEYS} keys; this one has {}.", edits.len())));
    }
    Ok(edits)
}

fn flatten(prefix: &str, value: &Value, edits: &mut Vec<SettingEdit>) -> Result<(), ToolError> {
    let key = prefix.to_owned();
    let wrong = || ToolError::validation(format!("The value of '{prefix}' must be a word, a number, true, false, or a list of words."));
    edits.push(match value {
        Value::Object(table) => {
            for (name, value) in table {
                let path = if prefix.is_empty() { name.clone() } else { format!("{prefix}.{name}") };
                flatten(&path, value, edits)?;
            }
            return Ok(());
        }
        Value::String(text) => SettingEdit::SetText(key, text.clone()),
        Value::Bool(flag) => SettingEdit::SetFlag(key, *flag),
        Value::Number(number) => SettingEdit::SetNumber(key, number.as_i64().ok_or_else(wrong)?),
        Value::Array(list) => {
            let words = list.iter().map(|word| word.as_str().map(str::to_owned)).collect::<Option<Vec<_>>>();
            SettingEdit::SetList(key, words.ok_or_else(wrong)?)
        }
        Value::Null => return Err(wrong()),
    });
    Ok(())
}

/// Keys whose value differs, each with what that does to what is allowed.
fn changed_keys(before: &Provenance, after: &Provenance) -> Vec<KeyChange> {
    let at = |provenance: &Provenance, path: &[String]| {
        provenance.settings().iter().find(|setting| setting.path == path).map(|setting| setting.value.clone())
    };
    let mut paths: Vec<(&'static ConfigKey, Vec<String>)> = Vec::new();
    for setting in before.settings().iter().chain(after.settings()) {
        if !paths.iter().any(|(_, path)| *path == setting.path) {
            paths.push((setting.key, setting.path.clone()));
        }
    }
    let mut changes = Vec::new();
    for (key, path) in paths {
        let (old, new) = (at(before, &path).unwrap_or(ConfigValue::Unset), at(after, &path).unwrap_or(ConfigValue::Unset));
        if old.to_string() != new.to_string() {
            changes.push(KeyChange { key: path.join("."), authority: authority(key, &old, &new) });
        }
    }
    if before.hooks().len() != after.hooks().len() {
        changes.push(KeyChange { key: "hooks".into(), authority: AuthorityChange::Wider });
    }
    changes
}

/// What a change does; what is not certainly tighter counts as wider.
fn authority(key: &ConfigKey, before: &ConfigValue, after: &ConfigValue) -> AuthorityChange {
    if key.model_may_set {
        return AuthorityChange::Neutral;
    }
    let (old, new) = (texts(before), texts(after));
    let is_tighter = match (key.merge, key.kind, before, after) {
        (MergeRule::Strictest, ValueKind::Choice(words), ..) => after.is_stricter(before, words),
        (MergeRule::Strictest, ..) => after.is_stricter(before, &[]),
        // Each entry of these lists denies.
        (MergeRule::Union, ..) => old.iter().all(|entry| new.contains(entry)),
        // Each entry of these allows, and no list at all allows everything.
        (MergeRule::Intersect, _, _, ConfigValue::Lists(lists)) => {
            !lists.is_empty() && (before.lists().is_empty() || new.iter().all(|entry| old.contains(entry)))
        }
        // Each of these must hold.
        (MergeRule::Intersect, _, _, ConfigValue::Texts(_)) => old.iter().all(|entry| new.contains(entry)),
        (MergeRule::UserOnly | MergeRule::UserUnion, ValueKind::List(_), ..) => {
            !old.is_empty() && new.iter().all(|entry| old.contains(entry))
        }
        _ => false,
    };
    if is_tighter { AuthorityChange::Tighter } else { AuthorityChange::Wider }
}

/// A value as texts, without its sources.
fn texts(value: &ConfigValue) -> Vec<String> {
    match value {
        ConfigValue::Unset => Vec::new(),
        ConfigValue::List(entries) | ConfigValue::Texts(entries) => entries.iter().map(|entry| entry.value.clone()).collect(),
        ConfigValue::Lists(lists) => lists.iter().flat_map(|list| &list.value).map(|entry| entry.value.clone()).collect(),
        other => vec![other.as_text().map_or_else(|| other.to_string(), str::to_owned)],
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::ErrorKind;
    use haft_testkit::FakeHost;

    use super::*;
    use crate::arguments::Common;
    use crate::output::Output;
    use crate::wire::Wire;

    const FILE: &str = "access = \"workspace-write\" # mine\n\n[tools]\nallow = [\"read_file\", \"exec\"]\n\n[rules]\ndeny = [\"exec(git push *)\"]\n\
                        \n[providers.work]\nprotocol = \"openai\"\nbase_url = \"https://me:pass@host/v1\"\napi_key_command = \"print tok-123\"\n";

    struct TestServer {
        folder: tempfile::TempDir,
        gateway: ServedGateway,
    }

    fn server() -> TestServer {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        std::fs::write(&file, FILE).unwrap();
        let common = Common { workspace: Some(folder.path().to_owned()), config: Some(file), ..Common::default() };
        let wire = Wire::new(&common, &Output::new(false, false, false)).map_err(|failure| failure.message.clone()).unwrap();
        let (settings, automation) = (ModelSettings::new(&wire), wire.automation());
        let gateway = ServedGateway { settings, control: Arc::default(), automation, started: Instant::now() };
        TestServer { folder, gateway }
    }

    #[test]
    fn only_what_is_certainly_tighter_is_not_wider() {
        let server = server();
        for (patch, expected) in [
            (json!({"access": "read-only"}), "access tighter"),
            (json!({"access": "full-access"}), "access wider"),
            (json!({"rules": {"deny": ["exec(git push *)", "exec(curl *)"]}}), "rules.deny tighter"),
            (json!({"rules.deny": []}), "rules.deny wider"),
            (json!({"rules": {"allow": ["exec(rm *)"]}}), "rules.allow wider"),
            (json!({"tools": {"allow": ["read_file"]}}), "tools.allow tighter"),
            (json!({"tools": {"allow": ["read_file", "web_fetch"]}}), "tools.allow wider"),
            (json!({"tools": {"also_allow": ["cron"]}}), "tools.also_allow wider"),
            (json!({"network": {"allow": ["10.0.0.0/8"]}}), "network.allow wider"),
            (json!({"sandbox": {"mode": "off"}}), "sandbox.mode wider"),
            (json!({"providers": {"work": {"base_url": "https://evil.example/v1"}}}), "providers.work.base_url wider"),
            (json!({"model": "work/other"}), "model wider"),
            (json!({"display": {"todo_list": false}}), "display.todo_list neutral"),
        ] {
            let preview = server.gateway.preview(&patch, None).unwrap_or_else(|error| panic!("{patch}: {error:?}"));
            let keys: Vec<String> = preview.keys.iter().map(|key| format!("{} {}", key.key, key.authority.as_str())).collect();
            assert_eq!(keys, [expected], "{patch}");
        }
        assert_eq!(std::fs::read_to_string(server.folder.path().join("config.toml")).unwrap(), FILE, "a preview writes nothing");
    }

    #[test]
    fn faulty_patches_and_old_hashes_are_refused() {
        let server = server();
        let many: Map<String, Value> = (0..40).map(|number| (format!("k{number}"), json!(true))).collect();
        for (patch, hash, words) in [
            (json!({"access": "root"}), None, "the file would have an error"),
            (json!({"acess": "read-only"}), None, "the file would have an error"),
            (json!({"access": null}), None, "must be a word"),
            (json!({"access": "workspace-write"}), None, "Nothing changes"),
            (json!({"rules": {"deny": [1]}}), None, "a list of words"),
            (Value::Object(many), None, "at most 32 keys"),
            (json!({"access": "read-only"}), Some("0000"), "Read it again with config.get"),
        ] {
            let error = server.gateway.preview(&patch, hash).unwrap_err();
            assert!(error.kind() == ErrorKind::ValidationError && error.message().contains(words), "{patch}: {error:?}");
        }
    }

    #[tokio::test]
    async fn change_is_written_with_a_pre_image_and_the_rest_of_the_file_stays() {
        let server = server();
        let hash = server.gateway.config("access").unwrap().hash;
        let patch = json!({"access": "read-only"});
        let preview = server.gateway.preview(&patch, Some(&hash)).unwrap();
        let host = FakeHost::new();
        server.gateway.apply(&patch, &preview, &*host.journal).await.unwrap();
        let text = std::fs::read_to_string(server.folder.path().join("config.toml")).unwrap();
        assert_eq!((text, host.journal.kept().len()), (FILE.replace("workspace-write", "read-only"), 1));
        // What was looked at is not there any more.
        assert!(server.gateway.apply(&patch, &preview, &*host.journal).await.is_err());
    }

    #[test]
    fn configuration_is_read_by_path_and_without_secrets() {
        let server = server();
        let part = server.gateway.config("providers").unwrap();
        let text = format!("{:?}", part.settings);
        assert!(text.contains("https://(not shown)@host/v1") && !text.contains("tok-123") && !text.contains("pass@"), "{text}");
        let schema = server.gateway.schema("exec.limits").unwrap();
        assert!(schema["properties"]["memory"].is_object(), "{schema}");
        for part in ["exec", "tools", "mcp", "agents"] {
            assert!(server.gateway.schema(part).unwrap().to_string().len() <= MOST_SCHEMA_BYTES, "{part}");
        }
        assert!(server.gateway.schema("nothing").unwrap_err().message().contains("There is no key 'nothing'"));
    }

    #[tokio::test]
    async fn second_request_for_a_restart_changes_nothing() {
        let server = server();
        let first = server.gateway.restart("s1", "update", Duration::from_secs(5)).await.unwrap();
        assert!(first.contains("after 5 s at the latest"), "{first}");
        assert!(server.gateway.restart("s2", "again", Duration::ZERO).await.unwrap().contains("asked for already"));
        assert_eq!(server.gateway.control.restart_request().unwrap().session, "s1");
    }
}
