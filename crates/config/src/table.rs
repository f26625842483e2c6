//! Every key there is, once. Reading, checking, showing, variables, schema and documentation derive from this list.

use haft_contract::Access;

use crate::Kind::{Choice, Count, Flag, List, Money, Profile, Roots, Signed, Size, Text};
use crate::Merge::{Intersect, PersonOnly, PersonUnion, Strictest, Union};
use crate::{Key, Kind, ListOf, Merge, Status, Value, exec, presets};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;
const TIB: u64 = 1024 * GIB;
const MANY: u64 = u32::MAX as u64;
const UNSET: Value = Value::Unset;
const NO_LIST: Value = Value::List(Vec::new());
const NO_LISTS: Value = Value::Lists(Vec::new());
const NO_TEXTS: Value = Value::Texts(Vec::new());
const NO_ROOTS: Value = Value::Roots(Vec::new());
const TOOLS: Kind = List(ListOf::Tools);
const HOSTS: Kind = List(ListOf::Hosts);
const GLOBS: Kind = List(ListOf::Globs);
const TEXTS: Kind = List(ListOf::Text);
const ASK: Kind = Choice(&["never", "beyond", "rules", "changes", "always"]);
const PROTOCOLS: Kind = Choice(&["openai", "openai-responses", "anthropic", "gemini"]);
/// When a hook runs.
pub(crate) const EVENTS: &[&str] = &["before_tool_call", "after_tool_call", "tool_result_persist"];

const fn now(path: &'static str, kind: Kind, default: Value, merge: Merge, doc: &'static str) -> Key {
    Key { path, kind, default, merge, status: Status::Now, doc }
}
#[expect(dead_code, reason = "at present no key is known by its name alone")]
const fn later(path: &'static str, kind: Kind, merge: Merge, doc: &'static str) -> Key {
    Key { path, kind, default: Value::Unset, merge, status: Status::Later, doc }
}

/// Every key, in the order in which they are shown.
#[rustfmt::skip] // one key a line
pub static KEYS: &[Key] = &[
    now("preset", Choice(presets::NAMES), UNSET, PersonOnly, "A named set of settings, weaker than every other key of the layer that names it."),
    now("access", Kind::Access, Value::Access(Access::WorkspaceWrite), Strictest, "How much a session may do."),
    now("ask", ASK, Value::Choice("rules"), Strictest, "When a person is asked: never (what would be asked is refused), beyond (also for what goes beyond the access level), rules (what rules ask about), changes (every change), always (every call)."),
    now("tools.profile", Profile, NO_TEXTS, Intersect, "The named set of tools to start from."),
    now("tools.disabled", TOOLS, NO_LIST, Union, "Tools that are switched off for everyone."),
    now("tools.allow", TOOLS, NO_LISTS, Intersect, "The only tools that are offered; absent means all, [] means none."),
    now("tools.also_allow", TOOLS, NO_LIST, PersonUnion, "Tools added to what the profile and the list leave."),
    now("tools.deny", TOOLS, NO_LIST, Union, "Tools that are never offered; wins over tools.allow."),
    now("tools.by_provider.*.profile", Profile, NO_TEXTS, Intersect, "The profile for this provider or model."),
    now("tools.by_provider.*.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered to this provider or model."),
    now("tools.by_provider.*.also_allow", TOOLS, NO_LIST, PersonUnion, "Tools added for this provider or model."),
    now("tools.by_provider.*.deny", TOOLS, NO_LIST, Union, "Tools never offered to this provider or model."),
    now("groups.*", TOOLS, NO_LIST, PersonOnly, "Tools under one name, used in lists as group:NAME."),
    now("rules.deny", List(ListOf::RulesDeny), NO_LIST, Union, "Effects that never happen."),
    now("rules.ask", List(ListOf::RulesAsk), NO_LIST, Union, "Effects that need a person's word."),
    now("rules.allow", List(ListOf::RulesAllow), NO_LIST, PersonUnion, "Effects that need nobody's word."),
    now("network.allow", HOSTS, NO_LIST, PersonOnly, "Hosts, addresses and networks that tools may reach although they are private."),
    now("network.deny", HOSTS, NO_LIST, Union, "Hosts, addresses and networks that tools never reach; wins over network.allow."),
    now("workspace.roots", Roots, NO_ROOTS, PersonOnly, "Folders outside the workspace that tools may use, each with its access."),
    now("workspace.secrets", Choice(&["allow", "deny"]), Value::Choice("deny"), Strictest, "Whether tools may read what is most likely a secret: private keys, .env, credentials of clouds."),
    now("workspace.deny_read", GLOBS, NO_LIST, Union, "Files that tools never read, as globs."),
    now("guards.taint", Choice(&["off", "ask", "deny"]), Value::Choice("ask"), Strictest, "What happens when a call could carry private data out."),
    now("guards.loop", Flag, Value::Flag(true), Strictest, "Whether repeats without progress are noted, blocked and stopped."),
    now("guards.loop_note", Count(1, 10_000), Value::Count(3), Strictest, "After how many repeats the model is told so."),
    now("guards.loop_block", Count(1, 10_000), Value::Count(6), Strictest, "After how many repeats the call is refused."),
    now("guards.loop_stop", Count(1, 10_000), Value::Count(10), Strictest, "After how many repeats the run ends."),
    now("limits.output_bytes", Count(256, 16 * MIB), Value::Count(100 * KIB), Strictest, "Text that one call may give the model; the rest is spilled."),
    now("limits.argument_bytes", Count(256, 256 * MIB), Value::Count(16 * MIB), Strictest, "How large the arguments of one call may be."),
    now("limits.spill_bytes", Count(256, 16 * GIB), Value::Count(64 * MIB), Strictest, "How large one spill file may be."),
    now("approvals.timeout_seconds", Count(1, 86_400), Value::Count(120), PersonOnly, "How long a person has to answer before it counts as no."),
    now("history.summary_bytes", Count(KIB, MIB), Value::Count(4 * KIB), PersonOnly, "How much of a result the history keeps."),
    now("agents.*.access", Kind::Access, UNSET, Strictest, "How much the agent may do; absent means as much as the session."),
    now("agents.*.tools.profile", Profile, NO_TEXTS, Intersect, "The agent's profile."),
    now("agents.*.tools.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered to the agent."),
    now("agents.*.tools.also_allow", TOOLS, NO_LIST, PersonUnion, "Tools added for the agent."),
    now("agents.*.tools.deny", TOOLS, NO_LIST, Union, "Tools never offered to the agent."),
    now("agents.*.tools.by_provider.*.profile", Profile, NO_TEXTS, Intersect, "The agent's profile with this provider or model."),
    now("agents.*.tools.by_provider.*.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered to the agent with this provider or model."),
    now("agents.*.tools.by_provider.*.also_allow", TOOLS, NO_LIST, PersonUnion, "Tools added for the agent with this provider or model."),
    now("agents.*.tools.by_provider.*.deny", TOOLS, NO_LIST, Union, "Tools never offered to the agent with this provider or model."),
    now("subagents.max_depth", Count(0, 16), Value::Count(1), Strictest, "How deep agents may start agents; 0 means not at all."),
    now("subagents.tools.profile", Profile, NO_TEXTS, Intersect, "The profile of sub-agents."),
    now("subagents.tools.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered to sub-agents."),
    now("subagents.tools.also_allow", TOOLS, NO_LIST, PersonUnion, "Tools added for sub-agents."),
    now("subagents.tools.deny", TOOLS, NO_LIST, Union, "Tools never offered to sub-agents."),
    now("sandbox.tools.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered in a sandbox."),
    now("sandbox.tools.also_allow", TOOLS, NO_LIST, PersonUnion, "Tools added in a sandbox."),
    now("sandbox.tools.deny", TOOLS, NO_LIST, Union, "Tools never offered in a sandbox."),
    now("channels.*.tools.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered in this channel or group."),
    now("channels.*.tools.also_allow", TOOLS, NO_LIST, PersonUnion, "Tools added in this channel or group."),
    now("channels.*.tools.deny", TOOLS, NO_LIST, Union, "Tools never offered in this channel or group."),
    now("channels.*.senders.*.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered to this sender."),
    now("channels.*.senders.*.also_allow", TOOLS, NO_LIST, PersonUnion, "Tools added for this sender."),
    now("channels.*.senders.*.deny", TOOLS, NO_LIST, Union, "Tools never offered to this sender."),
    now("model", Text, UNSET, PersonOnly, "The model to use, as provider/model."),
    now("providers.*.protocol", PROTOCOLS, UNSET, PersonOnly, "The protocol the provider speaks."),
    now("providers.*.base_url", Text, UNSET, PersonOnly, "Where the provider is."),
    now("providers.*.api_key_env", Text, UNSET, PersonOnly, "The variable that holds the provider's key."),
    now("providers.*.api_key_command", Text, UNSET, PersonOnly, "A command, run without a shell, whose first line of output is the provider's key."),
    now("providers.*.models", TEXTS, NO_LIST, PersonOnly, "The provider's models; the first one is used when no model is named anywhere."),
    now("providers.*.idle_seconds", Count(1, 3600), UNSET, PersonOnly, "How long the provider may send nothing in the middle of an answer."),
    now("providers.*.total_seconds", Count(1, 86_400), UNSET, PersonOnly, "How long one answer may take in all, with every retry."),
    now("providers.*.retries", Count(0, 20), UNSET, PersonOnly, "How often a request that failed is sent again."),
    now("models.*.context_window", Count(1_000, 1_000_000_000), UNSET, PersonOnly, "How many tokens the model takes in a request and its answer together."),
    now("models.*.max_output", Count(1, MANY), UNSET, PersonOnly, "How many tokens one answer of the model may have."),
    now("models.*.max_tools", Count(0, 10_000), UNSET, PersonOnly, "How many tools the model takes."),
    now("models.*.legacy_schema", Flag, UNSET, PersonOnly, "Whether the model wants the older form of Gemini's schemas."),
    now("models.*.dropped_keywords", TEXTS, NO_LIST, PersonOnly, "Keywords of schemas that the model refuses."),
    now("models.*.needs_reasoning", Flag, UNSET, PersonOnly, "Whether the model wants its reasoning back with every call, as DeepSeek and Kimi do."),
    now("models.*.call_ids", Choice(&["any", "nine"]), UNSET, PersonOnly, "The ids of calls that the model takes: any, or nine letters and digits, as Mistral does."),
    now("models.*.version", Text, UNSET, PersonOnly, "The value of the protocol's version header."),
    now("prices.*.input", Money, UNSET, PersonOnly, "What a million tokens cost that are sent to the model."),
    now("prices.*.output", Money, UNSET, PersonOnly, "What a million tokens cost that the model writes."),
    now("prices.*.cached", Money, UNSET, PersonOnly, "What a million tokens cost that are sent and read from a cache; as input, if absent."),
    now("prices.*.cache_writes", Money, UNSET, PersonOnly, "What a million tokens cost that are sent and written to a cache; as input, if absent."),
    now("budget.turn", Money, UNSET, PersonOnly, "What one turn may cost."),
    now("budget.session", Money, UNSET, PersonOnly, "What one session may cost."),
    now("budget.day", Money, UNSET, PersonOnly, "What all sessions of a day may cost."),
    now("budget.tokens", Count(1, 1_000_000_000_000), UNSET, PersonOnly, "How many tokens one session may use."),
    now("budget.then", Choice(&["ask", "stop"]), Value::Choice("ask"), PersonOnly, "What happens when a budget is used up: ask a person, or stop."),
    now("context.compact_percent", Count(20, 95), Value::Count(80), PersonOnly, "At which part of the model's window a conversation is summed up, in percent."),
    now("agents.*.model", Text, UNSET, PersonOnly, "The agent's model."),
    now("agents.*.prompt", Text, UNSET, PersonOnly, "The agent's instructions."),
    now("hooks[].name", Text, UNSET, PersonOnly, "What the hook is called in messages."),
    now("hooks[].event", Choice(EVENTS), UNSET, PersonOnly, "When the hook runs."),
    now("hooks[].match", List(ListOf::Matchers), UNSET, PersonOnly, "The tools or effects the hook runs for; absent means all."),
    now("hooks[].command", Text, UNSET, PersonOnly, "The program to run."),
    now("hooks[].timeout_seconds", Count(1, 3600), Value::Count(10), PersonOnly, "How long the hook may take."),
    now("hooks[].on_failure", Choice(&["continue", "block"]), UNSET, PersonOnly, "What happens to the call when the hook cannot run; block, unless the call is over by then."),
    now("hooks[].priority", Signed(-1_000_000, 1_000_000), Value::Signed(0), PersonOnly, "Hooks with a higher number run first."),
    now("exec.security", Choice(exec::SECURITY), UNSET, Strictest, "Which programs run without a person's word: full (any), safe-bin (those that only filter their input, and those that a rule allows), paranoid (none); absent means full behind walls, and safe-bin elsewhere."),
    now("exec.ask", Choice(exec::ASK), Value::Choice("smart"), Strictest, "What happens to the other programs: auto (they are refused), smart (a person is asked), always (a person is asked about every program)."),
    now("exec.host", Choice(exec::HOSTS), Value::Choice("sandbox"), PersonOnly, "Where commands run: in a sandbox, in a container, on a paired node, or on this machine as you."),
    now("exec.limits.memory", Size(16 * MIB, 64 * TIB), Value::Size(4 * GIB), Strictest, "How much memory a command may use."),
    now("exec.limits.processes", Count(1, MANY), Value::Count(1024), Strictest, "How many processes a command may have at one time."),
    now("exec.limits.cpu_seconds", Count(1, MANY), Value::Count(3600), Strictest, "How many seconds of processor time each process of a command may use."),
    now("exec.limits.file_size", Size(KIB, 64 * TIB), Value::Size(8 * GIB), Strictest, "How large a file a command may write."),
    now("exec.limits.open_files", Count(16, MANY), Value::Count(4096), Strictest, "How many files each process of a command may have open."),
    now("exec.limits.tmp_size", Size(KIB, 64 * TIB), Value::Size(2 * GIB), Strictest, "How large the private temporary folder of a command may be."),
    now("sandbox.mode", Choice(exec::MODES), Value::Choice("required"), Strictest, "Whether the sandbox must hold everything: required (else nothing runs), preferred (the best that this machine has), off."),
    now("sandbox.backend", Choice(exec::BACKENDS), Value::Choice("auto"), PersonOnly, "What the sandbox is made of; auto is the best that this machine has."),
    now("sandbox.container.engine", Choice(exec::ENGINES), Value::Choice("auto"), PersonOnly, "What runs containers: podman, docker, or auto (the first of them that works)."),
    now("sandbox.container.image", Text, UNSET, PersonOnly, "What containers are made from: the name of an image that the engine has (none is fetched), or the path of a root folder (podman only)."),
    now("sandbox.container.running", Text, UNSET, PersonOnly, "The name of a container that runs already, to run commands in; what it may touch is decided where it was started, so sandbox.mode must be preferred."),
    now("exec.changes", Choice(exec::CHANGES), Value::Choice("direct"), Strictest, "What becomes of what a command changes behind walls: direct (it happens at once), undo (it happens when the command has ended, and can be taken back), review (it is shown, and happens when a person agrees)."),
];
