//! Tables of a manifest: every key is known, and every value has its type.

use std::time::Duration;

use haft_text::{display, suggest};
use toml::{Table, Value};

use crate::PluginFault;

/// Most entries of a list of texts.
const MOST_ENTRIES: usize = 64;
/// The longest text that is no description.
const LONGEST_TEXT: usize = 1_000;

/// A table, and where it is in the manifest.
pub(crate) struct ManifestTable<'a> {
    table: &'a Table,
    at: String,
}

impl<'a> ManifestTable<'a> {
    /// Refuses keys that are not known, naming the nearest.
    pub(crate) fn new(table: &'a Table, at: impl Into<String>, known: &[&str]) -> Result<Self, PluginFault> {
        let at = at.into();
        let Some(unknown) = table.keys().find(|key| !known.contains(&key.as_str())) else { return Ok(Self { table, at }) };
        let shown = display::shorten(unknown, 60);
        let near = suggest::nearest(unknown, known.iter().copied());
        let help = match near.first() {
            Some(near) => format!("did you mean '{near}'?"),
            None => format!("there are: {}", known.join(", ")),
        };
        Err(PluginFault::new(format!("{at} has the unknown key '{shown}': {help}")))
    }

    pub(crate) fn get(&self, key: &str) -> Option<&'a Value> {
        self.table.get(key)
    }

    pub(crate) fn fault(&self, key: &str, problem: impl std::fmt::Display) -> PluginFault {
        PluginFault::new(format!("'{key}' of {} {problem}", self.at))
    }

    /// A text that must be there.
    pub(crate) fn text(&self, key: &str) -> Result<String, PluginFault> {
        let value = self.get(key).ok_or_else(|| self.fault(key, "is missing"))?;
        self.plain_text(key, value, LONGEST_TEXT)
    }

    /// A description that must be there: a model reads it, so nothing in it may be hidden.
    pub(crate) fn description(&self, key: &str, longest: usize) -> Result<String, PluginFault> {
        let value = self.get(key).ok_or_else(|| self.fault(key, "is missing"))?;
        self.plain_text(key, value, longest)
    }

    pub(crate) fn flag(&self, key: &str) -> Result<bool, PluginFault> {
        match self.get(key) {
            None => Ok(false),
            Some(Value::Boolean(flag)) => Ok(*flag),
            Some(_) => Err(self.fault(key, "must be true or false")),
        }
    }

    /// Whole seconds within bounds.
    pub(crate) fn seconds(&self, key: &str, default: u64, most: u64) -> Result<Duration, PluginFault> {
        let seconds = match self.get(key) {
            None => Some(default),
            Some(Value::Integer(seconds)) => u64::try_from(*seconds).ok().filter(|seconds| (1..=most).contains(seconds)),
            Some(_) => None,
        };
        seconds.map(Duration::from_secs).ok_or_else(|| self.fault(key, format!("must be a number of seconds from 1 to {most}")))
    }

    pub(crate) fn texts(&self, key: &str) -> Result<Vec<String>, PluginFault> {
        let entries = match self.get(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(entries)) if entries.len() <= MOST_ENTRIES => entries,
            Some(_) => return Err(self.fault(key, format!("must be a list of at most {MOST_ENTRIES} texts"))),
        };
        entries.iter().map(|entry| self.plain_text(key, entry, LONGEST_TEXT)).collect()
    }

    fn plain_text(&self, key: &str, value: &Value, longest: usize) -> Result<String, PluginFault> {
        let text = value.as_str().map(str::trim).filter(|text| !text.is_empty());
        let text = text.ok_or_else(|| self.fault(key, "must be a text that is not empty"))?;
        if text.len() > longest {
            return Err(self.fault(key, format!("has {} bytes, and {longest} are the most", text.len())));
        }
        if display::escape_lines(text) != text {
            let shown = display::shorten(text, 80);
            return Err(self.fault(key, format!("holds hidden or control characters, which nobody can check: {shown}")));
        }
        Ok(text.to_owned())
    }
}
