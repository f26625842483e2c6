//! Hooks: programs that run around a call.

use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_contract::{HookEvent, OnFailure};
use toml::de::DeTable;

use crate::command_files::{CommandFiles, files_of};
use crate::decode::{Decoder, Node};
use crate::problem::Problem;
use crate::provenance::Setting;
use crate::{ConfigValue, SettingSource, Sourced};

/// A program that runs around a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct HookSettings {
    /// Its name in messages.
    pub name: Option<String>,
    /// When it runs.
    pub event: HookEvent,
    /// The tools or effects it runs for; none at all means every tool.
    pub matches: Vec<Sourced<String>>,
    /// The program to run.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// What happens to the call if the hook cannot run.
    pub on_failure: OnFailure,
    /// Those with a higher number run first.
    pub priority: i64,
    /// Files of the workspace that the command names, which no tool may write; of a link both itself and its target.
    pub files: Vec<PathBuf>,
    /// Missing programs of the workspace that the command names, which no tool may create.
    pub missing: Vec<PathBuf>,
    /// The folders of the workspace that the command names.
    pub(crate) folders: Vec<PathBuf>,
    /// The place of its definition.
    pub source: SettingSource,
}

impl HookSettings {
    /// Finds the files of the workspace that the command names.
    pub(crate) fn find_files(&mut self, workspace: &Path, home: Option<&Path>) {
        let CommandFiles { files, missing, folders } = files_of(&self.command, workspace, home);
        (self.files, self.missing, self.folders) = (files, missing, folders);
    }
}

/// More hooks are a mistake: each is a process for each call.
pub(crate) const MAX_HOOKS: usize = 100;

/// A hook from the values of its table; `None` after a problem was noted.
pub(crate) fn hook(decoder: &mut Decoder<'_>, entry: &Node<'_>, table: &DeTable<'_>, fields: Vec<Setting>) -> Option<HookSettings> {
    // A missing field was reported already; a misspelt key may be the one that is required below.
    if fields.len() < table.len() {
        return None;
    }
    let complete = has(decoder, entry, table, "event", "event = \"before_tool_call\"");
    if !has(decoder, entry, table, "command", "command = \"my-check\"") || !complete {
        return None;
    }
    let mut fields = HookFields(fields);
    let event = fields.text("event").and_then(|word| word.parse().ok())?;
    let on_failure = fields.on_failure(decoder, event)?;
    Some(HookSettings {
        name: fields.text("name"),
        event,
        matches: fields.matches(decoder)?,
        command: fields.text("command")?,
        timeout: Duration::from_secs(fields.value("timeout_seconds").as_count().unwrap_or(10)),
        on_failure,
        priority: if let ConfigValue::Signed(number) = fields.value("priority") { number } else { 0 },
        files: Vec::new(),
        missing: Vec::new(),
        folders: Vec::new(),
        source: decoder.origin.at(entry.span()),
    })
}

fn has(decoder: &mut Decoder<'_>, entry: &Node<'_>, table: &DeTable<'_>, field: &str, example: &str) -> bool {
    let there = table.contains_key(field);
    if !there {
        decoder.refuse("hooks", entry, format!("an entry of 'hooks' has no {field}"), format!("add {example}"));
    }
    there
}

/// The values of a hook's table.
struct HookFields(Vec<Setting>);

impl HookFields {
    fn take(&mut self, name: &str) -> Option<Setting> {
        let at = self.0.iter().position(|field| field.path.last().is_some_and(|last| last == name))?;
        Some(self.0.swap_remove(at))
    }

    fn value(&mut self, name: &str) -> ConfigValue {
        self.take(name).map_or(ConfigValue::Unset, |field| field.value)
    }

    fn text(&mut self, name: &str) -> Option<String> {
        self.value(name).as_text().map(str::to_owned)
    }

    fn on_failure(&mut self, decoder: &mut Decoder<'_>, event: HookEvent) -> Option<OnFailure> {
        let Some(Setting { value, source, .. }) = self.take("on_failure") else { return Some(event.default_failure()) };
        match value.as_text() {
            Some("block") if event == HookEvent::AfterToolCall => {
                let message = "'hooks[].on_failure' cannot be block after a call: there is nothing left to block";
                let help = "use \"continue\", or event = \"before_tool_call\"";
                decoder.problems.add(|| Problem::error(source, message).key("hooks[].on_failure").help(help));
                None
            }
            Some("block") => Some(OnFailure::Block),
            _ => Some(OnFailure::Continue),
        }
    }

    fn matches(&mut self, decoder: &mut Decoder<'_>) -> Option<Vec<Sourced<String>>> {
        let Some(Setting { value: ConfigValue::List(entries), source, .. }) = self.take("match") else { return Some(Vec::new()) };
        if entries.is_empty() {
            let message = "'hooks[].match' is empty: the hook would never run";
            let help = "remove the key to run it for every tool, or name the tools";
            decoder.problems.add(|| Problem::error(source, message).key("hooks[].match").help(help));
            return None;
        }
        Some(entries)
    }
}
