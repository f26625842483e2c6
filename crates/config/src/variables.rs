//! Settings from `HAFT_…` variables and flags, by the names in the key table.

use std::borrow::Cow;
use std::ffi::OsString;

use haft_text::suggest::closest;
use toml::Spanned;
use toml::de::{DeArray, DeValue};

use crate::decode::{Decoder, Node};
use crate::load::LoadRequest;
use crate::problem::{Problem, Problems, quoted};
use crate::provenance::Setting;
use crate::source_text::SourceText;
use crate::{ConfigKey, ConfigLayer, KEYS, ListKind, ValueKind};

/// A value from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FlagValue<'a> {
    /// The key it sets.
    pub key: &'a str,
    /// The value, written as in a variable: lists with commas, or as TOML.
    pub value: String,
    /// The flag as it was typed: `--access`.
    pub name: &'a str,
}

/// Variables that other parts read.
const OTHERS: [&str; 10] = [
    "HAFT_BLOBS",
    "HAFT_CONFIG",
    "HAFT_HOME",
    "HAFT_MCP_TOKEN",
    "HAFT_NO_RESOLVE",
    "HAFT_PLAIN",
    "HAFT_QUEUE",
    "HAFT_STORE",
    "HAFT_TENANT",
    "HAFT_TENANT_VOLUMES",
];

/// The settings of the environment.
pub(crate) fn environment(request: &LoadRequest<'_>, problems: &mut Vec<Problem>) -> Vec<Setting> {
    let mut settings = Vec::new();
    for key in KEYS {
        let Some(name) = key.variable() else { continue };
        let Some(value) = (request.environment)(&name) else { continue };
        settings.extend(setting(request, key, &SourceText::variable(ConfigLayer::Environment, &name), value, problems));
    }
    unknown(request, problems);
    settings
}

/// The settings of the command line, in its order.
pub(crate) fn flags(request: &LoadRequest<'_>, problems: &mut Vec<Problem>) -> Vec<Setting> {
    let mut settings = Vec::new();
    for flag in request.flags {
        let origin = SourceText::variable(ConfigLayer::Flag, flag.name);
        if let Some(key) = KEYS.iter().find(|key| key.path == flag.key && key.is_fixed()) {
            settings.extend(setting(request, key, &origin, flag.value.clone().into(), problems));
        } else {
            let message = format!("{} sets the unknown key {}", flag.name, quoted(flag.key));
            problems.push(Problem::error(origin.whole(), message).key(flag.key).help("use a key that the configuration file has"));
        }
    }
    settings
}

fn setting(
    request: &LoadRequest<'_>,
    key: &'static ConfigKey,
    origin: &SourceText<'_>,
    value: OsString,
    problems: &mut Vec<Problem>,
) -> Option<Setting> {
    let name = origin.whole().to_string();
    let mut decoder = Decoder { origin, home: request.home(), check: request.check, problems: Problems::default() };
    let typed = text_of(value).and_then(|text| node_of(key.kind, &text).map(|node| decoder.value(key.path, key.kind, &node)));
    problems.extend(decoder.problems.finish(origin.whole()).into_iter().map(|problem| with_name(&name, problem)));
    match typed {
        Ok(typed) => typed.map(|value| Setting::fixed(key, value, origin.whole())),
        Err(why) => {
            let help = "remove it, or give it a value; a list is written a,b or [\"a\", \"b\"], an empty one []";
            problems.push(Problem::error(origin.whole(), format!("{name} {why}")).key(key.path).help(help));
            None
        }
    }
}

fn text_of(value: OsString) -> Result<String, String> {
    match value.into_string() {
        Ok(text) if text.trim().is_empty() => Err("is empty".into()),
        Ok(text) => Ok(text),
        Err(_) => Err("is not UTF-8".into()),
    }
}

/// A variable's or a flag's text as the value that a file would hold.
fn node_of(kind: ValueKind, text: &str) -> Result<Node<'_>, String> {
    let plain = |value| Ok(Spanned::new(0..text.len(), value));
    match kind {
        ValueKind::Access | ValueKind::Choice(_) | ValueKind::Text | ValueKind::Profile => plain(DeValue::String(Cow::Borrowed(text))),
        ValueKind::Size(..) if text.trim().parse::<u64>().is_err() => plain(DeValue::String(Cow::Borrowed(text))),
        ValueKind::Flag if text == "1" => plain(DeValue::Boolean(true)),
        ValueKind::Flag if text == "0" => plain(DeValue::Boolean(false)),
        ValueKind::List(of) if !text.trim_start().starts_with('[') => plain(DeValue::Array(split(of, text))),
        _ => DeValue::parse(text.trim()).map_err(|error| format!("cannot be read: {}", error.message())),
    }
}

/// The entries between the commas; a comma in the parentheses of a rule belongs to the rule.
fn split(of: ListKind, text: &str) -> DeArray<'_> {
    let rules = matches!(of, ListKind::RulesDeny | ListKind::RulesOnly | ListKind::RulesAsk | ListKind::RulesAllow);
    let mut depth = 0_usize;
    let between = |ch: char| {
        match ch {
            '(' if rules => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        ch == ',' && depth == 0
    };
    let mut array = DeArray::new();
    for entry in text.split(between) {
        array.push(Spanned::new(0..0, DeValue::String(Cow::Borrowed(entry.trim()))));
    }
    array
}

/// Names the variable or the flag in a message, because there is no line to show.
pub(crate) fn with_name(name: &str, mut problem: Problem) -> Problem {
    problem.message = format!("{name}: {}", problem.message);
    problem
}

/// More misspelt variables are not reported.
const MAX_UNKNOWN: usize = 20;

fn unknown(request: &LoadRequest<'_>, problems: &mut Vec<Problem>) {
    let known = list_variables();
    let is_known = |name: &str| known.iter().any(|(variable, _)| variable == name) || request.other_variables.contains(&name);
    let unknown = request.environment_names.iter().filter(|name| name.starts_with("HAFT_") && !is_known(name));
    let mut found: Vec<Problem> = unknown.map(|name| misspelling_problem(name, &known)).collect();
    // Errors first, so that none is cut.
    found.sort_by(|a, b| (a.severity, &a.source.name).cmp(&(b.severity, &b.source.name)));
    problems.extend(found.into_iter().take(MAX_UNKNOWN));
}

/// Every variable, and whether it carries authority. Those that do are last, where they win a tie.
fn list_variables() -> Vec<(String, bool)> {
    let keys = KEYS.iter().filter_map(|key| key.variable().map(|variable| (variable, key.is_authority())));
    let mut known: Vec<_> = OTHERS.iter().map(|name| ((*name).to_owned(), false)).chain(keys).collect();
    known.sort_by_key(|(_, authority)| *authority);
    known
}

/// Reports a misspelt variable; a misspelt limit is an error, because the user relies on it.
fn misspelling_problem(name: &str, known: &[(String, bool)]) -> Problem {
    let source = SourceText::variable(ConfigLayer::Environment, name).whole();
    let message = format!("unknown variable {}", quoted(name));
    let Some(near) = closest(name, known.iter().map(|(variable, _)| variable.as_str())) else {
        let help = "remove it; `haft config show` lists the keys, and HAFT_TOOLS_DENY sets tools.deny";
        return Problem::warning(source, message).help(help);
    };
    if known.iter().any(|(variable, authority)| variable == near && *authority) {
        let message = format!("{message}: running without this limit would be unsafe");
        return Problem::error(source, message).help(format!("did you mean {near}? Correct it, or remove it"));
    }
    Problem::warning(source, message).help(format!("did you mean {near}?"))
}
