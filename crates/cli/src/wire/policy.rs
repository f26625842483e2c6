//! The policy that the configuration describes; every entry knows its file and line.

use std::path::PathBuf;
use std::sync::Arc;

use haft_config::{Config, Layer, Provenance, Source, Sourced};
use haft_engine::catalog::Vocabulary;
use haft_engine::{
    AgentSpec, AllowList, ChannelSpec, ExecAsk, ExecSecurity, ExecSpec, Listed, Place, PolicySpec, Registry, RuleLists, StandardPolicy,
    ToolLists,
};

use crate::failure::Failure;

/// Every name that a policy may use here.
pub(crate) fn vocabulary(registry: &Registry) -> Vocabulary {
    let entries = registry.entries();
    Vocabulary::with(entries.iter().map(|entry| (entry.definition(), entry.source())))
}

/// The policy of these settings.
pub(super) fn policy(config: &Config, settings: &Provenance, registry: &Registry) -> Result<Arc<StandardPolicy>, Failure> {
    let compiled = StandardPolicy::compile(&spec(config, settings), vocabulary(registry));
    // Each rule was judged when the configuration was read, so this says nothing new; but nothing runs without its rules.
    compiled.map(Arc::new).map_err(|faults| Failure::config(faults.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")))
}

fn spec(config: &Config, settings: &Provenance) -> PolicySpec {
    let mut spec = PolicySpec::default();
    spec.disabled = listed(settings.entries_at(&["tools", "disabled"]));
    spec.tools = lists(settings, &["tools"]);
    spec.by_provider = by_provider(settings, &["tools"]);
    spec.agents = named(settings, &["agents"], |name| AgentSpec {
        tools: lists(settings, &["agents", name, "tools"]),
        by_provider: by_provider(settings, &["agents", name, "tools"]),
    });
    spec.channels = named(settings, &["channels"], |name| ChannelSpec {
        tools: lists(settings, &["channels", name, "tools"]),
        senders: named(settings, &["channels", name, "senders"], |sender| lists(settings, &["channels", name, "senders", sender])),
    });
    spec.sandbox = lists(settings, &["sandbox", "tools"]);
    spec.subagents = lists(settings, &["subagents", "tools"]);
    spec.max_depth = config.subagents.max_depth;
    spec.groups = settings.groups().map(|(name, members)| (name.to_owned(), listed(members))).collect();
    spec.rules = RuleLists {
        deny: listed(settings.entries_at(&["rules", "deny"])),
        ask: listed(settings.entries_at(&["rules", "ask"])),
        allow: listed(settings.entries_at(&["rules", "allow"])),
    };
    spec.ask = config.ask;
    spec.exec = exec(config, settings);
    spec.home = home();
    spec
}

fn exec(config: &Config, settings: &Provenance) -> ExecSpec {
    let stands = |key: &str| settings.get(key).map(|setting| place(&setting.source)).unwrap_or_default();
    ExecSpec {
        security: config.exec.security.map(|security| match security {
            haft_config::ExecSecurity::Full => ExecSecurity::Full,
            haft_config::ExecSecurity::SafeBin => ExecSecurity::SafeBin,
            haft_config::ExecSecurity::Paranoid => ExecSecurity::Paranoid,
        }),
        security_place: stands("exec.security"),
        ask: match config.exec.ask {
            haft_config::ExecAsk::Auto => ExecAsk::Auto,
            haft_config::ExecAsk::Smart => ExecAsk::Smart,
            haft_config::ExecAsk::Always => ExecAsk::Always,
        },
        ask_place: stands("exec.ask"),
        review: config.exec.changes == haft_contract::Changes::Review,
        review_place: stands("exec.changes"),
    }
}

/// What `~` stands for, free of links like the paths it is compared with.
pub(super) fn home() -> Option<PathBuf> {
    let home = std::env::var_os("HOME").map(PathBuf::from).filter(|home| home.is_absolute())?;
    Some(home.canonicalize().unwrap_or(home))
}

fn named<T>(settings: &Provenance, table: &[&str], spec: impl Fn(&str) -> T) -> Vec<(String, T)> {
    settings.names_beneath(table).into_iter().map(|name| (name.clone(), spec(&name))).collect()
}

fn by_provider(settings: &Provenance, table: &[&str]) -> Vec<(String, ToolLists)> {
    let table = [table, &["by_provider"]].concat();
    named(settings, &table, |provider| lists(settings, &[&table[..], &[provider]].concat()))
}

fn lists(settings: &Provenance, table: &[&str]) -> ToolLists {
    let key = |name: &'static str| [table, &[name]].concat();
    ToolLists {
        profiles: settings.texts_at(&key("profile")).iter().map(entry).collect(),
        allow: settings.lists_at(&key("allow")).iter().map(allow_list).collect(),
        also_allow: listed(settings.entries_at(&key("also_allow"))),
        deny: listed(settings.entries_at(&key("deny"))),
    }
}

fn allow_list(list: &Sourced<Vec<Sourced<String>>>) -> AllowList {
    AllowList { entries: listed(&list.value), place: place(&list.source), of_project: list.source.layer == Layer::Project }
}

fn listed(entries: &[Sourced<String>]) -> Vec<Listed> {
    entries.iter().map(entry).collect()
}

fn entry(setting: &Sourced<String>) -> Listed {
    Listed { pattern: setting.value.trim().to_owned(), place: place(&setting.source), of_project: setting.source.layer == Layer::Project }
}

/// The file and line, or the variable or flag, that says so.
pub(super) fn place(source: &Source) -> Place {
    let named = || source.name.as_ref().map(|name| Arc::new(PathBuf::from(name)));
    Place { file: source.file.clone().or_else(named), line: source.line }
}
