//! The shape that every entry of a list has, whatever tools, groups and rules there are.

use crate::{Complaint, ListOf};

/// How a group is written in a list.
pub(crate) const GROUP: &str = "group:";
/// How an effect is written in what a hook runs for.
const EFFECT: &str = "effect:";

/// What a chosen name or a group may be made of, besides letters and digits: plugins choose their own.
const GROUP_SIGNS: &[u8] = b"_-./:@";

/// Judges an entry by its letters alone.
pub(crate) fn shape(of: ListOf, text: &str) -> Result<(), Complaint> {
    match of {
        ListOf::Tools => tool(text),
        ListOf::Matchers => text.strip_prefix(EFFECT).map_or_else(|| tool(text), effect),
        ListOf::Profiles | ListOf::RulesDeny | ListOf::RulesAsk | ListOf::RulesAllow => one_line(text),
        _ => Ok(()),
    }
}

fn tool(text: &str) -> Result<(), Complaint> {
    match text.strip_prefix(GROUP) {
        Some(name) => group_name(name),
        None if made_of(text, b"_-.*") => Ok(()),
        None => complaint("it is neither a tool name nor a pattern", "use letters, digits, '_', '-', '.', and '*' for any run of them"),
    }
}

/// Judges a group's name, without `group:`.
pub(crate) fn group_name(name: &str) -> Result<(), Complaint> {
    if name.is_empty() || name.starts_with(GROUP) || !made_of(name, GROUP_SIGNS) {
        return complaint("it is no name of a group", "use letters, digits, and '_', '-', '.', '/', ':' or '@'");
    }
    Ok(())
}

fn effect(name: &str) -> Result<(), Complaint> {
    if name.is_empty() || !made_of(name, b"_-") {
        return complaint("it is no name of an effect", "write effect:write, effect:exec or the like");
    }
    Ok(())
}

fn one_line(text: &str) -> Result<(), Complaint> {
    if text.contains(char::is_control) {
        return complaint("it holds a control character", "write it on one line, without tabs");
    }
    Ok(())
}

fn made_of(text: &str, signs: &[u8]) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || signs.contains(&byte))
}

fn complaint(message: &str, help: &str) -> Result<(), Complaint> {
    Err(Complaint { message: message.into(), help: Some(help.into()) })
}
