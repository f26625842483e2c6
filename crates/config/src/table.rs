//! All configuration keys. Parsing, checks, output, variables, schema and documentation derive from this table.

use haft_contract::{
    Access, AskMode, ChangeMode, ContainerEngine, ExecAsk, ExecHost, ExecSecurity, HookEvent, SandboxBackend, SandboxMode, SearchProvider,
    SessionVisibility, TaintPolicy,
};

use crate::MergeRule::{Intersect, Strictest, Trusted, Union, UserOnly, UserUnion};
use crate::ValueKind::{Choice, Count, Flag, List, Money, Profile, Roots, Signed, Size, Text};
use crate::{ConfigKey, ConfigValue, ListKind, MergeRule, ValueKind, presets};

const KIB: u64 = 1024;
const MIB: u64 = 1024 * KIB;
const GIB: u64 = 1024 * MIB;
const TIB: u64 = 1024 * GIB;
const MANY: u64 = u32::MAX as u64;
const UNSET: ConfigValue = ConfigValue::Unset;
const NO_LIST: ConfigValue = ConfigValue::List(Vec::new());
const NO_LISTS: ConfigValue = ConfigValue::Lists(Vec::new());
const NO_TEXTS: ConfigValue = ConfigValue::Texts(Vec::new());
const NO_ROOTS: ConfigValue = ConfigValue::Roots(Vec::new());
const TOOLS: ValueKind = List(ListKind::Tools);
const HOSTS: ValueKind = List(ListKind::Hosts);
const GLOBS: ValueKind = List(ListKind::Globs);
const TEXTS: ValueKind = List(ListKind::Text);
const ASK: ValueKind = Choice(AskMode::NAMES);
const DIALECTS: ValueKind = Choice(&["haft", "claw", "openclaw"]);
const PROTOCOLS: ValueKind = Choice(&["openai", "openai-responses", "anthropic", "gemini"]);

const DAYS: ValueKind = Count(0, 36_500);
const BYTES: ValueKind = Size(0, 64 * TIB);

const fn key(path: &'static str, kind: ValueKind, default: ConfigValue, merge: MergeRule, doc: &'static str) -> ConfigKey {
    ConfigKey { path, kind, default, merge, doc, model_may_set: false }
}

/// A key that a model may set with the tool `config`.
const fn for_models(path: &'static str, kind: ValueKind, default: ConfigValue, merge: MergeRule, doc: &'static str) -> ConfigKey {
    ConfigKey { path, kind, default, merge, doc, model_may_set: true }
}

/// Every key, in the order in which they are shown.
#[rustfmt::skip] // one key a line
pub static KEYS: &[ConfigKey] = &[
    key("preset", Choice(presets::NAMES), UNSET, UserOnly, "A named set of settings, weaker than every other key of the layer that names it."),
    key("access", ValueKind::Access, ConfigValue::Access(Access::WorkspaceWrite), Strictest, "How much a session may do."),
    key("ask", ASK, ConfigValue::Choice("rules"), Strictest, "When the user is asked: never (a call that needs approval is refused), beyond (also for effects beyond the access level), rules (as rules.ask says), changes (every change), always (every call)."),
    key("tools.profile", Profile, NO_TEXTS, Intersect, "The named set of tools to start from."),
    key("tools.disabled", TOOLS, NO_LIST, Union, "Tools that are switched off for everyone."),
    key("tools.allow", TOOLS, NO_LISTS, Intersect, "The only tools that are offered; absent means all, [] means none."),
    key("tools.also_allow", TOOLS, NO_LIST, UserUnion, "Tools added to those of the profile and the list."),
    key("tools.deny", TOOLS, NO_LIST, Union, "Tools that are never offered; wins over tools.allow."),
    key("tools.by_provider.*.profile", Profile, NO_TEXTS, Intersect, "The profile for this provider or model."),
    key("tools.by_provider.*.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered to this provider or model."),
    key("tools.by_provider.*.also_allow", TOOLS, NO_LIST, UserUnion, "Tools added for this provider or model."),
    key("tools.by_provider.*.deny", TOOLS, NO_LIST, Union, "Tools never offered to this provider or model."),
    key("groups.*", TOOLS, NO_LIST, UserOnly, "Tools under one name, used in lists as group:NAME."),
    key("rules.deny", List(ListKind::RulesDeny), NO_LIST, Union, "Effects that never happen."),
    key("rules.only", List(ListKind::RulesOnly), NO_LISTS, Intersect, "The only effects of their kinds: everything else that is written, connected to or run never happens."),
    key("rules.ask", List(ListKind::RulesAsk), NO_LIST, Union, "Effects that need approval."),
    key("rules.allow", List(ListKind::RulesAllow), NO_LIST, UserUnion, "Effects that need no approval."),
    key("network.allow", HOSTS, NO_LIST, UserOnly, "Hosts, addresses and networks that tools may reach although they are private."),
    key("network.proxy", Text, UNSET, UserOnly, "The proxy that connections of tools and commands go through, as http://host:port; it resolves names, so only these are checked."),
    key("network.no_proxy", HOSTS, NO_LIST, UserOnly, "Hosts that are connected to without network.proxy."),
    key("network.deny", HOSTS, NO_LIST, Union, "Hosts, addresses and networks that tools never reach; wins over network.allow."),
    key("web.respect_robots", Choice(&["auto", "on", "off"]), ConfigValue::Choice("auto"), UserOnly, "Whether web_fetch leaves out pages that robots.txt does not want programs to fetch; auto is on where no user is at the terminal."),
    key("web.cache_minutes", Count(0, 1440), ConfigValue::Count(15), UserOnly, "How long a page or search is used again without a request; 0 means never."),
    key("web.parallel_per_host", Count(1, 64), ConfigValue::Count(8), UserOnly, "How many requests go to one host at the same time."),
    key("web.search.provider", Choice(SearchProvider::NAMES), UNSET, UserOnly, "Who answers web_search; absent means the first whose key or address is there: brave, tavily, searxng, json."),
    key("web.search.url", Text, UNSET, UserOnly, "Where the search provider is: the address of a SearXNG instance, or for json a template with {query} and {count}."),
    key("web.search.api_key_env", Text, UNSET, UserOnly, "The variable that holds the search provider's key; BRAVE_API_KEY or TAVILY_API_KEY, if absent."),
    key("web.search.json.results", Text, UNSET, UserOnly, "Where the answer of a json provider has its list of results, such as data.items; results, if absent."),
    key("web.search.json.title", Text, UNSET, UserOnly, "The field of a result with its title; title, if absent."),
    key("web.search.json.url", Text, UNSET, UserOnly, "The field of a result with its address; url, if absent."),
    key("web.search.json.snippet", Text, UNSET, UserOnly, "The field of a result with its text; snippet, if absent."),
    key("web.search.json.key_header", Text, UNSET, UserOnly, "The header that the key is sent in; Authorization, if absent."),
    key("memory.paths", TEXTS, NO_LIST, UserOnly, "Folders and Markdown files that memory_search and memory_get know besides MEMORY.md and memory/ of the workspace."),
    key("memory.embeddings", Text, UNSET, UserOnly, "The model whose embeddings memory_search compares besides the words, as provider/model, or the folder of a static model; absent means words alone."),
    key("memory.sessions", Flag, ConfigValue::Flag(false), UserOnly, "Whether memory_search searches the conversations that the agent sees, too."),
    key("memory.half_life_days", Count(0, 36_500), ConfigValue::Count(0), UserOnly, "After how many days a note counts half in a search; 0 means never."),
    key("memory.diversity_percent", Count(0, 100), ConfigValue::Count(0), UserOnly, "How much a hit of memory_search that repeats a better one is put back; 0 means not at all."),
    key("memory.prompt_bytes", Count(0, 64 * KIB), ConfigValue::Count(4 * KIB), UserOnly, "How much of the head of MEMORY.md is in the system prompt; 0 means nothing."),
    key("memory.save_before_compaction", Flag, ConfigValue::Flag(true), UserOnly, "Whether the model may write what must last to memory before a conversation is summed up."),
    key("workspace.roots", Roots, NO_ROOTS, UserOnly, "Folders outside the workspace that tools may use, each with its access."),
    key("workspace.secrets", Choice(&["allow", "deny"]), ConfigValue::Choice("deny"), Strictest, "Whether tools may read likely secrets: private keys, .env, cloud credentials."),
    key("workspace.deny_read", GLOBS, NO_LIST, Union, "Files that tools never read, as globs."),
    key("guards.taint", Choice(TaintPolicy::NAMES), ConfigValue::Choice("ask"), Strictest, "What happens when a call could send private data out."),
    key("guards.loop", Flag, ConfigValue::Flag(true), Strictest, "Whether repeats without progress are noted, blocked and stopped."),
    key("guards.loop_note", Count(1, 10_000), ConfigValue::Count(3), Strictest, "After how many repeats the model is told so."),
    key("guards.loop_block", Count(1, 10_000), ConfigValue::Count(6), Strictest, "After how many repeats the call is refused."),
    key("guards.loop_stop", Count(1, 10_000), ConfigValue::Count(10), Strictest, "After how many repeats the run ends."),
    key("limits.output_bytes", Count(256, 16 * MIB), ConfigValue::Count(100 * KIB), Strictest, "Text that one call may give the model; the rest is spilled."),
    key("limits.argument_bytes", Count(256, 256 * MIB), ConfigValue::Count(16 * MIB), Strictest, "How large the arguments of one call may be."),
    key("limits.spill_bytes", Count(256, 16 * GIB), ConfigValue::Count(64 * MIB), Strictest, "How large one spill file may be."),
    key("approvals.timeout_seconds", Count(1, 86_400), ConfigValue::Count(120), UserOnly, "How long the user has to answer before it counts as no."),
    key("history.summary_bytes", Count(KIB, MIB), ConfigValue::Count(4 * KIB), UserOnly, "How much of a result the history keeps."),
    key("retention.history.days", DAYS, ConfigValue::Count(90), UserOnly, "How many days calls in the history stay; 0 means for ever."),
    key("retention.history.size", BYTES, ConfigValue::Size(GIB), UserOnly, "How large calls in the history may be together before the oldest go; 0 means any size."),
    key("retention.pre_images.days", DAYS, ConfigValue::Count(30), UserOnly, "How many days old contents of changed files, which undo needs stay; 0 means for ever."),
    key("retention.pre_images.size", BYTES, ConfigValue::Size(2 * GIB), UserOnly, "How large old contents of changed files, which undo needs may be together before the oldest go; 0 means any size."),
    key("retention.sessions.days", DAYS, ConfigValue::Count(180), UserOnly, "How many days conversations stay; 0 means for ever."),
    key("retention.sessions.size", BYTES, ConfigValue::Size(GIB), UserOnly, "How large conversations may be together before the oldest go; 0 means any size."),
    key("retention.spills.days", DAYS, ConfigValue::Count(14), UserOnly, "How many days output that was too large for the model stay; 0 means for ever."),
    key("retention.spills.size", BYTES, ConfigValue::Size(GIB), UserOnly, "How large output that was too large for the model may be together before the oldest go; 0 means any size."),
    key("retention.changes.days", DAYS, ConfigValue::Count(14), UserOnly, "How many days staged changes of dry runs stay; 0 means for ever."),
    key("retention.changes.size", BYTES, ConfigValue::Size(4 * GIB), UserOnly, "How large staged changes of dry runs may be together before the oldest go; 0 means any size."),
    key("retention.checkpoints.days", DAYS, ConfigValue::Count(14), UserOnly, "How many days checkpoints of folders in which no command ran since stay; 0 means for ever."),
    key("retention.checkpoints.size", BYTES, ConfigValue::Size(8 * GIB), UserOnly, "How large checkpoints of folders in which no command ran since may be together before the oldest go; 0 means any size."),
    key("retention.quarantine.days", DAYS, ConfigValue::Count(14), UserOnly, "How many days entries in quarantine stay; 0 means for ever."),
    key("retention.quarantine.size", BYTES, ConfigValue::Size(GIB), UserOnly, "How large entries in quarantine may be together before the oldest go; 0 means any size."),
    key("agents.*.access", ValueKind::Access, UNSET, Strictest, "How much the agent may do; absent means as much as the session."),
    key("agents.*.tools.profile", Profile, NO_TEXTS, Intersect, "The agent's profile."),
    key("agents.*.tools.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered to the agent."),
    key("agents.*.tools.also_allow", TOOLS, NO_LIST, UserUnion, "Tools added for the agent."),
    key("agents.*.tools.deny", TOOLS, NO_LIST, Union, "Tools never offered to the agent."),
    key("agents.*.tools.by_provider.*.profile", Profile, NO_TEXTS, Intersect, "The agent's profile with this provider or model."),
    key("agents.*.tools.by_provider.*.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered to the agent with this provider or model."),
    key("agents.*.tools.by_provider.*.also_allow", TOOLS, NO_LIST, UserUnion, "Tools added for the agent with this provider or model."),
    key("agents.*.tools.by_provider.*.deny", TOOLS, NO_LIST, Union, "Tools never offered to the agent with this provider or model."),
    key("agents.*.rules.deny", List(ListKind::RulesDeny), NO_LIST, Union, "Effects that never happen for the agent."),
    key("agents.*.rules.only", List(ListKind::RulesOnly), NO_LISTS, Intersect, "The only effects of their kinds for the agent."),
    key("agents.*.rules.ask", List(ListKind::RulesAsk), NO_LIST, Union, "Effects of the agent that need approval."),
    key("agents.*.rules.allow", List(ListKind::RulesAllow), NO_LIST, UserUnion, "Effects of the agent that need no approval."),
    key("subagents.max_depth", Count(0, 16), ConfigValue::Count(1), Strictest, "How deep agents may start agents; 0 means not at all."),
    key("subagents.max_children", Count(1, 20), ConfigValue::Count(5), Strictest, "How many sub-agents of one conversation may run or wait at a time."),
    key("subagents.concurrency", Count(1, 64), ConfigValue::Count(8), Strictest, "How many sub-agents of the same depth work at a time; the others wait."),
    key("subagents.timeout_seconds", Count(0, 86_400), ConfigValue::Count(0), UserOnly, "How long a sub-agent may take; 0 means as long as it needs."),
    key("sessions.visibility", Choice(SessionVisibility::NAMES), ConfigValue::Choice("tree"), UserOnly, "Which conversations an agent sees: self (its own), tree (also those of its sub-agents), agent (all of the same agent in the same folder), all."),
    key("subagents.tools.profile", Profile, NO_TEXTS, Intersect, "The profile of sub-agents."),
    key("subagents.tools.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered to sub-agents."),
    key("subagents.tools.also_allow", TOOLS, NO_LIST, UserUnion, "Tools added for sub-agents."),
    key("subagents.tools.deny", TOOLS, NO_LIST, Union, "Tools never offered to sub-agents."),
    key("sandbox.tools.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered in a sandbox."),
    key("sandbox.tools.also_allow", TOOLS, NO_LIST, UserUnion, "Tools added in a sandbox."),
    key("sandbox.tools.deny", TOOLS, NO_LIST, Union, "Tools never offered in a sandbox."),
    key("channels.*.tools.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered in this channel or group."),
    key("channels.*.tools.also_allow", TOOLS, NO_LIST, UserUnion, "Tools added in this channel or group."),
    key("channels.*.tools.deny", TOOLS, NO_LIST, Union, "Tools never offered in this channel or group."),
    key("channels.*.senders.*.allow", TOOLS, NO_LISTS, Intersect, "The only tools offered to this sender."),
    key("channels.*.senders.*.also_allow", TOOLS, NO_LIST, UserUnion, "Tools added for this sender."),
    key("channels.*.senders.*.deny", TOOLS, NO_LIST, Union, "Tools never offered to this sender."),
    key("model", Text, UNSET, UserOnly, "The model to use, as provider/model."),
    key("small_model", Text, UNSET, UserOnly, "A small and cheap model, as provider/model, for side questions such as the prompt of web_fetch; absent means none."),
    key("providers.*.protocol", PROTOCOLS, UNSET, UserOnly, "The protocol the provider speaks."),
    key("providers.*.base_url", Text, UNSET, UserOnly, "Where the provider is."),
    key("providers.*.api_key_env", Text, UNSET, UserOnly, "The variable that holds the provider's key."),
    key("providers.*.api_key_command", Text, UNSET, UserOnly, "A command, run without a shell, whose first line of output is the provider's key."),
    key("providers.*.models", TEXTS, NO_LIST, UserOnly, "The provider's models; the first one is used when no model is named anywhere."),
    key("providers.*.idle_seconds", Count(1, 3600), UNSET, UserOnly, "How long the provider may send nothing in the middle of an answer."),
    key("providers.*.total_seconds", Count(1, 86_400), UNSET, UserOnly, "How long one answer may take in all, with every retry."),
    key("providers.*.retries", Count(0, 20), UNSET, UserOnly, "How often a request that failed is sent again."),
    key("models.*.context_window", Count(1_000, 1_000_000_000), UNSET, UserOnly, "How many tokens the model takes in a request and its answer together."),
    key("models.*.max_output", Count(1, MANY), UNSET, UserOnly, "How many tokens one answer of the model may have."),
    key("models.*.max_tools", Count(0, 10_000), UNSET, UserOnly, "How many tools the model takes."),
    key("models.*.legacy_schema", Flag, UNSET, UserOnly, "Whether the model wants the older form of Gemini's schemas."),
    key("models.*.dropped_keywords", TEXTS, NO_LIST, UserOnly, "Keywords of schemas that the model refuses."),
    key("models.*.needs_reasoning", Flag, UNSET, UserOnly, "Whether the model wants its reasoning back with every call, as DeepSeek and Kimi do."),
    key("models.*.no_pictures", Flag, UNSET, UserOnly, "Whether the model takes no pictures."),
    key("models.*.call_ids", Choice(&["any", "nine"]), UNSET, UserOnly, "The ids of calls that the model takes: any, or nine ASCII alphanumerics, as Mistral does."),
    key("models.*.dialect", DIALECTS, UNSET, UserOnly, "The names of tools and parameters that the model knows: haft, claw or openclaw."),
    key("models.*.version", Text, UNSET, UserOnly, "The value of the protocol's version header."),
    key("prices.*.input", Money, UNSET, UserOnly, "What a million tokens cost that are sent to the model."),
    key("prices.*.output", Money, UNSET, UserOnly, "What a million tokens cost that the model writes."),
    key("prices.*.cached", Money, UNSET, UserOnly, "What a million tokens cost that are sent and read from a cache; as input, if absent."),
    key("prices.*.cache_writes", Money, UNSET, UserOnly, "What a million tokens cost that are sent and written to a cache; as input, if absent."),
    key("budget.turn", Money, UNSET, UserOnly, "What one turn may cost."),
    key("budget.session", Money, UNSET, UserOnly, "What one session may cost."),
    key("budget.day", Money, UNSET, UserOnly, "What all sessions of a day may cost."),
    key("budget.tokens", Count(1, 1_000_000_000_000), UNSET, UserOnly, "How many tokens one session may use."),
    key("budget.then", Choice(&["ask", "stop"]), ConfigValue::Choice("ask"), UserOnly, "What happens when a budget is used up: ask the user, or stop."),
    for_models("context.compact_percent", Count(20, 95), ConfigValue::Count(80), UserOnly, "At which part of the model's window a conversation is summed up, in percent."),
    for_models("display.todo_list", Flag, ConfigValue::Flag(true), UserOnly, "Whether the terminal shows the to-do list of a conversation when it changes."),
    for_models("display.usage", Flag, ConfigValue::Flag(true), UserOnly, "Whether the terminal shows tokens, cost and time at the end of a turn."),
    key("agents.*.model", Text, UNSET, UserOnly, "The agent's model."),
    key("agents.*.dialect", DIALECTS, UNSET, UserOnly, "The names of tools and parameters that the agent's model knows; before that of the model."),
    key("agents.*.prompt", Text, UNSET, UserOnly, "The agent's instructions."),
    key("mcp.servers.*.enabled", Flag, ConfigValue::Flag(true), Trusted, "Whether the server is used."),
    key("mcp.servers.*.command", Text, UNSET, Trusted, "The program that is the server, by name or path; it speaks over its standard input and output."),
    key("mcp.servers.*.args", TEXTS, NO_LIST, Trusted, "The arguments of the program."),
    key("mcp.servers.*.cwd", Text, UNSET, Trusted, "The folder that the program runs in; the workspace, if absent."),
    key("mcp.servers.*.env.*", Text, UNSET, Trusted, "A variable of the program."),
    key("mcp.servers.*.pass_env", TEXTS, NO_LIST, UserOnly, "Variables of your environment that the program gets; it gets no others but PATH, HOME, LANG, TERM and TZ."),
    key("mcp.servers.*.url", Text, UNSET, Trusted, "Where the server is, instead of a command."),
    key("mcp.servers.*.headers.*", Text, UNSET, Trusted, "A header of every request to the address."),
    key("mcp.servers.*.token_env", Text, UNSET, UserOnly, "The variable that holds the bearer token for the address."),
    key("mcp.servers.*.start_seconds", Count(1, 600), ConfigValue::Count(30), Trusted, "How long the server may take to start and to list its tools."),
    key("mcp.servers.*.idle_seconds", Count(1, 3600), ConfigValue::Count(60), Trusted, "How long a call may take without a result or progress."),
    key("mcp.servers.*.total_seconds", Count(1, 86_400), ConfigValue::Count(600), Trusted, "How long a call may take in all, whatever progress it reports."),
    key("mcp.servers.*.sandbox", Flag, ConfigValue::Flag(false), Trusted, "Whether the program runs in the sandbox of commands: it reads the workspace, and reaches the hosts and changes the folders that are listed."),
    key("mcp.servers.*.hosts", HOSTS, NO_LIST, UserOnly, "Hosts that a server in the sandbox may reach."),
    key("mcp.servers.*.folders", TEXTS, NO_LIST, UserOnly, "Folders that a server in the sandbox may change: absolute, beneath ~, or relative to the workspace."),
    key("mcp.servers.*.allow", TEXTS, NO_LIST, Trusted, "The only tools of the server that are used, as patterns on its own names; absent means all."),
    key("mcp.servers.*.deny", TEXTS, NO_LIST, Trusted, "Tools of the server that are never used, as patterns on its own names."),
    key("mcp.servers.*.elicitation", Choice(&["ask", "defaults", "off"]), ConfigValue::Choice("off"), UserOnly, "What becomes of questions that the server asks you: off (they are declined), defaults (answered with the values that the server proposes), ask (you are asked, at most 20 times)."),
    key("mcp.servers.*.protocol", Choice(&["auto", "2026-07-28", "initialize"]), ConfigValue::Choice("initialize"), Trusted, "How a connection begins: initialize (the handshake of all versions up to 2025-11-25), 2026-07-28 (discovery), or auto (discovery, then the handshake)."),
    key("tools.budget_percent", Count(1, 100), ConfigValue::Count(10), UserOnly, "The part of the model's window that descriptions of tools may take, in percent; tools beyond it are found by tool_search."),
    key("hooks[].name", Text, UNSET, UserOnly, "What the hook is called in messages."),
    key("hooks[].event", Choice(HookEvent::NAMES), UNSET, UserOnly, "When the hook runs."),
    key("hooks[].match", List(ListKind::Matchers), UNSET, UserOnly, "The tools or effects the hook runs for; absent means all."),
    key("hooks[].command", Text, UNSET, UserOnly, "The program to run."),
    key("hooks[].timeout_seconds", Count(1, 3600), ConfigValue::Count(10), UserOnly, "How long the hook may take."),
    key("hooks[].on_failure", Choice(&["continue", "block"]), UNSET, UserOnly, "What happens to the call when the hook cannot run; block, unless the call is over by then."),
    key("hooks[].priority", Signed(-1_000_000, 1_000_000), ConfigValue::Signed(0), UserOnly, "Hooks with a higher number run first."),
    key("exec.security", Choice(ExecSecurity::NAMES), UNSET, Strictest, "Programs that run without approval: full (all), safe-bin (filters of their input, and programs that a rule allows), paranoid (none); the default is full in the sandbox, and safe-bin elsewhere."),
    key("exec.ask", Choice(ExecAsk::NAMES), ConfigValue::Choice("smart"), Strictest, "What happens to the other programs: auto (refused), smart (the user is asked), always (the user is asked about every program)."),
    key("exec.host", Choice(ExecHost::NAMES), ConfigValue::Choice("sandbox"), UserOnly, "Where commands run: in a sandbox, in a container, on a paired node, or on this machine as you."),
    key("exec.limits.memory", Size(16 * MIB, 64 * TIB), ConfigValue::Size(4 * GIB), Strictest, "How much memory a command may use."),
    key("exec.limits.processes", Count(1, MANY), ConfigValue::Count(1024), Strictest, "How many processes a command may have at one time."),
    key("exec.limits.cpu_seconds", Count(1, MANY), ConfigValue::Count(3600), Strictest, "How many seconds of processor time each process of a command may use."),
    key("exec.limits.file_size", Size(KIB, 64 * TIB), ConfigValue::Size(8 * GIB), Strictest, "How large a file a command may write."),
    key("exec.limits.open_files", Count(16, MANY), ConfigValue::Count(4096), Strictest, "How many files each process of a command may have open."),
    key("exec.limits.tmp_size", Size(KIB, 64 * TIB), ConfigValue::Size(2 * GIB), Strictest, "How large the private temporary folder of a command may be."),
    key("sandbox.mode", Choice(SandboxMode::NAMES), ConfigValue::Choice("required"), Strictest, "Whether the sandbox must hold everything: required (else nothing runs), preferred (the best that this machine has), off."),
    key("sandbox.backend", Choice(SandboxBackend::NAMES), ConfigValue::Choice("auto"), UserOnly, "The sandbox backend; auto is the best that this machine has."),
    key("sandbox.container.engine", Choice(ContainerEngine::NAMES), ConfigValue::Choice("auto"), UserOnly, "What runs containers: podman, docker, or auto (the first of them that works)."),
    key("sandbox.container.image", Text, UNSET, UserOnly, "What containers are made from: the name of an image that the engine has (none is fetched), or the path of a root folder (podman only)."),
    key("sandbox.container.running", Text, UNSET, UserOnly, "The name of a container that runs already, to run commands in; its own mounts and network apply, so sandbox.mode must be preferred."),
    key("exec.changes", Choice(ChangeMode::NAMES), ConfigValue::Choice("direct"), Strictest, "How file changes of a sandboxed command are applied: direct (at once), staged (when the command has ended, each path checked by the rules), review (after the user has approved them)."),
];
