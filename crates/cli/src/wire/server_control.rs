//! The server as a tool sees it: its configuration by path, changes that can only tighten without approval, and its restart.

mod authority;
mod patch;
#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use haft_config::OwnFile;
use haft_contract::ports::{Automation, ConfigPart, ConfigPreview, GatewayControl, Journal, SettingsAccess};
use haft_contract::{BoxFuture, ToolError};
use haft_gateway::ServedSessions;
use serde_json::{Map, Value, json};
use tokio::sync::Notify;

pub(crate) use self::authority::changed_keys;
use self::authority::united;
use self::patch::edits;
use super::settings_access::{ModelSettings, hash, pre_image, settings_difference, unsaved};

/// The largest schema that one answer shows.
const MOST_SCHEMA_BYTES: usize = 8_000;

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

    /// Tells every page which settings allow more than before, and whether they were saved through this server.
    pub(crate) fn tell_wider(&self, keys: &[String], saved: bool) {
        if let Some(sessions) = self.sessions.get() {
            sessions.widened(keys, saved);
        }
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
        // What a flag, a variable or a project hides today counts elsewhere, and tomorrow here.
        let (alone, changed_alone) = (self.settings.load_alone(own.text()), self.settings.load_alone(&text));
        let keys = united(changed_keys(&alone.provenance, &changed_alone.provenance), changed_keys(&before.provenance, &after.provenance));
        let difference = settings_difference(&alone.provenance, &changed_alone.provenance, own.path());
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
