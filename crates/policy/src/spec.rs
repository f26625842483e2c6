//! A policy as it is written, before it is compiled.

use std::path::PathBuf;

use haft_contract::{AskMode, ExecAsk};

use crate::{ConfigEdit, EditValue, ExecSpec, Owner, SourceSpan};

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
    /// Its rules, beside those for everyone.
    pub rules: RuleLists,
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
    /// The only effects of their kinds; each list closes the kinds that it names.
    pub only: Vec<AllowList>,
}

/// Where a setting stands that is no entry of a list of the policy: for advice.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingPlace {
    /// The key.
    pub key: String,
    /// The entry, if it is a list; a root is its folder.
    pub entry: Option<String>,
    /// Whose it is, and where it stands.
    pub owner: Owner,
    /// The word that the key has there, if it is one of several.
    pub word: Option<SettingWord>,
}

/// One of the words of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SettingWord {
    /// The word.
    pub word: String,
    /// All words of the key, loosest first.
    pub all: &'static [&'static str],
}

impl SettingWord {
    /// Whether it would have to change for the key to have another word: it is stricter, or without questions, which is neither.
    fn holds_against(&self, wanted: &str) -> bool {
        let rank = |word: &str| self.all.iter().position(|known| *known == word);
        let is_silent = self.word == AskMode::Never.as_str() || self.word == ExecAsk::Auto.as_str();
        self.word != wanted && (is_silent || rank(&self.word) > rank(wanted))
    }
}

impl SettingPlace {
    /// Whether this word of a key would have to change for the key to have another one.
    pub(crate) fn holds_against(&self, key: &str, wanted: &str) -> bool {
        self.key == key && self.word.as_ref().is_some_and(|word| word.holds_against(wanted))
    }
    /// Whether it is that of an entry of a list.
    pub(crate) fn is_of(&self, key: &str, entry: &str) -> bool {
        self.key == key && self.entry.as_deref() == Some(entry)
    }
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
    /// Where settings stand that are no entries of the lists above.
    pub places: Vec<SettingPlace>,
    /// Nothing outside the workspace can be opened by settings: advice does not say what there is.
    pub confined: bool,
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
            places: Vec::new(),
            confined: false,
        }
    }
}

impl PolicySpec {
    /// Whose value a key has, and where it stands.
    pub(crate) fn owner_of(&self, key: &str) -> Owner {
        let span = match key {
            "exec.security" => &self.exec.security_span,
            "exec.ask" => &self.exec.ask_span,
            "exec.changes" => &self.exec.review_span,
            _ => &SourceSpan::default(),
        };
        let found = self.places.iter().find(|place| place.key == key).map(|place| place.owner.clone());
        found.unwrap_or_else(|| Owner { span: span.clone(), of_project: false })
    }
    /// Gives a key another word, wherever one stands that is against it.
    pub(crate) fn setting(&self, key: &str, value: &str) -> Vec<ConfigEdit> {
        let against = self.places.iter().filter(|place| place.holds_against(key, value)).map(|place| place.owner.clone());
        let mut owners: Vec<Owner> = against.collect();
        if owners.is_empty() {
            owners.push(self.owner_of(key));
        }
        let set = |owner| ConfigEdit::Set { key: key.to_owned(), value: EditValue::Text(value.to_owned()), owner };
        owners.into_iter().map(set).collect()
    }
    /// Puts an entry into a list of the user's: into that of a variable, if it replaces the one of their file.
    pub(crate) fn adding(&self, key: &str, entry: &str) -> ConfigEdit {
        let replaced =
            self.places.iter().find(|place| place.key == key && place.entry.is_none() && place.owner.flag_or_variable().is_some());
        ConfigEdit::Add {
            key: key.to_owned(),
            entry: entry.to_owned(),
            owner: replaced.map(|place| place.owner.clone()).unwrap_or_default(),
        }
    }
}
