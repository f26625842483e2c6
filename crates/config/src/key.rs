//! Every key there is, once. Reading, checking, showing, variables, schema and documentation derive from this list.

use haft_contract::Access;

use crate::Value;

use self::Kind::{Choice, Count, List, Roots, Text};
use self::Merge::{Intersect, PersonOnly, Replace, Strictest, Union};

/// What a list holds; decides how its entries are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListOf {
    /// Tool names, and patterns with `*`.
    Tools,
    /// Hosts, addresses and networks.
    Hosts,
    /// Path globs.
    Globs,
    /// Folders that tools may use.
    Folders,
    /// Anything else.
    Text,
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// An access level.
    Access,
    /// One of these words, loosest first.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A whole number within these bounds, both included.
    Count(u64, u64),
    /// Any text.
    Text,
    /// A list of texts.
    List(ListOf),
    /// A list of folders with their access.
    Roots,
}

/// How the layers meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Merge {
    /// Plain value: the later layer wins.
    Replace,
    /// Authority: the person's layers replace each other, a project file can only tighten.
    Strictest,
    /// Authority: entries of all layers count together, because each one only takes away.
    Union,
    /// Authority: the person's layers replace each other, a project file's list must match as well.
    Intersect,
    /// Authority: any value could widen, so a project file has no say.
    PersonOnly,
}

/// Whether this version acts on a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It does.
    Now,
    /// It knows the name only. Authority that is not enforced is an error, anything else a warning.
    Later,
}

/// One key.
#[derive(Debug)]
#[non_exhaustive]
pub struct Key {
    /// Where it stands: `tools.deny`. `*` is a name that people choose, `[]` each table of an array.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds without any file.
    pub default: Value,
    /// How the layers meet.
    pub merge: Merge,
    /// Whether this version acts on it.
    pub status: Status,
    /// What it is, in one sentence.
    pub doc: &'static str,
}

impl Key {
    /// Whether it decides what may be done.
    pub fn is_authority(&self) -> bool {
        self.merge != Replace
    }
    /// The variable that sets it; keys with chosen names have none.
    pub fn variable(&self) -> Option<String> {
        let fixed = self.segments().all(|segment| segment != ANY && segment != EACH);
        fixed.then(|| format!("HAFT_{}", self.path.replace('.', "_").to_ascii_uppercase()))
    }
    /// The parts of its path; `[]` is a part of its own.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &'static str> {
        self.path
            .split('.')
            .flat_map(|part| match part.strip_suffix(EACH) {
                Some(name) => [Some(name), Some(EACH)],
                None => [Some(part), None],
            })
            .flatten()
    }
}

/// The part of a path that stands for a name people choose.
pub(crate) const ANY: &str = "*";
/// The part of a path that stands for each table of an array.
pub(crate) const EACH: &str = "[]";

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;
const MANY: u64 = u32::MAX as u64;
const NO_LIST: Value = Value::List(Vec::new());
const NO_LISTS: Value = Value::Lists(Vec::new());
const NO_ROOTS: Value = Value::Roots(Vec::new());
const TOOLS: Kind = List(ListOf::Tools);
const HOSTS: Kind = List(ListOf::Hosts);
const GLOBS: Kind = List(ListOf::Globs);
const TEXTS: Kind = List(ListOf::Text);
const EVENTS: Kind = Choice(&["before_tool_call", "after_tool_call", "tool_result_persist"]);
const PROTOCOLS: Kind = Choice(&["openai", "openai-responses", "anthropic", "gemini"]);

const fn now(path: &'static str, kind: Kind, default: Value, merge: Merge, doc: &'static str) -> Key {
    Key { path, kind, default, merge, status: Status::Now, doc }
}
const fn later(path: &'static str, kind: Kind, merge: Merge, doc: &'static str) -> Key {
    Key { path, kind, default: Value::Unset, merge, status: Status::Later, doc }
}

/// Every key, in the order in which they are shown.
#[rustfmt::skip] // one key a line
pub static KEYS: &[Key] = &[
    now("access", Kind::Access, Value::Access(Access::WorkspaceWrite), Strictest, "How much a session may do."),
    now("tools.disabled", TOOLS, NO_LIST, Union, "Tools that are switched off for everyone."),
    now("tools.allow", TOOLS, NO_LISTS, Intersect, "The only tools that are offered; absent means all, [] means none."),
    now("tools.deny", TOOLS, NO_LIST, Union, "Tools that are never offered; wins over tools.allow."),
    now("network.allow", HOSTS, NO_LIST, PersonOnly, "Hosts, addresses and networks that tools may reach although they are private."),
    now("network.deny", HOSTS, NO_LIST, Union, "Hosts, addresses and networks that tools never reach; wins over network.allow."),
    now("workspace.roots", Roots, NO_ROOTS, PersonOnly, "Folders outside the workspace that tools may use, each with its access."),
    now("workspace.deny_read", GLOBS, NO_LIST, Union, "Files that tools never read, as globs."),
    now("guards.taint", Choice(&["off", "ask", "deny"]), Value::Choice("ask"), Strictest, "What happens when a call could carry private data out."),
    now("guards.loop", Kind::Flag, Value::Flag(true), Strictest, "Whether repeats without progress are noted, blocked and stopped."),
    now("guards.loop_note", Count(1, 10_000), Value::Count(3), Strictest, "After how many repeats the model is told so."),
    now("guards.loop_block", Count(1, 10_000), Value::Count(6), Strictest, "After how many repeats the call is refused."),
    now("guards.loop_stop", Count(1, 10_000), Value::Count(10), Strictest, "After how many repeats the run ends."),
    now("limits.output_bytes", Count(256, 16 * MIB), Value::Count(100 * KIB), Strictest, "Text that one call may give the model; the rest is spilled."),
    now("limits.argument_bytes", Count(256, 256 * MIB), Value::Count(16 * MIB), Strictest, "How large the arguments of one call may be."),
    now("limits.spill_bytes", Count(256, 16 * GIB), Value::Count(64 * MIB), Strictest, "How large one spill file may be."),
    now("approvals.timeout_seconds", Count(1, 86_400), Value::Count(120), PersonOnly, "How long a person has to answer before it counts as no."),
    now("history.summary_bytes", Count(KIB, MIB), Value::Count(4 * KIB), Replace, "How much of a result the history keeps."),

    later("model", Text, Replace, "The model to use, as provider/model."),
    later("tools.profile", Text, Intersect, "The named set of tools to start from."),
    later("tools.also_allow", TOOLS, PersonOnly, "Tools added to what the profile and the lists leave."),
    later("tools.by_provider.*.profile", Text, Intersect, "The profile for this provider or model."),
    later("tools.by_provider.*.allow", TOOLS, Intersect, "The only tools offered to this provider or model."),
    later("tools.by_provider.*.also_allow", TOOLS, PersonOnly, "Tools added for this provider or model."),
    later("tools.by_provider.*.deny", TOOLS, Union, "Tools never offered to this provider or model."),
    later("rules.deny", TEXTS, Union, "Effects that never happen."),
    later("rules.ask", TEXTS, Union, "Effects that need a person's word."),
    later("rules.allow", TEXTS, PersonOnly, "Effects that need nobody's word."),
    later("exec.security", Choice(&["full", "safe-bin", "paranoid"]), Strictest, "Which programs may run."),
    later("exec.ask", Choice(&["auto", "smart", "always"]), Strictest, "When a person is asked before a program runs."),
    later("exec.host", Choice(&["host", "node", "container", "sandbox"]), PersonOnly, "Where programs run."),
    later("exec.limits.memory", Text, PersonOnly, "How much memory a program may use."),
    later("exec.limits.processes", Count(1, MANY), Strictest, "How many processes a program may have."),
    later("exec.limits.file_size", Text, PersonOnly, "How large a file a program may write."),
    later("exec.limits.open_files", Count(1, MANY), Strictest, "How many files a program may have open."),
    later("sandbox.mode", Choice(&["off", "preferred", "required"]), Strictest, "Whether programs must run in a sandbox."),
    later("hooks[].event", EVENTS, PersonOnly, "When the hook runs."),
    later("hooks[].match", TEXTS, PersonOnly, "The tools the hook runs for."),
    later("hooks[].command", Text, PersonOnly, "The program to run."),
    later("hooks[].timeout_seconds", Count(1, 3600), PersonOnly, "How long the hook may take."),
    later("hooks[].on_failure", Choice(&["continue", "block"]), PersonOnly, "What happens to the call when the hook cannot run."),
    later("providers.*.protocol", PROTOCOLS, Replace, "The protocol the provider speaks."),
    later("providers.*.base_url", Text, Replace, "Where the provider is."),
    later("providers.*.api_key_env", Text, Replace, "The variable that holds the provider's key."),
    later("providers.*.models", TEXTS, Replace, "The provider's models."),
    later("agents.*.model", Text, Replace, "The agent's model."),
    later("agents.*.prompt", Text, Replace, "The agent's instructions."),
    later("agents.*.access", Kind::Access, Strictest, "How much the agent may do."),
    later("agents.*.tools.profile", Text, Intersect, "The agent's profile."),
    later("agents.*.tools.allow", TOOLS, Intersect, "The only tools offered to the agent."),
    later("agents.*.tools.also_allow", TOOLS, PersonOnly, "Tools added for the agent."),
    later("agents.*.tools.deny", TOOLS, Union, "Tools never offered to the agent."),
    later("subagents.tools.profile", Text, Intersect, "The profile of sub-agents."),
    later("subagents.tools.allow", TOOLS, Intersect, "The only tools offered to sub-agents."),
    later("subagents.tools.also_allow", TOOLS, PersonOnly, "Tools added for sub-agents."),
    later("subagents.tools.deny", TOOLS, Union, "Tools never offered to sub-agents."),
];

/// What stands at a path.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Found {
    /// A key.
    Key(&'static Key),
    /// A table that holds keys.
    Section,
    /// Nothing.
    Nothing,
}

/// Looks up a path as it stands in a file; chosen names and array tables match their patterns.
pub(crate) fn lookup(path: &[String]) -> Found {
    let mut found = Found::Nothing;
    for key in KEYS {
        let mut pattern = key.segments();
        let covered = path.iter().all(|part| pattern.next().is_some_and(|wanted| wanted == ANY && part != EACH || wanted == part));
        match (covered, pattern.next()) {
            (true, None) => return Found::Key(key),
            (true, Some(_)) => found = Found::Section,
            (false, _) => {}
        }
    }
    found
}

/// How many leading parts of a path name a section of which nothing is enforced yet; all of them for a lone key.
pub(crate) fn not_enforced_depth(path: &[String]) -> usize {
    let only_later = |depth: &usize| {
        let beneath = |key: &&Key| key.segments().zip(&path[..*depth]).all(|(wanted, part)| wanted == ANY || wanted == part);
        KEYS.iter().filter(beneath).all(|key| key.status == Status::Later)
    };
    (1..path.len()).find(only_later).unwrap_or(path.len())
}
