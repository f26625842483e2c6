//! Chosen names of tables: agents, providers, models, channels, senders, groups.

use std::collections::HashMap;

use toml::Spanned;
use toml::de::{DeString, DeTable};

use crate::EntryFault;
use crate::decode::Decoder;
use crate::entry_syntax::group_name;
use crate::key_path::format_path;
use crate::problem::{Problem, quoted};

/// More names in one table are a mistake.
pub(crate) const MAX_NAMES: usize = 200;
const AGENTS: &str = "agents";
const MAX_AGENT_CHARS: usize = 64;
const AGENT_NAMES: &str = "an agent's name has 1 to 64 alphanumeric characters, '_', '-' or '.'";
/// Longer names do not fit into messages.
pub(crate) const MAX_NAME_CHARS: usize = 128;

/// Whether a table has few enough names; if not, the first beyond the limit is reported.
pub(crate) fn has_few(decoder: &mut Decoder<'_>, path: &[String], table: &DeTable<'_>) -> bool {
    let few = table.len() <= MAX_NAMES;
    if !few {
        let table_name = format_path(path);
        let mut spans: Vec<_> = table.keys().map(Spanned::span).collect();
        spans.sort_by_key(|span| span.start);
        let source = decoder.origin.at(spans.swap_remove(MAX_NAMES));
        let message = format!("'{table_name}' has {} names", table.len());
        decoder.problems.add(|| Problem::error(source, message).key(&table_name).help(format!("use at most {MAX_NAMES}")));
    }
    few
}

/// Reports names that differ in spelling only: one would silently override the other.
pub(crate) fn report_duplicates(decoder: &mut Decoder<'_>, path: &[String], names: &[&Spanned<DeString<'_>>]) {
    let Some(table) =
        path.last().filter(|table| matches!(table.as_str(), "agents" | "by_provider" | "channels" | "senders" | "groups" | "servers"))
    else {
        return;
    };
    let mut seen: HashMap<String, &str> = HashMap::new();
    for name in names {
        let Some(first) = seen.insert(folded(table, name.get_ref()), name.get_ref()) else { continue };
        let table = format_path(path);
        let message = format!("'{table}' has the names {} and {}, which are the same", quoted(first), quoted(name.get_ref()));
        decoder.problems.add(|| Problem::error(decoder.origin.at(name.span()), message).key(table).help("put both tables under one name"));
    }
}

/// The canonical name of an agent, or its fault.
pub fn agent_name(written: &str) -> Result<String, String> {
    let name = folded(AGENTS, written);
    let allowed = |ch: char| ch.is_alphanumeric() || matches!(ch, '_' | '-' | '.');
    if name.is_empty() || written.trim().chars().count() > MAX_AGENT_CHARS || !written.trim().chars().all(allowed) {
        return Err(AGENT_NAMES.to_owned());
    }
    Ok(name)
}

/// The canonical name of an agent, any other name as it is: other layers and flags name agents too.
pub(crate) fn canonical(table: &[String], name: &str) -> String {
    if is_agents(table) { folded(AGENTS, name) } else { name.to_owned() }
}

fn is_agents(table: &[String]) -> bool {
    matches!(table, [table] if table == AGENTS)
}

/// One spelling for all spellings of a name. In names of models only the case is folded.
pub(crate) fn folded(table: &str, name: &str) -> String {
    let name = name.trim();
    match table {
        "senders" => sender(name),
        "agents" | "by_provider" => name.to_lowercase(),
        _ => name.to_lowercase().replace(['-', ' '], "_"),
    }
}

/// A sender without a kind is an id, and ids are what they are: `U1` is not `u1`.
fn sender(name: &str) -> String {
    let kind = |kind: &str| name.get(..kind.len()).filter(|start| start.eq_ignore_ascii_case(kind)).map(|_| name[kind.len()..].trim());
    match ["e164:", "username:", "name:"].into_iter().find_map(|known| Some((known, kind(known)?))) {
        Some((kind, value)) => format!("{kind}{}", value.to_lowercase()),
        None if name == "*" => name.to_owned(),
        None => format!("id:{}", kind("id:").unwrap_or(name)),
    }
}

/// Whether the name at the end of a path is valid; if not, it is reported.
pub(crate) fn is_valid(decoder: &mut Decoder<'_>, path: &[String], name: &Spanned<DeString<'_>>) -> bool {
    let checked = check(path, name.get_ref());
    if let Err(EntryFault { message, help }) = &checked {
        let key = format_path(&path[..path.len() - 1]);
        let message = format!("'{key}' has the name {}: {message}", quoted(name.get_ref()));
        let help = help.as_deref().unwrap_or_default();
        decoder.problems.add(|| Problem::error(decoder.origin.at(name.span()), message).key(key).help(help));
    }
    checked.is_ok()
}

fn check(path: &[String], name: &str) -> Result<(), EntryFault> {
    let complaint = |message: &str| {
        let help = format!("use 1 to {MAX_NAME_CHARS} characters on one line");
        Err(EntryFault { message: message.into(), help: Some(help) })
    };
    match name {
        _ if name.trim().is_empty() => complaint("it is empty"),
        _ if name.chars().count() > MAX_NAME_CHARS => complaint("it is too long"),
        _ if name.contains(char::is_control) => complaint("it holds a control character"),
        _ if matches!(path[0].as_str(), "models" | "prices") => model_name(&path[0], name),
        _ if path[0] == "groups" => group_name(name),
        _ if is_agents(&path[..path.len() - 1]) => {
            agent_name(name).map(drop).map_err(|help| EntryFault { message: "no agent can be called so".into(), help: Some(help) })
        }
        _ => Ok(()),
    }
}

/// A model is named with its provider, as everywhere; a price may be for all whose names begin so.
fn model_name(table: &str, name: &str) -> Result<(), EntryFault> {
    let (exact, example) = match (table, name.strip_suffix('*')) {
        ("prices", Some(beginning)) => (beginning, "[prices.\"anthropic/claude-*\"]"),
        ("prices", None) => (name, "[prices.\"work/qwen3\"]"),
        _ => (name, "[models.\"work/qwen3\"]"),
    };
    let whole = exact.split_once('/').is_some_and(|(provider, model)| !provider.is_empty() && (!model.is_empty() || exact != name));
    if whole && !exact.contains('*') {
        return Ok(());
    }
    Err(EntryFault { message: "it is not provider/model".into(), help: Some(format!("write it as {example}")) })
}
