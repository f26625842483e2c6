//! What there is to speak of: tools, profiles, groups, and the names people use for them.

mod table;

use std::collections::HashMap;

use haft_contract::{Section, Source, ToolDefinition};

pub use self::table::{CATALOG, Known};
use crate::name::{folded, glob, nearest};
use crate::{Candidate, names};

/// The profiles, smallest first. `full` filters nothing.
pub const PROFILES: &[&str] = &["minimal", "messaging", "coding", "full"];

/// Whether a tool is in a profile.
pub fn in_profile(definition: &ToolDefinition, profile: &str) -> bool {
    profile == "full" || definition.profiles.iter().any(|known| known == profile)
}

/// A group that comes with Haft.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Group {
    /// The tools of a section.
    Section(Section),
    /// All core tools but those for files and programs.
    Haft,
    /// Every tool of a plugin.
    Plugins,
    /// Every tool of an MCP server.
    Mcp,
    /// The tools of the plugin or MCP server of this name.
    Source(String),
}

impl Group {
    /// The group of this name, without `group:`. A name that is none of ours may be a plugin's or a server's.
    pub fn named(name: &str) -> Self {
        match folded(name).as_str() {
            "fs" | "files" => Self::Section(Section::Files),
            "haft" | "openclaw" => Self::Haft,
            "plugins" => Self::Plugins,
            "mcp" => Self::Mcp,
            other => match Section::ALL.iter().find(|section| section.as_str() == other) {
                Some(section) => Self::Section(*section),
                None => Self::Source(name.trim().to_owned()),
            },
        }
    }

    /// Whether a tool is in it.
    pub fn holds(&self, tool: &Candidate<'_>) -> bool {
        match self {
            Self::Section(section) => tool.definition.section == *section && tool.is_core(),
            Self::Haft => tool.is_core() && !matches!(tool.definition.section, Section::Files | Section::Runtime),
            Self::Plugins => matches!(tool.source, Source::Plugin(_)),
            Self::Mcp => matches!(tool.source, Source::Mcp(_)),
            Self::Source(name) => source_name(tool.source).is_some_and(|source| folded(source) == folded(name)),
        }
    }

    /// Whether core tools can be in it.
    pub(crate) fn is_core(&self) -> bool {
        matches!(self, Self::Section(_) | Self::Haft)
    }
}

/// The names of the groups that are always there, without `group:`.
pub fn group_names() -> impl Iterator<Item = &'static str> {
    let sections = Section::ALL.iter().map(|section| if *section == Section::Files { "fs" } else { section.as_str() });
    sections.chain(["haft", "openclaw", "plugins", "mcp"])
}

fn source_name(source: &Source) -> Option<&str> {
    match source {
        Source::Plugin(name) | Source::Mcp(name) => Some(name),
        _ => None,
    }
}

/// Every name that a policy may use: the catalog, and what is registered beyond it.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    /// Folded name or alias → canonical name.
    tools: HashMap<String, String>,
    core: Vec<String>,
    sources: Vec<String>,
}

impl Vocabulary {
    /// The catalog alone.
    pub fn core() -> Self {
        let mut tools = HashMap::new();
        for known in CATALOG {
            tools
                .extend(std::iter::once(known.name).chain(known.aliases.iter().copied()).map(|name| (folded(name), known.name.to_owned())));
        }
        Self { tools, core: CATALOG.iter().map(|known| known.name.to_owned()).collect(), sources: Vec::new() }
    }

    /// The catalog and these tools.
    pub fn with<'a>(registered: impl IntoIterator<Item = (&'a ToolDefinition, &'a Source)>) -> Self {
        let mut vocabulary = Self::core();
        for (definition, source) in registered {
            vocabulary.learn(definition, source);
        }
        vocabulary
    }

    fn learn(&mut self, definition: &ToolDefinition, source: &Source) {
        for name in names(definition) {
            self.tools.entry(name).or_insert_with(|| definition.name.to_string());
        }
        match source_name(source) {
            Some(name) if !self.has_source(name) => self.sources.push(name.to_owned()),
            None if !self.is_core(&definition.name) => self.core.push(definition.name.to_string()),
            _ => {}
        }
    }

    /// The canonical name behind any spelling or alias.
    pub fn canonical(&self, name: &str) -> Option<&str> {
        self.tools.get(name).or_else(|| self.tools.get(&folded(name))).map(String::as_str)
    }
    /// Whether a pattern, in its folded spelling, matches any tool.
    pub fn matches_any(&self, pattern: &str) -> bool {
        self.tools.keys().any(|name| glob(pattern, name))
    }
    /// Whether a pattern, in its folded spelling, matches any tool that comes with Haft.
    pub(crate) fn matches_core(&self, pattern: &str) -> bool {
        self.tools.iter().any(|(name, canonical)| self.is_core(canonical) && glob(pattern, name))
    }
    /// Whether a tool comes with Haft.
    pub fn is_core(&self, canonical: &str) -> bool {
        self.core.iter().any(|name| name == canonical)
    }
    /// Whether there is a plugin or MCP server of this name.
    pub fn has_source(&self, name: &str) -> bool {
        self.sources.iter().any(|source| folded(source) == folded(name))
    }
    /// Tool names and aliases that look like this one, best first.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest(&folded(name), self.tools.keys().map(String::as_str))
    }

    /// Judges an entry of a list of tools; what is wrong with it, and what to write instead. `groups` are the person's own.
    pub fn check_entry(&self, entry: &str, groups: &[&str]) -> Result<(), (String, String)> {
        match entry.trim().strip_prefix("group:") {
            Some(name) => self.check_group(name, groups),
            None if entry.contains('*') => self.check_pattern(entry),
            None => self.check_tool(entry),
        }
    }

    fn check_group(&self, name: &str, groups: &[&str]) -> Result<(), (String, String)> {
        let own = groups.iter().any(|group| folded(group) == folded(name));
        if own || !matches!(Group::named(name), Group::Source(_)) || self.has_source(name) {
            return Ok(());
        }
        let mut known: Vec<&str> = group_names().collect();
        known.extend(groups);
        known.extend(self.sources.iter().map(String::as_str));
        let written = |names: &[&str], joint: &str| names.iter().map(|name| format!("group:{name}")).collect::<Vec<_>>().join(joint);
        let help = match nearest(&folded(name), known.iter().copied()).as_slice() {
            [] => format!("there are {}", written(&known, ", ")),
            near => format!("did you mean {}?", written(near, " or ")),
        };
        Err((format!("there is no group '{name}'"), help))
    }

    fn check_pattern(&self, pattern: &str) -> Result<(), (String, String)> {
        if self.matches_any(&folded(pattern)) {
            return Ok(());
        }
        Err(("it matches no tool".into(), "`haft tools` lists the tools; correct the pattern, or remove it".into()))
    }

    fn check_tool(&self, name: &str) -> Result<(), (String, String)> {
        if self.canonical(name).is_some() || self.has_source(name) {
            return Ok(());
        }
        let help = match self.nearest(name).as_slice() {
            [] => "`haft tools` lists the tools".to_owned(),
            near => format!("did you mean {}?", near.join(" or ")),
        };
        Err((format!("there is no tool '{name}'"), help))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_unique_however_they_are_spelled() {
        let mut seen = HashMap::new();
        for known in CATALOG {
            let mut own: Vec<String> = std::iter::once(known.name).chain(known.aliases.iter().copied()).map(folded).collect();
            own.dedup();
            for name in own {
                assert_eq!(seen.insert(name.clone(), known.name), None, "{name}");
            }
        }
    }

    #[test]
    fn entries_are_judged_with_a_suggestion() {
        let vocabulary = Vocabulary::core();
        let judged = |entry: &str| vocabulary.check_entry(entry, &["mine"]).err();
        for fine in ["exec", "Read", "WebFetch", "web_*", "*", "group:fs", "group:openclaw", "group:mine", "group:plugins", "group:mcp"] {
            assert_eq!(judged(fine), None, "{fine}");
        }
        let refused = |message: &str, help: &str| Some((message.to_owned(), help.to_owned()));
        assert_eq!(judged("write_fil"), refused("there is no tool 'write_fil'", "did you mean write_file or write?"));
        assert_eq!(judged("group:runtim"), refused("there is no group 'runtim'", "did you mean group:runtime?"));
        assert_eq!(judged("zz_*"), refused("it matches no tool", "`haft tools` lists the tools; correct the pattern, or remove it"));
    }
}
