//! Decodes a value of a file, a variable or a flag into a value of its key's kind, or a problem.

use std::fmt::Display;
use std::path::PathBuf;

use haft_contract::Access;
use haft_text::suggest::closest;
use toml::Spanned;
use toml::de::{DeArray, DeInteger, DeTable, DeValue};

use crate::entry_syntax::{GROUP, check_syntax};
use crate::exec::aliases;
use crate::problem::{Problem, Problems, quoted};
use crate::source_text::SourceText;
use crate::{ConfigValue, ListKind, RootSetting, Sourced, ValueKind};

/// A fault of a list entry, and advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EntryFault {
    /// The fault.
    pub message: String,
    /// Advice.
    pub help: Option<String>,
}

/// Checks entries of lists beyond their syntax: whether a tool exists, whether a host parses.
pub type EntryCheck<'a> = &'a dyn Fn(ListKind, &str) -> Result<(), EntryFault>;

/// More entries, or longer ones, are a mistake.
pub(crate) const MAX_ENTRIES: usize = 1000;
pub(crate) const MAX_TEXT_BYTES: usize = 64 * 1024;

/// Decodes the values of one file, variable or flag.
pub(crate) struct Decoder<'a> {
    pub(crate) origin: &'a SourceText<'a>,
    pub(crate) home: Option<PathBuf>,
    pub(crate) check: Option<EntryCheck<'a>>,
    pub(crate) problems: Problems,
}

/// A TOML value and its span.
pub(crate) type Node<'v> = Spanned<DeValue<'v>>;

impl Decoder<'_> {
    /// The typed value; `None` after a problem was reported.
    pub(crate) fn value(&mut self, path: &str, kind: ValueKind, node: &Node<'_>) -> Option<ConfigValue> {
        match kind {
            ValueKind::Access => self.access(path, node).map(ConfigValue::Access),
            ValueKind::Choice(words) => self.choice(path, words, node).map(ConfigValue::Choice),
            ValueKind::Flag => self.flag(path, node).map(ConfigValue::Flag),
            ValueKind::Count(least, most) => self.count(path, least, most, node).map(ConfigValue::Count),
            ValueKind::Signed(least, most) => self.signed(path, least, most, node).map(ConfigValue::Signed),
            ValueKind::Money => self.money(path, node).map(ConfigValue::Money),
            ValueKind::Size(least, most) => self.size(path, least, most, node).map(ConfigValue::Size),
            ValueKind::Text => self.text(path, node).map(ConfigValue::Text),
            ValueKind::Profile => self.entry(path, ListKind::Profiles, node).map(|profile| ConfigValue::Text(profile.value)),
            ValueKind::List(of) => self.list(path, of, node).map(ConfigValue::List),
            ValueKind::Roots => self.roots(path, node).map(ConfigValue::Roots),
        }
    }

    /// Reports a problem with a value.
    pub(crate) fn refuse(&mut self, path: &str, node: &Node<'_>, message: impl AsRef<str>, help: impl AsRef<str>) {
        self.problems.add(|| Problem::error(self.origin.at(node.span()), message).key(path).help(help));
    }

    /// Reports a value of the wrong type.
    pub(crate) fn wrong_type(&mut self, path: &str, node: &Node<'_>, expected: &str, example: &str) {
        let message = format!("'{path}' must be {expected}, not {}", with_article(node.get_ref()));
        self.refuse(path, node, message, format!("write {example}"));
    }

    fn access(&mut self, path: &str, node: &Node<'_>) -> Option<Access> {
        let Some(text) = node.get_ref().as_str() else {
            self.wrong_type(path, node, "an access level", "\"read-only\", \"workspace-write\" or \"full-access\"");
            return None;
        };
        let levels = [Access::ReadOnly, Access::WorkspaceWrite, Access::FullAccess].map(Access::as_str);
        text.parse().map_err(|_| self.unknown_word(path, "access level", text, &levels, node)).ok()
    }

    fn choice(&mut self, path: &str, words: &'static [&'static str], node: &Node<'_>) -> Option<&'static str> {
        let Some(text) = node.get_ref().as_str() else {
            self.wrong_type(path, node, "text", &format!("one of \"{}\"", words.join("\", \"")));
            return None;
        };
        let ours = aliases(path).iter().find_map(|(theirs, ours)| (*theirs == text).then_some(*ours)).unwrap_or(text);
        let found = words.iter().find(|word| **word == ours).copied();
        if found.is_none() {
            self.unknown_word(path, "value", text, words, node);
        }
        found
    }

    fn unknown_word(&mut self, path: &str, what: &str, text: &str, words: &[&str], node: &Node<'_>) {
        let help = match closest(text, words.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"? There are: {}", words.join(", ")),
            None => format!("use one of: {}", words.join(", ")),
        };
        self.refuse(path, node, format!("'{path}' has the unknown {what} {}", quoted(text)), help);
    }

    fn flag(&mut self, path: &str, node: &Node<'_>) -> Option<bool> {
        let found = node.get_ref().as_bool();
        if found.is_none() {
            self.wrong_type(path, node, "true or false", "true or false, without quotes");
        }
        found
    }

    fn count(&mut self, path: &str, least: u64, most: u64, node: &Node<'_>) -> Option<u64> {
        let number = self.integer(path, node, (&least, &most))?;
        let found = u64::from_str_radix(number.as_str(), number.radix()).ok().filter(|count| (least..=most).contains(count));
        self.in_range(path, node, number, found, (&least, &most))
    }

    fn signed(&mut self, path: &str, least: i64, most: i64, node: &Node<'_>) -> Option<i64> {
        let number = self.integer(path, node, (&least, &most))?;
        let found = i64::from_str_radix(number.as_str(), number.radix()).ok().filter(|count| (least..=most).contains(count));
        self.in_range(path, node, number, found, (&least, &most))
    }

    fn integer<'n, 'v, T: Display>(&mut self, path: &str, node: &'n Node<'v>, (least, most): (T, T)) -> Option<&'n DeInteger<'v>> {
        if let DeValue::Integer(number) = node.get_ref() {
            return Some(number);
        }
        self.wrong_type(path, node, "a whole number", &format!("a number from {least} to {most}, without quotes"));
        None
    }

    fn in_range<T, B: Display>(
        &mut self,
        path: &str,
        node: &Node<'_>,
        number: &DeInteger<'_>,
        found: Option<T>,
        (least, most): (B, B),
    ) -> Option<T> {
        if found.is_none() {
            let message = format!("'{path}' is {}, which is out of range", quoted(&number.to_string()));
            self.refuse(path, node, message, format!("use a number from {least} to {most}"));
        }
        found
    }

    fn text(&mut self, path: &str, node: &Node<'_>) -> Option<String> {
        let Some(text) = node.get_ref().as_str() else {
            self.wrong_type(path, node, "text", "it in quotes");
            return None;
        };
        self.is_plain(path, text, node).then(|| text.to_owned())
    }

    /// Whether a text is neither too long nor empty where that means nothing, and has no NUL.
    fn is_plain(&mut self, path: &str, text: &str, node: &Node<'_>) -> bool {
        let fault = match text {
            _ if text.trim().is_empty() && !may_be_empty(path) => "holds an empty text",
            _ if text.len() > MAX_TEXT_BYTES => "holds a text that is too long",
            _ if text.contains('\0') => "holds a text with a NUL character",
            _ => return true,
        };
        self.refuse(path, node, format!("'{path}' {fault}"), format!("write 1 to {MAX_TEXT_BYTES} bytes of text, or remove it"));
        false
    }

    fn array<'n, 'v>(&mut self, path: &str, example: &str, node: &'n Node<'v>) -> Option<&'n DeArray<'v>> {
        let Some(array) = node.get_ref().as_array() else {
            self.wrong_type(path, node, "a list", example);
            return None;
        };
        if array.len() > MAX_ENTRIES {
            let message = format!("'{path}' has {} entries", array.len());
            self.refuse(path, node, message, format!("use at most {MAX_ENTRIES}; a pattern with '*' stands for many"));
            return None;
        }
        Some(array)
    }

    fn list(&mut self, path: &str, of: ListKind, node: &Node<'_>) -> Option<Vec<Sourced<String>>> {
        let example = node.get_ref().as_str().map_or("[\"…\"]".to_owned(), |text| format!("[{text:?}]"));
        let array = self.array(path, &example, node)?;
        let entries: Vec<_> = array.iter().filter_map(|entry| self.entry(path, of, entry)).collect();
        // An invalid entry may be the one that denies, so the rest must not be used as the list.
        (entries.len() == array.len()).then_some(entries)
    }

    fn entry(&mut self, path: &str, of: ListKind, node: &Node<'_>) -> Option<Sourced<String>> {
        let text = self.text(path, node)?;
        if let Err(EntryFault { message, help }) = self.check_entry(of, &text) {
            let help = help.unwrap_or_else(|| "correct it, or remove it from the list".into());
            self.refuse(path, node, format!("'{path}' holds {}: {message}", quoted(&text)), help);
            return None;
        }
        Some(Sourced { value: text, source: self.origin.at(node.span()) })
    }

    fn check_entry(&self, of: ListKind, text: &str) -> Result<(), EntryFault> {
        check_syntax(of, text)?;
        // Groups are checked when all layers are loaded.
        let is_group = text.starts_with(GROUP) && matches!(of, ListKind::Tools | ListKind::Matchers);
        match self.check {
            Some(check) if !is_group => check(of, text),
            _ => Ok(()),
        }
    }

    fn roots(&mut self, path: &str, node: &Node<'_>) -> Option<Vec<Sourced<RootSetting>>> {
        let array = self.array(path, "[{ path = \"~/notes\", access = \"read-only\" }]", node)?;
        let roots: Vec<_> = array.iter().filter_map(|entry| self.root(path, entry)).collect();
        (roots.len() == array.len()).then_some(roots)
    }

    fn root(&mut self, path: &str, node: &Node<'_>) -> Option<Sourced<RootSetting>> {
        let Some(table) = node.get_ref().as_table() else {
            self.wrong_type(path, node, "a list of tables", "{ path = \"~/notes\", access = \"read-only\" }");
            return None;
        };
        self.known_fields(path, table);
        let Some(folder) = table.get("path") else {
            self.refuse(path, node, format!("an entry of '{path}' has no path"), "add path = \"/a/folder\"");
            return None;
        };
        let folder = self.folder(&format!("{path}.path"), folder);
        let access = table.get("access").map_or(Some(Access::ReadOnly), |level| self.root_access(&format!("{path}.access"), level));
        Some(Sourced { value: RootSetting { path: folder?, access: access? }, source: self.origin.at(node.span()) })
    }

    fn known_fields(&mut self, path: &str, table: &DeTable<'_>) {
        for field in table.keys().filter(|field| !matches!(field.get_ref().as_ref(), "path" | "access")) {
            let message = format!("unknown key {} in an entry of '{path}'", quoted(field.get_ref()));
            self.problems.add(|| Problem::error(self.origin.at(field.span()), message).key(path).help("an entry has path and access"));
        }
    }

    fn root_access(&mut self, path: &str, node: &Node<'_>) -> Option<Access> {
        let access = self.access(path, node)?;
        if access == Access::FullAccess {
            self.refuse(path, node, format!("'{path}' cannot be full-access"), "use \"read-only\" or \"workspace-write\"");
            return None;
        }
        Some(access)
    }

    fn folder(&mut self, path: &str, node: &Node<'_>) -> Option<PathBuf> {
        let text = self.text(path, node)?;
        let folder = match text.strip_prefix('~') {
            Some("") => self.home.clone(),
            Some(rest) if rest.starts_with('/') => self.home.as_ref().map(|home| home.join(rest.trim_start_matches('/'))),
            _ => Some(PathBuf::from(&text)).filter(|folder| folder.is_absolute()),
        };
        if folder.is_none() {
            let message = format!("'{path}' is {}, which is not an absolute path", quoted(&text));
            self.refuse(path, node, message, "write a path that starts with '/', or with '~/' where HOME is set");
        }
        folder
    }
}

/// Whether an empty text says something under this key: an argument or a variable of a server's program.
fn may_be_empty(path: &str) -> bool {
    path.strip_prefix("mcp.servers.").is_some_and(|rest| rest.rsplit('.').next() == Some("args") || rest.contains(".env."))
}

fn with_article(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number with a fraction",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_and_variables_of_a_server_may_be_empty() {
        for (path, expected) in [
            ("mcp.servers.files.args", true),
            ("mcp.servers.\"a\".env.TOKEN", true),
            ("mcp.servers.files.command", false),
            ("mcp.servers.files.allow", false),
            ("tools.deny", false),
        ] {
            assert_eq!(may_be_empty(path), expected, "{path}");
        }
    }
}
