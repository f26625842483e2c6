//! Names that people choose: agents, providers, models, channels, senders, groups.

use std::collections::HashMap;

use toml::Spanned;
use toml::de::{DeString, DeTable};

use crate::Complaint;
use crate::decode::Decoder;
use crate::path::written;
use crate::problem::Problem;
use crate::shape::group_name;
use crate::text::quoted;

/// More names in one table than anyone manages are a mistake.
pub(crate) const MAX_NAMES: usize = 200;
const AGENTS: &str = "agents";
const MAX_AGENT_LETTERS: usize = 64;
const AGENT_NAMES: &str = "an agent's name has 1 to 64 letters, digits, '_', '-' or '.'";
/// Longer names fit no message.
pub(crate) const MAX_NAME_LETTERS: usize = 128;

/// Whether a table of chosen names has not too many; else it is noted at the first that is too many.
pub(crate) fn few(decoder: &mut Decoder<'_>, path: &[String], table: &DeTable<'_>) -> bool {
    let few = table.len() <= MAX_NAMES;
    if !few {
        let table_name = written(path);
        let mut spans: Vec<_> = table.keys().map(Spanned::span).collect();
        spans.sort_by_key(|span| span.start);
        let source = decoder.origin.at(spans.swap_remove(MAX_NAMES));
        let message = format!("'{table_name}' has {} names", table.len());
        decoder.problems.add(|| Problem::error(source, message).key(&table_name).help(format!("use at most {MAX_NAMES}")));
    }
    few
}

/// Notes names of which one would silently stand in place of the other, because they differ in spelling only.
pub(crate) fn distinct(decoder: &mut Decoder<'_>, path: &[String], names: &[&Spanned<DeString<'_>>]) {
    let Some(table) = path.last().filter(|table| matches!(table.as_str(), "agents" | "by_provider" | "channels" | "senders" | "groups"))
    else {
        return;
    };
    let mut seen: HashMap<String, &str> = HashMap::new();
    for name in names {
        let Some(first) = seen.insert(folded(table, name.get_ref()), name.get_ref()) else { continue };
        let table = written(path);
        let message = format!("'{table}' has the names {} and {}, which are the same", quoted(first), quoted(name.get_ref()));
        decoder.problems.add(|| Problem::error(decoder.origin.at(name.span()), message).key(table).help("put both tables under one name"));
    }
}

/// The name of an agent in its one spelling, or what is wrong with it.
pub fn agent_name(written: &str) -> Result<String, String> {
    let name = folded(AGENTS, written);
    let allowed = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    if name.is_empty() || written.trim().chars().count() > MAX_AGENT_LETTERS || !written.trim().chars().all(allowed) {
        return Err(AGENT_NAMES.to_owned());
    }
    Ok(name)
}

/// A chosen name as it is kept. Agents are named elsewhere too, so all layers must mean the same one.
pub(crate) fn kept(table: &[String], name: &str) -> String {
    if is_agents(table) { folded(AGENTS, name) } else { name.to_owned() }
}

fn is_agents(table: &[String]) -> bool {
    matches!(table, [table] if table == AGENTS)
}

/// One spelling for all ways to write a name. Models' names differ in each sign, so there only the case does not count.
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

/// Whether the name at the end of a path is fit to be one; else it is noted.
pub(crate) fn fit(decoder: &mut Decoder<'_>, path: &[String], name: &Spanned<DeString<'_>>) -> bool {
    let judged = judged(path, name.get_ref());
    if let Err(Complaint { message, help }) = &judged {
        let key = written(&path[..path.len() - 1]);
        let message = format!("'{key}' has the name {}: {message}", quoted(name.get_ref()));
        let help = help.as_deref().unwrap_or_default();
        decoder.problems.add(|| Problem::error(decoder.origin.at(name.span()), message).key(key).help(help));
    }
    judged.is_ok()
}

fn judged(path: &[String], name: &str) -> Result<(), Complaint> {
    let complaint = |message: &str| {
        let help = format!("use 1 to {MAX_NAME_LETTERS} letters on one line");
        Err(Complaint { message: message.into(), help: Some(help) })
    };
    match name {
        _ if name.trim().is_empty() => complaint("it is empty"),
        _ if name.chars().count() > MAX_NAME_LETTERS => complaint("it is too long"),
        _ if name.contains(char::is_control) => complaint("it holds a control character"),
        _ if matches!(path[0].as_str(), "models" | "prices") => model_name(&path[0], name),
        _ if path[0] == "groups" => group_name(name),
        _ if is_agents(&path[..path.len() - 1]) => {
            agent_name(name).map(drop).map_err(|help| Complaint { message: "no agent can be called so".into(), help: Some(help) })
        }
        _ => Ok(()),
    }
}

/// A model is named with its provider, as everywhere; a price may be for all whose names begin so.
fn model_name(table: &str, name: &str) -> Result<(), Complaint> {
    let (exact, example) = match (table, name.strip_suffix('*')) {
        ("prices", Some(beginning)) => (beginning, "[prices.\"anthropic/claude-*\"]"),
        ("prices", None) => (name, "[prices.\"work/qwen3\"]"),
        _ => (name, "[models.\"work/qwen3\"]"),
    };
    let whole = exact.split_once('/').is_some_and(|(provider, model)| !provider.is_empty() && (!model.is_empty() || exact != name));
    if whole && !exact.contains('*') {
        return Ok(());
    }
    Err(Complaint { message: "it is not provider/model".into(), help: Some(format!("write it as {example}")) })
}
