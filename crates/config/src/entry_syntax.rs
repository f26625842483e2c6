//! The syntax of list entries, whatever tools, groups and rules exist.

use crate::{EntryFault, ListKind};

/// The prefix of a group in a list.
pub(crate) const GROUP: &str = "group:";
/// The prefix of an effect in the matchers of a hook.
const EFFECT: &str = "effect:";

/// The characters of a group's name besides ASCII letters and digits: plugins choose their own.
const GROUP_SIGNS: &[u8] = b"_-./:@";

/// Checks the syntax of an entry.
pub(crate) fn check_syntax(of: ListKind, text: &str) -> Result<(), EntryFault> {
    match of {
        ListKind::Tools => tool(text),
        ListKind::Matchers => text.strip_prefix(EFFECT).map_or_else(|| tool(text), effect),
        ListKind::Profiles | ListKind::RulesDeny | ListKind::RulesOnly | ListKind::RulesAsk | ListKind::RulesAllow => one_line(text),
        _ => Ok(()),
    }
}

fn tool(text: &str) -> Result<(), EntryFault> {
    match text.strip_prefix(GROUP) {
        Some(name) => group_name(name),
        None if made_of(text, b"_-.*") => Ok(()),
        None => {
            complaint("it is neither a tool name nor a pattern", "use ASCII letters, digits, '_', '-', '.', and '*' for any run of them")
        }
    }
}

/// Checks the name of a group, without `group:`.
pub(crate) fn group_name(name: &str) -> Result<(), EntryFault> {
    if name.is_empty() || name.starts_with(GROUP) || !made_of(name, GROUP_SIGNS) {
        return complaint("it is no name of a group", "use ASCII letters, digits, and '_', '-', '.', '/', ':' or '@'");
    }
    Ok(())
}

fn effect(name: &str) -> Result<(), EntryFault> {
    if name.is_empty() || !made_of(name, b"_-") {
        return complaint("it is no name of an effect", "write effect:write, effect:exec or the like");
    }
    Ok(())
}

fn one_line(text: &str) -> Result<(), EntryFault> {
    if text.contains(char::is_control) {
        return complaint("it holds a control character", "write it on one line, without tabs");
    }
    Ok(())
}

fn made_of(text: &str, signs: &[u8]) -> bool {
    text.bytes().all(|byte| byte.is_ascii_alphanumeric() || signs.contains(&byte))
}

fn complaint(message: &str, help: &str) -> Result<(), EntryFault> {
    Err(EntryFault { message: message.into(), help: Some(help.into()) })
}
