//! A policy as it is written, before it is compiled.

use std::path::PathBuf;

use haft_contract::AskMode;

use crate::{ExecSpec, SourceSpan};

/// One list entry and where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListEntry {
    /// A tool name, an alias, a pattern with `*`, a `group:…`, a profile, or a rule.
    pub pattern: String,
    /// Where it stands.
    pub span: SourceSpan,
    /// Whether a project wrote it: then it never overrides what the user has.
    pub of_project: bool,
}

impl ListEntry {
    /// An entry without a file.
    pub fn new(pattern: impl Into<String>) -> Self {
        Self { pattern: pattern.into(), span: SourceSpan::default(), of_project: false }
    }
}

impl From<&str> for ListEntry {
    fn from(pattern: &str) -> Self {
        Self::new(pattern)
    }
}

/// A list of the only tools that are offered.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AllowList {
    /// The entries; none at all means no tool.
    pub entries: Vec<ListEntry>,
    /// Where the list stands, for when it is empty.
    pub span: SourceSpan,
    /// Whether a project wrote it: then the user's `also_allow` adds nothing to it.
    pub of_project: bool,
}

impl<const N: usize> From<[&str; N]> for AllowList {
    fn from(entries: [&str; N]) -> Self {
        Self { entries: entries.into_iter().map(ListEntry::from).collect(), ..Self::default() }
    }
}

/// The four keys that many tables share.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ToolLists {
    /// Named sets of tools; a tool must be in each.
    pub profiles: Vec<ListEntry>,
    /// A tool must be in each of these lists; without a list, all are allowed.
    pub allow: Vec<AllowList>,
    /// Added to the profile and to the user's list.
    pub also_allow: Vec<ListEntry>,
    /// Never these.
    pub deny: Vec<ListEntry>,
}

impl ToolLists {
    /// Whether it overrides a more general table. What a project wrote never does: it would take the user's
    /// denials away, however strict it is itself.
    pub(crate) fn overrides(&self) -> bool {
        let lists = self.allow.iter().map(|list| list.of_project);
        let entries = self.profiles.iter().chain(&self.also_allow).chain(&self.deny).map(|entry| entry.of_project);
        let mut of_project = lists.chain(entries).peekable();
        of_project.peek().is_none() || of_project.any(|of_project| !of_project)
    }
}

/// What holds for one agent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentSpec {
    /// Its lists.
    pub tools: ToolLists,
    /// Its lists for a provider or a model.
    pub by_provider: Vec<(String, ToolLists)>,
}

/// What holds for one channel, or one group of it.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelSpec {
    /// Its lists.
    pub tools: ToolLists,
    /// The lists of one sender, in place of the channel's: `id:42`, `e164:…`, `username:…`, `name:…`, or `*`.
    pub senders: Vec<(String, ToolLists)>,
}

/// Rules on effects, as written. `deny` wins over `ask`, `ask` over `allow`.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RuleLists {
    /// What never happens.
    pub deny: Vec<ListEntry>,
    /// What needs approval.
    pub ask: Vec<ListEntry>,
    /// What needs nobody's word.
    pub allow: Vec<ListEntry>,
}

/// A policy as it is written.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PolicySpec {
    /// Tools switched off for everyone.
    pub disabled: Vec<ListEntry>,
    /// The global lists.
    pub tools: ToolLists,
    /// The global lists for a provider or a model.
    pub by_provider: Vec<(String, ToolLists)>,
    /// By agent.
    pub agents: Vec<(String, AgentSpec)>,
    /// By channel.
    pub channels: Vec<(String, ChannelSpec)>,
    /// For sessions that run in a sandbox; a list that is absent has its default.
    pub sandbox: ToolLists,
    /// For agents that another agent started.
    pub subagents: ToolLists,
    /// How deep agents may start agents.
    pub max_depth: u32,
    /// Groups that the user made: their names without `group:`, and what is in them.
    pub groups: Vec<(String, Vec<ListEntry>)>,
    /// The rules.
    pub rules: RuleLists,
    /// How programs are evaluated.
    pub exec: ExecSpec,
    /// When the user is asked.
    pub ask: AskMode,
    /// What `~` stands for in rules.
    pub home: Option<PathBuf>,
}

impl Default for PolicySpec {
    fn default() -> Self {
        Self {
            disabled: Vec::new(),
            tools: ToolLists::default(),
            by_provider: Vec::new(),
            agents: Vec::new(),
            channels: Vec::new(),
            sandbox: ToolLists::default(),
            subagents: ToolLists::default(),
            max_depth: 1,
            groups: Vec::new(),
            rules: RuleLists::default(),
            exec: ExecSpec::default(),
            ask: AskMode::default(),
            home: None,
        }
    }
}
