//! What the user can change to get another verdict.

use std::fmt;
use std::path::Path;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::{ListEntry, Rule, SourceSpan};

/// The owner of the file with a list. Several files can have the same key, and every one of them counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owner {
    /// Where the entry or the list stands.
    pub span: SourceSpan,
    /// Whether it is a project's, and not the user's own.
    pub of_project: bool,
}

impl Owner {
    /// A flag or a variable in place of a file.
    pub(crate) fn flag_or_variable(&self) -> Option<&str> {
        let name = self.span.file.as_ref()?.to_str()?;
        (name.starts_with("--") || name.starts_with("HAFT_")).then_some(name)
    }
    fn line_of(&self, file: &Path) -> String {
        self.span.line.map_or_else(|| file.display().to_string(), |line| format!("{}:{line}", file.display()))
    }
}

/// Behind the key: whose file it is, and where it stands there.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.span.file, self.of_project) {
            (Some(file), true) => write!(f, " of the project's file {}", self.line_of(file)),
            (None, true) => f.write_str(" of the project's file"),
            (Some(file), false) => write!(f, " ({})", self.line_of(file)),
            (None, false) => Ok(()),
        }
    }
}

/// What a key is set to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum EditValue {
    /// A word.
    Text(String),
    /// A list of words.
    List(Vec<String>),
}

impl fmt::Display for EditValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(entries) => write!(f, "{entries:?}"),
        }
    }
}

/// One edit of the configuration that the user can make.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigEdit {
    /// Take an entry out of a list.
    Remove {
        /// The list: `tools.deny`.
        key: String,
        /// The entry as it is written there.
        entry: String,
        /// Whose list, and where it stands.
        owner: Owner,
    },
    /// Put an entry into a list.
    Add {
        /// The list.
        key: String,
        /// The entry.
        entry: String,
        /// Whose list, and where it stands.
        owner: Owner,
    },
    /// Give a key a value.
    Set {
        /// The key.
        key: String,
        /// The value.
        value: EditValue,
        /// Whose value it is now, and where it stands.
        owner: Owner,
    },
    /// Something that is no edit of a file, and that only the user can do.
    Do(String),
}

impl ConfigEdit {
    /// Take an entry out of a list of tools.
    pub(crate) fn remove(key: String, entry: &ListEntry) -> Self {
        let owner = Owner { span: entry.span.clone(), of_project: entry.of_project };
        Self::Remove { key, entry: entry.pattern.clone(), owner }
    }
    /// Take a rule out of its list.
    pub(crate) fn remove_rule(rule: &Rule) -> Self {
        let owner = Owner { span: rule.span().clone(), of_project: rule.of_project() };
        Self::Remove { key: rule.key().to_owned(), entry: rule.text().to_owned(), owner }
    }
    /// Put an entry into the list of a rule.
    pub(crate) fn add_rule(rule: &Rule, entry: String) -> Self {
        let owner = Owner { span: rule.span().clone(), of_project: rule.of_project() };
        Self::Add { key: rule.key().to_owned(), entry, owner }
    }
    /// Whether it removes what another edit added.
    pub(crate) fn takes_back(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Remove { key, entry, .. }, Self::Add { key: added_to, entry: added, .. }) => key == added_to && entry == added,
            _ => false,
        }
    }
    /// Put an entry into a list of the user's.
    pub fn add(key: impl Into<String>, entry: impl Into<String>) -> Self {
        Self::Add { key: key.into(), entry: entry.into(), owner: Owner::default() }
    }
    /// Give a key of the user's a word.
    pub fn set(key: impl Into<String>, value: impl Into<String>) -> Self {
        Self::Set { key: key.into(), value: EditValue::Text(value.into()), owner: Owner::default() }
    }
}

/// The folder of a root, quoted, if a key is its access.
fn root_of(key: &str) -> Option<&str> {
    key.strip_prefix("workspace.roots.")?.strip_suffix(".access")
}

/// The variable of a key: `HAFT_EXEC_ASK`.
fn variable(key: &str) -> String {
    format!("HAFT_{}", key.replace('.', "_").to_ascii_uppercase())
}

impl fmt::Display for ConfigEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remove { entry, owner, .. } if owner.flag_or_variable() == Some("--profile") => {
                write!(f, "run without --profile {entry}")
            }
            Self::Remove { entry, owner, .. } if owner.flag_or_variable().is_some() => {
                write!(f, "remove '{entry}' from {}", owner.flag_or_variable().unwrap_or_default())
            }
            Self::Remove { key, entry, owner } => write!(f, "remove '{entry}' from {key}{owner}"),
            Self::Add { key, entry, owner } if owner.flag_or_variable().is_some() => {
                let quote = if key == "workspace.roots" { "" } else { "'" };
                write!(f, "add {quote}{entry}{quote} to {}", owner.flag_or_variable().unwrap_or_default())
            }
            Self::Add { key, entry, owner } if key == "workspace.roots" => write!(f, "add {entry} to {key}{owner}"),
            Self::Add { key, entry, owner } => write!(f, "add '{entry}' to {key}{owner}"),
            Self::Set { key, value, owner } if root_of(key).is_some() => {
                let (root, list) = (root_of(key).unwrap_or_default(), owner.flag_or_variable().unwrap_or("workspace.roots"));
                write!(f, "set access = {value} for {root} in {list}")?;
                if owner.flag_or_variable().is_some() { Ok(()) } else { write!(f, "{owner}") }
            }
            Self::Set { key, value, owner } => match (owner.flag_or_variable(), value) {
                (Some("--access" | "--preset"), EditValue::Text(level)) if key == "access" => write!(f, "run with --access {level}"),
                (Some(flag), EditValue::Text(value)) if flag.starts_with("--") => {
                    write!(f, "run without {flag} and with {}={value}", variable(key))
                }
                // Of a preset that a variable names, the key's own variable is stronger.
                (Some(_), EditValue::Text(value)) => write!(f, "set {}={value}", variable(key)),
                (_, value) => write!(f, "set {key} = {value}{owner}"),
            },
            Self::Do(what) => f.write_str(what),
        }
    }
}

impl Serialize for ConfigEdit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        let owner = match self {
            Self::Remove { key, entry, owner } | Self::Add { key, entry, owner } => {
                map.serialize_entry("edit", if matches!(self, Self::Add { .. }) { "add" } else { "remove" })?;
                map.serialize_entry("key", key)?;
                map.serialize_entry("entry", entry)?;
                owner
            }
            Self::Set { key, value, owner } => {
                map.serialize_entry("edit", "set")?;
                map.serialize_entry("key", key)?;
                map.serialize_entry("value", value)?;
                owner
            }
            Self::Do(what) => {
                map.serialize_entry("edit", "by hand")?;
                map.serialize_entry("what", what)?;
                return map.end();
            }
        };
        if let Some(file) = &owner.span.file {
            map.serialize_entry("file", &file.to_string_lossy())?;
        }
        if let Some(line) = owner.span.line {
            map.serialize_entry("line", &line)?;
        }
        if owner.of_project {
            map.serialize_entry("of_project", &true)?;
        }
        map.end()
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use serde_json::json;

    use super::*;

    fn owner(file: &str, line: Option<u32>, of_project: bool) -> Owner {
        Owner { span: SourceSpan { file: Some(Arc::new(PathBuf::from(file))), line }, of_project }
    }

    #[test]
    fn edits_read_as_advice() {
        let (key, entry) = (|| "tools.deny".to_owned(), || "exec".to_owned());
        let own = owner("/home/ann/config.toml", Some(3), false);
        let projects = owner("/ws/.haft/config.toml", Some(3), true);
        let set = |key: &str, owner: Owner| ConfigEdit::Set { key: key.into(), value: EditValue::Text("full-access".into()), owner };
        let others = EditValue::List(vec!["canvas".into(), "nodes".into()]);
        for (change, text) in [
            (
                ConfigEdit::Remove { key: key(), entry: entry(), owner: own.clone() },
                "remove 'exec' from tools.deny (/home/ann/config.toml:3)",
            ),
            (
                ConfigEdit::Remove { key: key(), entry: entry(), owner: projects },
                "remove 'exec' from tools.deny of the project's file /ws/.haft/config.toml:3",
            ),
            (ConfigEdit::add("rules.allow", "exec(ls)"), "add 'exec(ls)' to rules.allow"),
            (ConfigEdit::add("workspace.roots", "{ path = \"/x\" }"), "add { path = \"/x\" } to workspace.roots"),
            (set("access", Owner::default()), "set access = \"full-access\""),
            (set("agents.a.access", own), "set agents.a.access = \"full-access\" (/home/ann/config.toml:3)"),
            (set("access", owner("--preset", None, false)), "run with --access full-access"),
            (
                set("workspace.roots.\"/x\".access", owner("/c.toml", Some(2), false)),
                "set access = \"full-access\" for \"/x\" in workspace.roots (/c.toml:2)",
            ),
            (
                set("workspace.roots.\"/x\".access", owner("HAFT_WORKSPACE_ROOTS", None, false)),
                "set access = \"full-access\" for \"/x\" in HAFT_WORKSPACE_ROOTS",
            ),
            (set("access", owner("HAFT_ACCESS", None, false)), "set HAFT_ACCESS=full-access"),
            (set("exec.ask", owner("HAFT_PRESET", None, false)), "set HAFT_EXEC_ASK=full-access"),
            (
                ConfigEdit::Remove { key: key(), entry: entry(), owner: owner("HAFT_TOOLS_DENY", None, false) },
                "remove 'exec' from HAFT_TOOLS_DENY",
            ),
            (
                ConfigEdit::Remove { key: "tools.profile".into(), entry: "minimal".into(), owner: owner("--profile", None, false) },
                "run without --profile minimal",
            ),
            (set("ask", owner("--preset", None, false)), "run without --preset and with HAFT_ASK=full-access"),
            (
                ConfigEdit::Set { key: "sandbox.tools.deny".into(), value: others, owner: Owner::default() },
                "set sandbox.tools.deny = [\"canvas\", \"nodes\"]",
            ),
            (ConfigEdit::Do("switch it on".into()), "switch it on"),
        ] {
            assert_eq!(change.to_string(), text);
        }
    }

    #[test]
    fn edits_are_data_for_programs() {
        let removed = ConfigEdit::Remove { key: "rules.deny".into(), entry: "read".into(), owner: owner("/c.toml", Some(2), true) };
        for (edit, value) in [
            (removed, json!({"edit": "remove", "key": "rules.deny", "entry": "read", "file": "/c.toml", "line": 2, "of_project": true})),
            (ConfigEdit::add("tools.allow", "exec"), json!({"edit": "add", "key": "tools.allow", "entry": "exec"})),
            (ConfigEdit::set("ask", "rules"), json!({"edit": "set", "key": "ask", "value": "rules"})),
            (ConfigEdit::Do("x".into()), json!({"edit": "by hand", "what": "x"})),
        ] {
            assert_eq!(serde_json::to_value(edit).unwrap(), value);
        }
    }
}
