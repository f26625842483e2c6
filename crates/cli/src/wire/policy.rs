//! Builds the policy from the configuration; each entry keeps its file and line.

use std::path::PathBuf;
use std::sync::Arc;

use haft_config::{Config, ConfigLayer, Provenance, Setting, SettingSource, Sourced, ValueKind};
use haft_engine::Registry;
use haft_policy::catalog::Vocabulary;
use haft_policy::{
    AgentSpec, AllowList, ChannelSpec, ExecSpec, ListEntry, Owner, PolicySpec, RuleLists, SettingPlace, SettingWord, SourceSpan,
    StandardPolicy, ToolLists,
};

use crate::failure::Failure;

/// Names that a policy can use.
pub(crate) fn vocabulary(registry: &Registry, servers: &[String]) -> Vocabulary {
    let entries = registry.entries();
    Vocabulary::default().with(entries.iter().map(|entry| (entry.definition(), entry.source()))).with_servers(servers)
}

/// The policy of these settings, with rules more that only tighten it.
pub(super) fn policy(config: &Config, settings: &Provenance, registry: &Registry, more: RuleLists) -> Result<Arc<StandardPolicy>, Failure> {
    let mut spec = spec(config, settings);
    spec.rules.deny.extend(more.deny);
    spec.rules.ask.extend(more.ask);
    spec.rules.only.extend(more.only);
    let servers = settings.names_beneath(&["mcp", "servers"]);
    let compiled = StandardPolicy::compile(&spec, vocabulary(registry, &servers));
    // Rules were checked when they were loaded; still, nothing runs if they do not compile.
    compiled.map(Arc::new).map_err(|faults| Failure::config(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
}

fn spec(config: &Config, settings: &Provenance) -> PolicySpec {
    let mut spec = PolicySpec::default();
    spec.disabled = listed(settings.value_at(&["tools", "disabled"]).entries());
    spec.tools = lists(settings, &["tools"]);
    spec.by_provider = by_provider(settings, &["tools"]);
    spec.agents = read_tables(settings, &["agents"], |name| AgentSpec {
        tools: lists(settings, &["agents", name, "tools"]),
        by_provider: by_provider(settings, &["agents", name, "tools"]),
        rules: rules(settings, &["agents", name, "rules"]),
    });
    spec.channels = read_tables(settings, &["channels"], |name| ChannelSpec {
        tools: lists(settings, &["channels", name, "tools"]),
        senders: read_tables(settings, &["channels", name, "senders"], |sender| lists(settings, &["channels", name, "senders", sender])),
    });
    spec.sandbox = lists(settings, &["sandbox", "tools"]);
    spec.subagents = lists(settings, &["subagents", "tools"]);
    spec.max_depth = config.subagents.max_depth;
    spec.groups = settings.groups().map(|(name, members)| (name.to_owned(), listed(members))).collect();
    spec.rules = rules(settings, &["rules"]);
    spec.ask = config.ask;
    spec.exec = exec(config, settings);
    spec.home = home();
    spec.places = places(config, settings);
    // Which folders there are is not for tenants.
    spec.confined = crate::tenants::current().is_some();
    spec
}

fn rules(settings: &Provenance, table: &[&str]) -> RuleLists {
    let value = |name: &'static str| settings.value_at(&[table, &[name]].concat());
    RuleLists {
        deny: listed(value("deny").entries()),
        ask: listed(value("ask").entries()),
        allow: listed(value("allow").entries()),
        only: value("only").lists().iter().map(allow_list).collect(),
    }
}

fn exec(config: &Config, settings: &Provenance) -> ExecSpec {
    let source = |key: &str| settings.get(key).map(|setting| source_span(&setting.source)).unwrap_or_default();
    ExecSpec {
        security: config.exec.security,
        security_span: source("exec.security"),
        ask: config.exec.ask,
        ask_span: source("exec.ask"),
        review: config.exec.changes == haft_contract::ChangeMode::Review,
        review_span: source("exec.changes"),
    }
}

/// Where settings stand that refuse or ask, and are no entries of lists of the policy.
fn places(config: &Config, settings: &Provenance) -> Vec<SettingPlace> {
    let place = |key: &str, entry: Option<String>, source: &SettingSource| SettingPlace {
        key: key.to_owned(),
        entry,
        owner: owner(source),
        word: None,
    };
    let mut places = Vec::new();
    for key in ["ask", "exec.ask", "exec.security", "exec.changes", "workspace.secrets", "guards.taint"] {
        // The place that decides comes first, and then those that would hold once it is changed.
        places.extend(settings.get(key).map(|setting| SettingPlace { word: word(setting), ..place(key, None, &setting.source) }));
        let others = settings.deciding(&key.split('.').collect::<Vec<_>>());
        let others = others.into_iter().filter(|setting| setting.source.layer != ConfigLayer::Project || is_comparable(setting));
        let others = others.filter(|other| settings.get(key).is_none_or(|setting| setting.source != other.source));
        places.extend(others.map(|setting| SettingPlace { word: word(setting), ..place(key, None, &setting.source) }));
    }
    for key in ["workspace.roots", "network.allow"] {
        places.extend(settings.get(key).map(|setting| place(key, None, &setting.source)));
    }
    for key in ["workspace.deny_read", "network.deny"] {
        places.extend(settings.value(key).entries().iter().map(|entry| place(key, Some(entry.value.clone()), &entry.source)));
    }
    let roots = settings.get("workspace.roots").into_iter();
    places.extend(roots.flat_map(|setting| {
        let folders = config.workspace.roots.iter().map(|root| root.path.canonicalize().unwrap_or_else(|_| root.path.clone()));
        folders.map(|folder| place("workspace.roots", Some(folder.display().to_string()), &setting.source)).collect::<Vec<_>>()
    }));
    places
}

/// Whether a project's file can tighten by a word: not by one without questions, which refuses some calls and runs others.
fn is_comparable(setting: &Setting) -> bool {
    !matches!(setting.value.as_text(), Some("never" | "auto"))
}

/// The word of a key that has several.
fn word(setting: &Setting) -> Option<SettingWord> {
    let ValueKind::Choice(all) = setting.key.kind else { return None };
    Some(SettingWord { word: setting.value.as_text()?.to_owned(), all })
}

/// Whose setting it is, and where it stands.
pub(super) fn owner(source: &SettingSource) -> Owner {
    Owner { span: source_span(source), of_project: source.layer == ConfigLayer::Project }
}

/// The home folder for `~`, with symbolic links resolved.
pub(super) fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
    Some(home.canonicalize().unwrap_or(home))
}

fn read_tables<T>(settings: &Provenance, table: &[&str], spec: impl Fn(&str) -> T) -> Vec<(String, T)> {
    settings.names_beneath(table).into_iter().map(|name| (name.clone(), spec(&name))).collect()
}

fn by_provider(settings: &Provenance, table: &[&str]) -> Vec<(String, ToolLists)> {
    let table = [table, &["by_provider"]].concat();
    read_tables(settings, &table, |provider| lists(settings, &[&table[..], &[provider]].concat()))
}

fn lists(settings: &Provenance, table: &[&str]) -> ToolLists {
    let key = |name: &'static str| [table, &[name]].concat();
    ToolLists {
        profiles: settings.value_at(&key("profile")).texts().iter().map(entry).collect(),
        allow: settings.value_at(&key("allow")).lists().iter().map(allow_list).collect(),
        also_allow: listed(settings.value_at(&key("also_allow")).entries()),
        deny: listed(settings.value_at(&key("deny")).entries()),
    }
}

fn allow_list(list: &Sourced<Vec<Sourced<String>>>) -> AllowList {
    AllowList { entries: listed(&list.value), span: source_span(&list.source), of_project: list.source.layer == ConfigLayer::Project }
}

fn listed(entries: &[Sourced<String>]) -> Vec<ListEntry> {
    entries.iter().map(entry).collect()
}

fn entry(setting: &Sourced<String>) -> ListEntry {
    ListEntry {
        pattern: setting.value.trim().to_owned(),
        span: source_span(&setting.source),
        of_project: setting.source.layer == ConfigLayer::Project,
    }
}

/// The file and line, variable or flag of a setting.
pub(super) fn source_span(source: &SettingSource) -> SourceSpan {
    let named = || source.name.as_ref().map(|name| Arc::new(PathBuf::from(name)));
    SourceSpan { file: source.file.clone().or_else(named), line: source.line }
}
