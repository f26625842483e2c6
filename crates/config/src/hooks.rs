//! Hooks: programs that run around a call.

use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_contract::{HookEvent, OnFailure};
use toml::de::DeTable;

use crate::decode::{Decoder, Node};
use crate::named::{Named, named};
use crate::problem::Problem;
use crate::provenance::Setting;
use crate::{Source, Sourced, Value};

/// A program that runs around a call.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Hook {
    /// What it is called in messages.
    pub name: Option<String>,
    /// When it runs.
    pub event: HookEvent,
    /// The tools or effects it runs for; none at all means every tool.
    pub matches: Vec<Sourced<String>>,
    /// The program to run.
    pub command: String,
    /// How long it may take.
    pub timeout: Duration,
    /// What happens to the call when it cannot run.
    pub on_failure: OnFailure,
    /// Those with a higher number run first.
    pub priority: i64,
    /// The files of the workspace that the command names, which no tool may write; of a link both itself and where it leads.
    pub files: Vec<PathBuf>,
    /// Programs in the workspace that the command names and that are not there, which no tool may create.
    pub missing: Vec<PathBuf>,
    /// The folders of the workspace that the command names.
    pub(crate) folders: Vec<PathBuf>,
    /// Where it stands.
    pub source: Source,
}

impl Hook {
    /// Finds out what of the workspace the command names.
    pub(crate) fn look_around(&mut self, workspace: &Path, home: Option<&Path>) {
        let Named { files, missing, folders } = named(&self.command, workspace, home);
        (self.files, self.missing, self.folders) = (files, missing, folders);
    }
}

/// More hooks than anyone has are a mistake, and each is a process for each call.
pub(crate) const MAX_HOOKS: usize = 100;

/// A hook from the values of its table; `None` after a problem was noted.
pub(crate) fn hook(decoder: &mut Decoder<'_>, entry: &Node<'_>, table: &DeTable<'_>, fields: Vec<Setting>) -> Option<Hook> {
    // What is missing here was refused, and told, already; a misspelt key may be the one that is looked for below.
    if fields.len() < table.len() {
        return None;
    }
    let complete = has(decoder, entry, table, "event", "event = \"before_tool_call\"");
    if !has(decoder, entry, table, "command", "command = \"my-check\"") || !complete {
        return None;
    }
    let mut fields = Fields(fields);
    let event = fields.word("event").and_then(|(word, _)| HookEvent::ALL.into_iter().find(|event| event.as_str() == word))?;
    let on_failure = fields.on_failure(decoder, event)?;
    Some(Hook {
        name: fields.text("name"),
        event,
        matches: fields.matches(decoder)?,
        command: fields.text("command")?,
        timeout: Duration::from_secs(fields.seconds().unwrap_or(10)),
        on_failure,
        priority: fields.number("priority").unwrap_or(0),
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
struct Fields(Vec<Setting>);

impl Fields {
    fn take(&mut self, name: &str) -> Option<Setting> {
        let at = self.0.iter().position(|field| field.path.last().is_some_and(|last| last == name))?;
        Some(self.0.swap_remove(at))
    }

    fn text(&mut self, name: &str) -> Option<String> {
        if let Value::Text(text) = self.take(name)?.value { Some(text) } else { None }
    }

    fn word(&mut self, name: &str) -> Option<(&'static str, Source)> {
        let field = self.take(name)?;
        if let Value::Choice(word) = field.value { Some((word, field.source)) } else { None }
    }

    fn seconds(&mut self) -> Option<u64> {
        if let Value::Count(seconds) = self.take("timeout_seconds")?.value { Some(seconds) } else { None }
    }

    fn number(&mut self, name: &str) -> Option<i64> {
        if let Value::Signed(number) = self.take(name)?.value { Some(number) } else { None }
    }

    fn on_failure(&mut self, decoder: &mut Decoder<'_>, event: HookEvent) -> Option<OnFailure> {
        match self.word("on_failure") {
            Some(("block", source)) if event == HookEvent::AfterToolCall => {
                let message = "'hooks[].on_failure' cannot be block after a call: there is nothing left to block";
                let help = "use \"continue\", or event = \"before_tool_call\"";
                decoder.problems.add(|| Problem::error(source, message).key("hooks[].on_failure").help(help));
                None
            }
            Some(("block", _)) => Some(OnFailure::Block),
            Some(_) => Some(OnFailure::Continue),
            None => Some(event.default_failure()),
        }
    }

    fn matches(&mut self, decoder: &mut Decoder<'_>) -> Option<Vec<Sourced<String>>> {
        let Some(Setting { value: Value::List(entries), source, .. }) = self.take("match") else { return Some(Vec::new()) };
        if entries.is_empty() {
            let message = "'hooks[].match' is empty: the hook would never run";
            let help = "remove the key to run it for every tool, or name the tools";
            decoder.problems.add(|| Problem::error(source, message).key("hooks[].match").help(help));
            return None;
        }
        Some(entries)
    }
}
