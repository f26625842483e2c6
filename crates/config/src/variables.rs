//! `HAFT_…` variables and flags → settings, by the names that the key table gives them.

use std::borrow::Cow;
use std::ffi::OsString;

use toml::Spanned;
use toml::de::{DeArray, DeValue};

use crate::decode::{Decoder, Node};
use crate::later::{not_enforced, not_used};
use crate::load::Request;
use crate::origin::Origin;
use crate::problem::{Problem, Problems};
use crate::provenance::Setting;
use crate::suggest::nearest;
use crate::text::quoted;
use crate::{KEYS, Key, Kind, Layer, ListOf, Status};

/// A value from the command line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flag<'a> {
    /// The key it sets.
    pub key: &'a str,
    /// The value, written as in a variable: lists with commas, or as TOML.
    pub value: String,
    /// The flag as it was typed: `--access`.
    pub name: &'a str,
}

/// Variables that are read elsewhere.
const OTHERS: [&str; 4] = ["HAFT_CONFIG", "HAFT_HOME", "HAFT_PLAIN", "HAFT_STORE"];

/// The settings of the environment.
pub(crate) fn environment(request: &Request<'_>, problems: &mut Vec<Problem>) -> Vec<Setting> {
    let mut settings = Vec::new();
    for key in KEYS {
        let Some(name) = key.variable() else { continue };
        let Some(value) = (request.environment)(&name) else { continue };
        settings.extend(setting(request, key, &Origin::named(Layer::Environment, &name), value, problems));
    }
    unknown(request, problems);
    settings
}

/// The settings of the command line, in its order.
pub(crate) fn flags(request: &Request<'_>, problems: &mut Vec<Problem>) -> Vec<Setting> {
    let mut settings = Vec::new();
    for flag in request.flags {
        let origin = Origin::named(Layer::Flag, flag.name);
        if let Some(key) = KEYS.iter().find(|key| key.path == flag.key && key.is_fixed()) {
            settings.extend(setting(request, key, &origin, flag.value.clone().into(), problems));
        } else {
            let message = format!("{} sets the unknown key {}", flag.name, quoted(flag.key));
            problems.push(Problem::error(origin.whole(), message).key(flag.key).help("use a key that the configuration file has"));
        }
    }
    settings
}

fn setting(request: &Request<'_>, key: &'static Key, origin: &Origin<'_>, value: OsString, problems: &mut Vec<Problem>) -> Option<Setting> {
    let name = origin.whole().to_string();
    if key.status == Status::Later {
        let judge = if key.is_authority() { not_enforced } else { not_used };
        problems.push(judge(origin.whole(), &[name]).key(key.path));
        return None;
    }
    let mut decoder = Decoder { origin, home: request.home(), check: request.check, problems: Problems::default() };
    let typed = text_of(value).and_then(|text| node_of(key.kind, &text).map(|node| decoder.value(key.path, key.kind, &node)));
    problems.extend(decoder.problems.finish(origin.whole()).into_iter().map(|problem| named(&name, problem)));
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
fn node_of(kind: Kind, text: &str) -> Result<Node<'_>, String> {
    let plain = |value| Ok(Spanned::new(0..text.len(), value));
    match kind {
        Kind::Access | Kind::Choice(_) | Kind::Text | Kind::Profile => plain(DeValue::String(Cow::Borrowed(text))),
        Kind::Size(..) if text.trim().parse::<u64>().is_err() => plain(DeValue::String(Cow::Borrowed(text))),
        Kind::Flag if text == "1" => plain(DeValue::Boolean(true)),
        Kind::Flag if text == "0" => plain(DeValue::Boolean(false)),
        Kind::List(of) if !text.trim_start().starts_with('[') => plain(DeValue::Array(split(of, text))),
        _ => DeValue::parse(text.trim()).map_err(|error| format!("cannot be read: {}", error.message())),
    }
}

/// The entries between the commas; a comma in the parentheses of a rule belongs to the rule.
fn split(of: ListOf, text: &str) -> DeArray<'_> {
    let rules = matches!(of, ListOf::RulesDeny | ListOf::RulesAsk | ListOf::RulesAllow);
    let mut depth = 0_usize;
    let between = |letter: char| {
        match letter {
            '(' if rules => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        letter == ',' && depth == 0
    };
    let mut array = DeArray::new();
    for entry in text.split(between) {
        array.push(Spanned::new(0..0, DeValue::String(Cow::Borrowed(entry.trim()))));
    }
    array
}

/// There is no line to point at, so the message names the variable or the flag.
pub(crate) fn named(name: &str, mut problem: Problem) -> Problem {
    problem.message = format!("{name}: {}", problem.message);
    problem
}

/// More misspelt variables than this are not told one by one.
const MAX_UNKNOWN: usize = 20;

fn unknown(request: &Request<'_>, problems: &mut Vec<Problem>) {
    let known = known();
    let is_known = |name: &str| known.iter().any(|(variable, _)| variable == name) || request.other_variables.contains(&name);
    let strangers = request.environment_names.iter().filter(|name| name.starts_with("HAFT_") && !is_known(name));
    let mut found: Vec<Problem> = strangers.map(|name| misspelt(name, &known)).collect();
    // Errors first, so that none of them is among those that are cut.
    found.sort_by(|a, b| (a.severity, &a.source.name).cmp(&(b.severity, &b.source.name)));
    problems.extend(found.into_iter().take(MAX_UNKNOWN));
}

/// Every variable, and whether it decides what may be done. Those that do stand last, where they win a tie.
fn known() -> Vec<(String, bool)> {
    let keys = KEYS.iter().filter_map(|key| key.variable().map(|variable| (variable, key.is_authority())));
    let mut known: Vec<_> = OTHERS.iter().map(|name| ((*name).to_owned(), false)).chain(keys).collect();
    known.sort_by_key(|(_, authority)| *authority);
    known
}

/// A misspelt limit is an error: whoever wrote it counts on it.
fn misspelt(name: &str, known: &[(String, bool)]) -> Problem {
    let source = Origin::named(Layer::Environment, name).whole();
    let message = format!("unknown variable {}", quoted(name));
    let Some(near) = nearest(name, known.iter().map(|(variable, _)| variable.as_str())) else {
        let help = "remove it; `haft config show` lists the keys, and HAFT_TOOLS_DENY sets tools.deny";
        return Problem::warning(source, message).help(help);
    };
    if known.iter().any(|(variable, authority)| variable == near && *authority) {
        let message = format!("{message}: running without what it may limit would give false safety");
        return Problem::error(source, message).help(format!("did you mean {near}? Correct it, or remove it"));
    }
    Problem::warning(source, message).help(format!("did you mean {near}?"))
}
