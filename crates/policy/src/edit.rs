//! What the user can change to get another verdict.

use std::fmt;

use crate::{ListEntry, Rule, SourceSpan};

/// The owner of the file with a list. Several files can have the same key, and every one of them counts.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Owner {
    /// Where the entry or the list stands.
    pub span: SourceSpan,
    /// Whether it is a project's, and not the user's own.
    pub of_project: bool,
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.span.file {
            _ if !self.of_project => Ok(()),
            Some(file) => write!(f, " of the project's file {}", file.display()),
            None => f.write_str(" of the project's file"),
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
        value: String,
    },
    /// Something that is no edit of a file.
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
        Self::Remove { key: format!("rules.{}", rule.kind()), entry: rule.text().to_owned(), owner }
    }
    /// Put a tool into a list of the user's.
    pub(crate) fn add(key: String, tool: &str) -> Self {
        Self::Add { key, entry: tool.to_owned(), owner: Owner::default() }
    }
}

impl fmt::Display for ConfigEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Remove { key, entry, owner } => write!(f, "remove '{entry}' from {key}{owner}"),
            Self::Add { key, entry, owner } => write!(f, "add '{entry}' to {key}{owner}"),
            Self::Set { key, value } if key == "access" => write!(f, "run with --access {value}, or set access = \"{value}\""),
            Self::Set { key, value } => write!(f, "set {key} = \"{value}\""),
            Self::Do(what) => f.write_str(what),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn changes_read_as_advice() {
        let (key, entry, value) = (|| "tools.deny".to_owned(), || "exec".to_owned(), || "full-access".to_owned());
        let span = SourceSpan { file: Some(Arc::new(PathBuf::from("/ws/.haft/config.toml"))), line: Some(3) };
        let (own, projects) = (Owner { span: span.clone(), of_project: false }, Owner { span, of_project: true });
        let of_project = "remove 'exec' from tools.deny of the project's file /ws/.haft/config.toml";
        for (change, text) in [
            (ConfigEdit::Remove { key: key(), entry: entry(), owner: own.clone() }, "remove 'exec' from tools.deny"),
            (ConfigEdit::Remove { key: key(), entry: entry(), owner: projects }, of_project),
            (ConfigEdit::Add { key: key(), entry: entry(), owner: own }, "add 'exec' to tools.deny"),
            (ConfigEdit::Set { key: "access".into(), value: value() }, "run with --access full-access, or set access = \"full-access\""),
            (ConfigEdit::Set { key: "ask".into(), value: "rules".into() }, "set ask = \"rules\""),
            (ConfigEdit::Do("switch it on".into()), "switch it on"),
        ] {
            assert_eq!(change.to_string(), text);
        }
    }
}
