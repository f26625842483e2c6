//! What there is to speak of: tools, profiles, groups, and the names people use for them.

mod not_built;

use std::collections::{BTreeMap, HashMap};

use haft_contract::{Meta, RuleTarget, Section, ToolDefinition, ToolSource};
use haft_pattern::NameGlob;
use haft_text::suggest::nearest;

pub use self::not_built::NOT_BUILT_YET;
use crate::name::folded;
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
pub enum ToolGroup {
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

impl ToolGroup {
    /// The group of this name, without `group:`. A name that is none of ours may be a plugin's or a server's.
    pub fn from_name(name: &str) -> Self {
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
            Self::Plugins => matches!(tool.source, ToolSource::Plugin(_)),
            Self::Mcp => matches!(tool.source, ToolSource::Mcp(_)),
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

fn source_name(source: &ToolSource) -> Option<&str> {
    match source {
        ToolSource::Plugin(name) | ToolSource::Mcp(name) => Some(name),
        _ => None,
    }
}

/// Every name that a policy may use: the tools that are registered, and the names of those that are not built yet.
#[derive(Debug, Clone)]
pub struct Vocabulary {
    /// Folded name or alias → canonical name.
    tools: HashMap<String, String>,
    /// The tools that come with Haft → what the content of a rule on each is about.
    core: BTreeMap<String, Option<RuleTarget>>,
    sources: Vec<String>,
}

/// The tools that are not built yet alone.
impl Default for Vocabulary {
    fn default() -> Self {
        Self::of_core([])
    }
}

impl Vocabulary {
    /// The tools of Haft with these facts, and those that are not built yet.
    pub fn of_core<'a>(built: impl IntoIterator<Item = &'a Meta>) -> Self {
        let mut vocabulary = Self { tools: HashMap::new(), core: BTreeMap::new(), sources: Vec::new() };
        for meta in built.into_iter().chain(NOT_BUILT_YET) {
            vocabulary.core.insert(meta.name.to_owned(), meta.rules);
            vocabulary.add_names(meta.name, meta.names().into_iter().map(folded));
        }
        vocabulary
    }

    /// Adds tools that are registered.
    #[must_use]
    pub fn with<'a>(mut self, registered: impl IntoIterator<Item = (&'a ToolDefinition, &'a ToolSource)>) -> Self {
        for (definition, source) in registered {
            self.add(definition, source);
        }
        self
    }

    /// Adds MCP servers that are configured, whether or not they run.
    #[must_use]
    pub fn with_servers<S: AsRef<str>>(mut self, names: impl IntoIterator<Item = S>) -> Self {
        for name in names {
            if !self.has_source(name.as_ref()) {
                self.sources.push(name.as_ref().to_owned());
            }
        }
        self
    }

    /// The same and this tool, which may have been registered after the policy was made.
    pub(crate) fn including(&self, tool: &Candidate<'_>) -> Self {
        self.clone().with([(tool.definition, tool.source)])
    }

    fn add(&mut self, definition: &ToolDefinition, source: &ToolSource) {
        self.add_names(&definition.name, names(definition).into_iter());
        match source_name(source) {
            Some(name) if !self.has_source(name) => self.sources.push(name.to_owned()),
            None => {
                let target = self.core.entry(definition.name.to_string()).or_default();
                *target = target.or(definition.rules);
            }
            _ => {}
        }
    }

    fn add_names(&mut self, canonical: &str, names: impl Iterator<Item = String>) {
        for name in names {
            self.tools.entry(name).or_insert_with(|| canonical.to_owned());
        }
    }

    /// What the content of a rule on this tool is about.
    pub(crate) fn rule_target(&self, canonical: &str) -> Option<RuleTarget> {
        self.core.get(canonical).copied().flatten()
    }
    /// What the content of rules on the tools that a pattern matches is about.
    pub(crate) fn rule_targets(&self, pattern: &NameGlob) -> impl Iterator<Item = RuleTarget> {
        let names = self.tools.iter().filter(move |(name, _)| pattern.matches(name));
        names.filter_map(|(_, canonical)| self.rule_target(canonical))
    }
    /// The canonical name behind any spelling or alias.
    pub fn canonical(&self, name: &str) -> Option<&str> {
        self.tools.get(name).or_else(|| self.tools.get(&folded(name))).map(String::as_str)
    }
    /// Whether a pattern, in its folded spelling, matches any tool.
    pub fn matches_any(&self, pattern: &str) -> bool {
        let glob = NameGlob::parse_stars(pattern);
        self.tools.keys().any(|name| glob.matches(name))
    }
    /// Whether a pattern, in its folded spelling, matches any tool that comes with Haft.
    pub(crate) fn matches_core(&self, glob: &NameGlob) -> bool {
        self.tools.iter().any(|(name, canonical)| self.is_core(canonical) && glob.matches(name))
    }
    /// Whether a tool comes with Haft.
    pub fn is_core(&self, canonical: &str) -> bool {
        self.core.contains_key(canonical)
    }
    /// Whether there is a plugin or MCP server of this name.
    pub fn has_source(&self, name: &str) -> bool {
        self.sources.iter().any(|source| folded(source) == folded(name))
    }
    /// Tool names and aliases that look like this one, best first.
    pub fn nearest(&self, name: &str) -> Vec<&str> {
        nearest(&folded(name), self.tools.keys().map(String::as_str))
    }

    /// Evaluates an entry of a list of tools; what is wrong with it, and what to write instead. `groups` are the user's own.
    pub fn check_entry(&self, entry: &str, groups: &[&str]) -> Result<(), (String, String)> {
        match entry.trim().strip_prefix("group:") {
            Some(name) => self.check_group(name, groups),
            None if entry.contains('*') => self.check_pattern(entry),
            None => self.check_tool(entry),
        }
    }

    fn check_group(&self, name: &str, groups: &[&str]) -> Result<(), (String, String)> {
        let own = groups.iter().any(|group| folded(group) == folded(name));
        if own || !matches!(ToolGroup::from_name(name), ToolGroup::Source(_)) || self.has_source(name) {
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
        if self.matches_any(&folded(pattern)) || self.names_server(pattern) {
            return Ok(());
        }
        Err(("it matches no tool".into(), "`haft tools` lists the tools; correct the pattern, or remove it".into()))
    }

    /// Whether it names tools of a configured server, which may not run.
    fn names_server(&self, entry: &str) -> bool {
        let entry = folded(entry);
        entry.strip_prefix("mcp__").and_then(|rest| rest.split_once("__")).is_some_and(|(server, _)| self.has_source(server))
    }

    fn check_tool(&self, name: &str) -> Result<(), (String, String)> {
        if self.canonical(name).is_some() || self.has_source(name) || self.names_server(name) {
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
    fn entries_are_evaluated_with_a_suggestion() {
        let vocabulary = Vocabulary::of_core(haft_builtin::metas());
        let evaluated = |entry: &str| vocabulary.check_entry(entry, &["mine"]).err();
        for fine in ["exec", "Read", "WebFetch", "web_*", "*", "group:fs", "group:openclaw", "group:mine", "group:plugins", "group:mcp"] {
            assert_eq!(evaluated(fine), None, "{fine}");
        }
        let with_server = vocabulary.clone().with_servers(["hub-1"]);
        for named in ["mcp__hub_1__*", "mcp__hub_1__read", "group:hub-1", "hub_1"] {
            assert_eq!(with_server.check_entry(named, &[]), Ok(()), "{named}");
            assert!(evaluated(named).is_some(), "{named}");
        }
        let refused = |message: &str, help: &str| Some((message.to_owned(), help.to_owned()));
        assert_eq!(evaluated("write_fil"), refused("there is no tool 'write_fil'", "did you mean write_file or write?"));
        assert_eq!(evaluated("group:runtim"), refused("there is no group 'runtim'", "did you mean group:runtime?"));
        assert_eq!(evaluated("zz_*"), refused("it matches no tool", "`haft tools` lists the tools; correct the pattern, or remove it"));
    }
}
