//! A value of configuration, typed.

use std::collections::HashSet;
use std::fmt;
use std::path::PathBuf;

use haft_contract::{Access, AskMode, ExecAsk};
use serde::{Serialize, Serializer};

use crate::money::Money;
use crate::size::Size;
use crate::{SettingSource, Sourced};

/// A folder outside the workspace that tools may use.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct RootSetting {
    /// The folder: absolute, with `~` replaced.
    pub path: PathBuf,
    /// The access: read-only or workspace-write.
    pub access: Access,
}

/// A value. Entries of lists have their own sources, because lists of several layers may be merged.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConfigValue {
    /// No layer set it.
    Unset,
    /// An access level.
    Access(Access),
    /// One of a key's words.
    Choice(&'static str),
    /// `true` or `false`.
    Flag(bool),
    /// A number.
    Count(u64),
    /// A number that may be negative.
    Signed(i64),
    /// An amount of money, in millionths.
    Money(i64),
    /// An amount of bytes.
    Size(u64),
    /// Text.
    Text(String),
    /// Texts of which each must hold; none at all means nothing is required.
    Texts(Vec<Sourced<String>>),
    /// A list.
    List(Vec<Sourced<String>>),
    /// Lists of which each must match; none at all means everything matches.
    Lists(Vec<Sourced<Vec<Sourced<String>>>>),
    /// Folders.
    Roots(Vec<Sourced<RootSetting>>),
}

impl ConfigValue {
    /// The text, or the word of a choice.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            Self::Choice(word) => Some(word),
            _ => None,
        }
    }
    /// The access level.
    pub fn as_access(&self) -> Option<Access> {
        if let Self::Access(level) = self { Some(*level) } else { None }
    }
    /// Whether it is `true`.
    pub fn is_true(&self) -> bool {
        *self == Self::Flag(true)
    }
    /// The number, or the bytes of a size.
    pub fn as_count(&self) -> Option<u64> {
        if let Self::Count(count) | Self::Size(count) = self { Some(*count) } else { None }
    }
    /// The amount of money, in millionths.
    pub fn as_money(&self) -> Option<i64> {
        if let Self::Money(micros) = self { Some(*micros) } else { None }
    }
    /// The entries of a list, each with its source.
    pub fn entries(&self) -> &[Sourced<String>] {
        if let Self::List(entries) = self { entries } else { &[] }
    }
    /// The lists of which each must match; none at all means everything matches.
    pub fn lists(&self) -> &[Sourced<Vec<Sourced<String>>>] {
        if let Self::Lists(lists) = self { lists } else { &[] }
    }
    /// The texts of which each must hold; none at all means nothing is required.
    pub fn texts(&self) -> &[Sourced<String>] {
        if let Self::Texts(texts) = self { texts } else { &[] }
    }
    /// The folders, each with its source.
    pub fn roots(&self) -> &[Sourced<RootSetting>] {
        if let Self::Roots(roots) = self { roots } else { &[] }
    }
    /// The source of each entry; empty for values that are no lists.
    pub fn entry_sources(&self) -> Vec<&SettingSource> {
        match self {
            Self::List(entries) | Self::Texts(entries) => entries.iter().map(|entry| &entry.source).collect(),
            Self::Lists(lists) => lists.iter().flat_map(|list| list.value.iter().map(|entry| &entry.source)).collect(),
            Self::Roots(roots) => roots.iter().map(|root| &root.source).collect(),
            _ => Vec::new(),
        }
    }
    /// Whether both are equal, whatever their sources.
    pub(crate) fn is_same(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
    /// Whether it allows less than `other`. `words` are a choice's words, loosest first.
    pub fn is_stricter(&self, other: &Self, words: &[&str]) -> bool {
        let rank = |word: &str| words.iter().position(|known| *known == word);
        // Without questions some calls are refused that are asked about elsewhere, and others run: neither is stricter.
        let comparable = |word: &str| word != AskMode::Never.as_str() && word != ExecAsk::Auto.as_str();
        match (self, other) {
            (Self::Access(mine), Self::Access(theirs)) => mine < theirs,
            (Self::Count(mine), Self::Count(theirs)) | (Self::Size(mine), Self::Size(theirs)) => mine < theirs,
            (Self::Money(mine), Self::Money(theirs)) => mine < theirs,
            // What has no limit is bounded by any.
            (Self::Count(_) | Self::Size(_) | Self::Money(_), Self::Unset) => true,
            (Self::Flag(mine), Self::Flag(theirs)) => *mine && !*theirs,
            (Self::Choice(mine), Self::Choice(theirs)) => comparable(mine) && comparable(theirs) && rank(mine) > rank(theirs),
            // An unset choice depends on other keys, and may be as loose as the loosest word.
            (Self::Choice(mine), Self::Unset) => rank(mine) > Some(0),
            _ => false,
        }
    }
}

/// Each entry once, whichever layers have it.
fn texts(entries: &[Sourced<String>]) -> Vec<&str> {
    let mut seen = HashSet::new();
    entries.iter().map(|entry| entry.value.as_str()).filter(|text| seen.insert(*text)).collect()
}

impl Serialize for ConfigValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Unset => serializer.serialize_none(),
            Self::Access(level) => level.serialize(serializer),
            Self::Choice(word) => word.serialize(serializer),
            Self::Flag(flag) => flag.serialize(serializer),
            Self::Count(count) => count.serialize(serializer),
            Self::Signed(number) => number.serialize(serializer),
            Self::Size(bytes) => serializer.collect_str(&Size(*bytes)),
            Self::Money(micros) => number_json(&Money(*micros).to_string()).serialize(serializer),
            Self::Text(text) => text.serialize(serializer),
            Self::Texts(entries) if entries.is_empty() => serializer.serialize_none(),
            Self::List(entries) | Self::Texts(entries) => texts(entries).serialize(serializer),
            Self::Lists(lists) if lists.is_empty() => serializer.serialize_none(),
            Self::Lists(lists) => lists.iter().map(|list| texts(&list.value)).collect::<Vec<_>>().serialize(serializer),
            Self::Roots(roots) => roots.iter().map(root_json).collect::<Vec<_>>().serialize(serializer),
        }
    }
}

// Not derived: a path need not be UTF-8.
fn root_json(root: &Sourced<RootSetting>) -> serde_json::Value {
    serde_json::json!({ "path": root.value.path.to_string_lossy(), "access": root.value.access })
}

/// A decimal as JSON has it, in its shortest form.
fn number_json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).unwrap_or_default()
}

impl fmt::Display for ConfigValue {
    /// As it is written in the file.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unset => f.write_str("unset"),
            Self::Access(level) => write!(f, "\"{level}\""),
            Self::Choice(word) => write!(f, "\"{word}\""),
            Self::Flag(flag) => write!(f, "{flag}"),
            Self::Count(count) => write!(f, "{count}"),
            Self::Signed(number) => write!(f, "{number}"),
            Self::Money(micros) => write!(f, "{}", Money(*micros)),
            Self::Size(bytes) => write!(f, "\"{}\"", Size(*bytes)),
            Self::Text(text) => write!(f, "{text:?}"),
            Self::List(entries) => write!(f, "{:?}", texts(entries)),
            Self::Texts(entries) if entries.is_empty() => f.write_str("unset"),
            Self::Texts(entries) => f.write_str(&texts(entries).iter().map(|text| format!("{text:?}")).collect::<Vec<_>>().join(" and ")),
            Self::Lists(lists) if lists.is_empty() => f.write_str("all"),
            Self::Lists(lists) => {
                f.write_str(&lists.iter().map(|list| format!("{:?}", texts(&list.value))).collect::<Vec<_>>().join(" and "))
            }
            Self::Roots(roots) => {
                let roots: Vec<_> = roots.iter().map(|Sourced { value, .. }| format_root(value)).collect();
                write!(f, "[{}]", roots.join(", "))
            }
        }
    }
}

fn format_root(root: &RootSetting) -> String {
    format!("{{ path = {:?}, access = \"{}\" }}", root.path.to_string_lossy(), root.access)
}
