//! Lists of tools, compiled: which entry of a list, if any, speaks of a tool.

use std::collections::BTreeSet;

use haft_pattern::NameGlob;

use crate::catalog::{ToolGroup, Vocabulary};
use crate::name::folded;
use crate::name_map::NameMap;
use crate::{Candidate, ListEntry};

/// More groups inside each other than this are a circle.
const DEEPEST: usize = 16;

/// What the user's own groups stand for.
pub(crate) type Groups = NameMap<Vec<ListEntry>>;

/// Which tools a list speaks of, for lists that are no part of a policy, such as a hook's.
#[derive(Debug, Clone)]
pub struct ToolMatcher {
    list: List,
}

impl ToolMatcher {
    /// Compiles a list of names, aliases, patterns with `*` and `group:…`. `groups` are the user's own: their names
    /// without `group:`, and what is in them.
    pub fn new(entries: &[String], groups: &[(String, Vec<String>)], vocabulary: &Vocabulary) -> Self {
        let listed = |entries: &[String]| entries.iter().map(|entry| ListEntry::new(entry.as_str())).collect::<Vec<_>>();
        let groups: Groups = groups.iter().map(|(name, members)| (folded(name), listed(members))).collect();
        let mut list = List::compile(&listed(entries), &groups, vocabulary);
        // An alias of a core tool may be the name of a plugin's where that core tool is not registered.
        for (index, entry) in entries.iter().enumerate() {
            list.exact.entry(folded(entry)).or_default().push(index);
        }
        Self { list }
    }

    /// Whether some entry speaks of a tool.
    pub fn matches(&self, tool: &Candidate<'_>) -> bool {
        self.list.find(tool).is_some()
    }
}

/// A list, ready to be asked.
#[derive(Debug, Clone, Default)]
pub(crate) struct List {
    entries: Vec<ListEntry>,
    /// Folded name → the entries that say it.
    exact: NameMap<Vec<usize>>,
    patterns: Vec<(NameGlob, usize)>,
    groups: Vec<(ToolGroup, usize)>,
    /// Whether any entry can speak of a core tool.
    names_core: bool,
    /// Whether any entry stands for a plugin, an MCP server, or their tools.
    names_plugins: bool,
}

/// What entries of a list are read with.
#[derive(Clone, Copy)]
struct EntryContext<'a> {
    groups: &'a Groups,
    vocabulary: &'a Vocabulary,
    /// Which entry of the list it is, also for members of a group.
    index: usize,
}

impl List {
    pub(crate) fn compile(entries: &[ListEntry], groups: &Groups, vocabulary: &Vocabulary) -> Self {
        let mut list = Self { entries: entries.to_vec(), ..Self::default() };
        for (index, entry) in entries.iter().enumerate() {
            list.take(&entry.pattern, EntryContext { groups, vocabulary, index }, 0);
        }
        list
    }

    fn take(&mut self, pattern: &str, reading: EntryContext<'_>, depth: usize) {
        let written = pattern.trim();
        if let Some(name) = written.strip_prefix("group:") {
            return self.take_group(name, reading, depth);
        }
        let name = folded(written);
        if name.contains('*') {
            self.take_pattern(&name, reading);
        } else {
            self.take_name(written, name, reading);
        }
    }

    /// A group of the user's has what it holds; the names of those that come with Haft are taken.
    fn take_group(&mut self, name: &str, reading: EntryContext<'_>, depth: usize) {
        let group = ToolGroup::from_name(name);
        let own = if matches!(group, ToolGroup::Source(_)) { reading.groups.get(&folded(name)) } else { None };
        match own {
            Some(members) if depth < DEEPEST => members.iter().for_each(|member| self.take(&member.pattern, reading, depth + 1)),
            // A circle, which the configuration refuses: what it holds is already here.
            Some(_) => {}
            None => {
                self.names_core |= group.is_core();
                self.names_plugins |= match &group {
                    ToolGroup::Source(source) => reading.vocabulary.has_source(source),
                    group => !group.is_core(),
                };
                self.groups.push((group, reading.index));
            }
        }
    }

    fn take_pattern(&mut self, pattern: &str, reading: EntryContext<'_>) {
        let glob = NameGlob::parse_stars(pattern);
        self.names_core |= reading.vocabulary.matches_core(&glob);
        self.names_plugins |= reading.vocabulary.matches_any(pattern);
        self.patterns.push((glob, reading.index));
    }

    fn take_name(&mut self, written: &str, name: String, EntryContext { vocabulary, index, .. }: EntryContext<'_>) {
        if let Some(canonical) = vocabulary.canonical(&name) {
            self.names_core |= vocabulary.is_core(canonical);
            self.names_plugins |= !vocabulary.is_core(canonical);
            if canonical != name {
                self.exact.entry(canonical.to_owned()).or_default().push(index);
            }
        } else {
            // A plugin's or a server's id stands for its tools; anything else may be registered later.
            self.names_plugins |= vocabulary.has_source(written);
            self.groups.push((ToolGroup::Source(written.to_owned()), index));
        }
        // While the tool itself is not there, a plugin's may have the name that was written.
        self.exact.entry(name).or_default().push(index);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Whether it is about plugins or MCP servers alone. A list whose entries stand for nothing is not: it allows nothing.
    pub(crate) fn is_for_plugins(&self) -> bool {
        self.names_plugins && !self.names_core
    }

    /// The first entry that speaks of a tool.
    pub(crate) fn find(&self, tool: &Candidate<'_>) -> Option<&ListEntry> {
        self.entries.get(self.indices(tool).min()?)
    }

    /// Every entry that speaks of a tool, in order.
    pub(crate) fn find_all(&self, tool: &Candidate<'_>) -> Vec<&ListEntry> {
        let indices: BTreeSet<usize> = self.indices(tool).collect();
        indices.into_iter().filter_map(|index| self.entries.get(index)).collect()
    }

    fn indices(&self, tool: &Candidate<'_>) -> impl Iterator<Item = usize> {
        let exact = tool.names.iter().filter_map(|name| self.exact.get(name)).flatten().copied();
        let patterns = self.patterns.iter().filter(|(pattern, _)| tool.names.iter().any(|name| pattern.matches(name)));
        let groups = self.groups.iter().filter(|(group, _)| group.holds(tool));
        exact.chain(patterns.map(|(_, index)| *index)).chain(groups.map(|(_, index)| *index))
    }

    /// The user's own entries.
    pub(crate) fn of_user(&self) -> impl Iterator<Item = &ListEntry> {
        self.entries.iter().filter(|entry| !entry.of_project)
    }

    /// Whether an entry is this tool's name, in any spelling: neither a pattern nor a group.
    pub(crate) fn names(&self, canonical: &str) -> bool {
        self.exact.contains_key(canonical)
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::Section::{Files, Runtime, Web};
    use haft_contract::{ToolDefinition, ToolSource};
    use serde_json::json;

    use super::*;

    #[test]
    fn a_matcher_takes_every_way_to_speak_of_a_tool() {
        let groups = [("mine".to_owned(), vec!["group:fs".to_owned(), "notify".to_owned()])];
        let entries = |text: &str| text.split(',').map(str::to_owned).collect::<Vec<_>>();
        let tool = |name: &'static str, aliases: &[&'static str], section| {
            let mut definition = ToolDefinition::new(name, "A tool", json!({"type": "object", "properties": {}}));
            definition.aliases = aliases.iter().map(|alias| (*alias).into()).collect();
            definition.section = section;
            definition
        };
        let tools = [
            (tool("read_file", &["read"], Files), ToolSource::BuiltIn),
            (tool("exec", &["bash"], Runtime), ToolSource::BuiltIn),
            (tool("bash", &[], Runtime), ToolSource::Plugin("claw".into())),
            (tool("mcp__hub__search", &[], Web), ToolSource::Mcp("hub".into())),
        ];
        let vocabulary = Vocabulary::of_core(haft_builtin::metas()).with(tools.iter().map(|(definition, source)| (definition, source)));
        for (list, expected) in [
            ("Read-File", vec!["read_file"]),
            ("READ", vec!["read_file"]),
            ("bash", vec!["exec", "bash"]),
            ("group:runtime,notify", vec!["exec"]),
            ("group:mine", vec!["read_file"]),
            ("mcp__*", vec!["mcp__hub__search"]),
            ("group:mcp,hub", vec!["mcp__hub__search"]),
            ("group:plugins", vec!["bash"]),
            ("*", vec!["read_file", "exec", "bash", "mcp__hub__search"]),
            ("write_file", vec![]),
        ] {
            let matcher = ToolMatcher::new(&entries(list), &groups, &vocabulary);
            let candidates = tools.iter().map(|(definition, source)| Candidate::new(definition, source));
            let found: Vec<&str> = candidates.filter(|tool| matcher.matches(tool)).map(|tool| tool.name()).collect();
            assert_eq!(found, expected, "{list}");
        }
    }
}
