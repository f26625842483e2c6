//! Policies, callers and plans of every kind.

use std::sync::Arc;

use haft_contract::{
    Access, AskMode, Connect, Exec, ExecAsk, ExecHost, ExecNature, ExecSecurity, Location, Plan, Section, ToolDefinition, ToolSource, Zone,
};
use haft_policy::catalog::NOT_BUILT_YET;
use haft_policy::{AgentSpec, AllowList, Caller, ChannelSpec, ExecSpec, ListEntry, PolicySpec, RuleLists, Sender, ToolLists};
use proptest::prelude::*;
use serde_json::json;

fn entry() -> impl Strategy<Value = ListEntry> {
    let names =
        ["read_file", "Write", "exec", "bash", "cron", "web_*", "*", "group:fs", "group:haft", "group:plugins", "catch", "group:mine"];
    proptest::sample::select(names.to_vec()).prop_map(ListEntry::from)
}

pub(crate) fn entries() -> impl Strategy<Value = Vec<ListEntry>> {
    proptest::collection::vec(entry(), 0..4)
}

fn lists() -> impl Strategy<Value = ToolLists> {
    let allow = (entries(), any::<bool>()).prop_map(|(entries, of_project)| AllowList { entries, of_project, ..AllowList::default() });
    let profile = (proptest::sample::select(vec!["minimal", "messaging", "coding", "full"]), any::<bool>())
        .prop_map(|(name, of_project)| ListEntry { of_project, ..ListEntry::from(name) });
    (proptest::collection::vec(profile, 0..2), proptest::collection::vec(allow, 0..2), entries(), entries())
        .prop_map(|(profiles, allow, also_allow, deny)| ToolLists { profiles, allow, also_allow, deny })
}

/// A table that stays the user's, whatever is taken out of it.
fn user_tables() -> impl Strategy<Value = ToolLists> {
    lists().prop_map(|mut lists| {
        lists.also_allow.push("noop".into());
        lists
    })
}

pub(crate) fn rules() -> impl Strategy<Value = Vec<ListEntry>> {
    let texts = [
        "read(**)",
        "write(docs/**)",
        "write_file(docs/a)",
        "web_fetch(domain:example.org)",
        "connect(method:POST)",
        "exec",
        "exec(git push *)",
        "exec(git status)",
        "web_*",
        "catch",
        "write except write(src/**)",
        "write(docs/**) except write(docs/a)",
        "exec(git *) except exec(git status), exec(git log *)",
        "web_* except web_fetch",
        "connect except connect(domain:*.example.org)",
    ];
    proptest::collection::vec(listed(&texts), 0..4)
}

/// An entry of these, the user's or a project's.
fn listed(texts: &[&'static str]) -> impl Strategy<Value = ListEntry> + use<> {
    let of_project = proptest::bool::weighted(0.2);
    (proptest::sample::select(texts.to_vec()), of_project).prop_map(|(text, of_project)| ListEntry { of_project, ..text.into() })
}

/// Lists of the only effects of their kinds: at most one of the user's and one of a project's.
fn only() -> impl Strategy<Value = Vec<AllowList>> {
    let texts = ["write(docs/**)", "write(src/**)", "read(src/**)", "connect(domain:*.example.org)", "exec(git status)", "exec(cargo *)"];
    let entries = proptest::collection::vec(proptest::sample::select(texts.to_vec()).prop_map(ListEntry::from), 1..3);
    let list = |of_project, sometimes| {
        proptest::option::weighted(sometimes, entries.clone())
            .prop_map(move |entries| entries.map(|entries| AllowList { entries, of_project, ..AllowList::default() }))
    };
    (list(false, 0.3), list(true, 0.15)).prop_map(|(own, project)| own.into_iter().chain(project).collect())
}

/// Rules of an agent, beside those for everyone.
fn agent_rules() -> impl Strategy<Value = RuleLists> {
    (rules(), rules(), only()).prop_map(|(deny, ask, only)| RuleLists { deny, ask, only, ..RuleLists::default() })
}

fn ask_mode() -> impl Strategy<Value = AskMode> {
    proptest::sample::select(vec![AskMode::Never, AskMode::Beyond, AskMode::Rules, AskMode::Changes, AskMode::Always])
}

fn programs() -> impl Strategy<Value = ExecSpec> {
    let security = proptest::option::of(proptest::sample::select(vec![ExecSecurity::Full, ExecSecurity::SafeBin, ExecSecurity::Paranoid]));
    let ask = proptest::sample::select(vec![ExecAsk::Auto, ExecAsk::Smart, ExecAsk::Always]);
    (security, ask).prop_map(|(security, ask)| ExecSpec { security, ask, ..ExecSpec::default() })
}

/// One of the programs that rules speak of, with words that are known or not.
fn git(word: &str, host: ExecHost) -> Plan {
    let mut exec = Exec::new("/usr/bin/git", vec![word.into()], "/ws");
    (exec.named, exec.host) = ("git".into(), host);
    exec.nature = if word.starts_with('$') { ExecNature::Expanded } else { ExecNature::Any };
    Plan::nothing().exec(exec)
}

pub(crate) fn spec() -> impl Strategy<Value = PolicySpec> {
    let channel = (lists(), user_tables()).prop_map(|(tools, sender)| ChannelSpec { tools, senders: vec![("name:Ann".into(), sender)] });
    let agent = (lists(), user_tables(), proptest::option::weighted(0.3, agent_rules())).prop_map(|(tools, provided, rules)| AgentSpec {
        tools,
        by_provider: vec![("p".into(), provided)],
        rules: rules.unwrap_or_default(),
    });
    let tables = (lists(), user_tables(), agent, channel, lists(), lists());
    // Allow rules that are the same as bare tool names with effects must be valid in rules.allow.
    let allowed = proptest::collection::vec(
        proptest::sample::select(vec!["write_file(docs/a)", "web_fetch(domain:example.org)", "exec(git status)", "catch"])
            .prop_map(ListEntry::from),
        0..3,
    );
    (tables, entries(), (rules(), rules(), allowed, only()), ask_mode(), programs()).prop_map(
        |((tools, provided, agent, channel, sandbox, subagents), disabled, (deny, ask, allow, only), mode, exec)| {
            let mut spec = PolicySpec::default();
            spec.exec = exec;
            (spec.tools, spec.sandbox, spec.subagents, spec.disabled) = (tools, sandbox, subagents, disabled);
            spec.by_provider = vec![("p".into(), provided)];
            spec.agents = vec![("main".into(), agent)];
            spec.channels = vec![("c".into(), channel)];
            spec.groups = vec![("mine".into(), vec!["read_file".into(), "cron".into()])];
            (spec.rules, spec.ask) = (RuleLists { deny, ask, allow, only }, mode);
            spec
        },
    )
}

pub(crate) fn caller() -> impl Strategy<Value = Caller> {
    let access = proptest::sample::select(vec![Access::ReadOnly, Access::WorkspaceWrite, Access::FullAccess]);
    (access, any::<[bool; 6]>(), 0_u32..3).prop_map(|(access, [owner, provider, channel, sandboxed, selected, parent], depth)| {
        let mut caller = Caller::default();
        (caller.access, caller.owner, caller.sandboxed, caller.depth) = (access, owner, sandboxed, depth);
        if provider {
            (caller.provider, caller.model) = (Some("P".into()), Some("m".into()));
        }
        if channel {
            caller.channel = Some("c".into());
            caller.sender = Some(Sender { id: Some("1".into()), name: Some("Ann".into()), ..Sender::default() });
        }
        if selected {
            caller.select(["read_file", "exec", "catch"]);
        }
        if parent {
            caller.parent = Some(Arc::new(Caller::default()));
        }
        caller
    })
}

/// Every tool of Haft, built or not, and one of a plugin.
pub(crate) fn tools() -> Vec<(ToolDefinition, ToolSource)> {
    let core = haft_builtin::metas().chain(NOT_BUILT_YET);
    let mut tools: Vec<(ToolDefinition, ToolSource)> =
        core.map(|meta| (ToolDefinition::from_meta(meta, json!({"type": "object"})), ToolSource::BuiltIn)).collect();
    let mut catch = ToolDefinition::new("catch", "Catches.", json!({"type": "object"}));
    catch.section = Section::Web;
    tools.push((catch, ToolSource::Plugin("lobster".into())));
    tools
}

pub(crate) fn plan() -> impl Strategy<Value = Plan> {
    let span = |name: &str, zone| Location::new(name.into(), format!("/ws/{name}").into(), name.into(), zone, Arc::new(()));
    (0_usize..10).prop_map(move |kind| match kind {
        0 => Plan::nothing(),
        1 => Plan::nothing().read(span("docs/a", Zone::Workspace)),
        2 => Plan::nothing().write(span("docs/a", Zone::Workspace)),
        3 => Plan::nothing().write(span("src/b", Zone::Workspace)).connect(Connect::new("https", "example.org", 443, "GET")),
        6 => git("status", ExecHost::Host),
        7 => git("push", ExecHost::Sandbox),
        8 => git("$x", ExecHost::Host),
        9 => git("status", ExecHost::Sandbox).write(span("docs/a", Zone::Workspace)),
        4 => Plan::nothing().connect(Connect::new("https", "example.org", 443, "POST")),
        _ => Plan::nothing().with(haft_contract::Effect::Unknown { why: "who knows".into() }),
    })
}
