//! What the name of a rule stands for: an effect, a tool, or several.

use super::problem::RuleProblem;
use super::scope::{Scope, effects};
use crate::catalog::Vocabulary;
use crate::name::folded;

/// What a name stands for.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RuleSubject {
    /// An effect, whichever tool has it.
    Effect(&'static str, Scope),
    /// A tool, by its canonical name.
    Tool(String),
    /// Tools, by a pattern in the folded spelling.
    Tools(String),
}

/// Finds out what a name stands for. Effects come before the aliases of tools.
pub(super) fn resolve(name: &str, vocabulary: &Vocabulary) -> Result<RuleSubject, RuleProblem> {
    let wanted = folded(name);
    if let Some((name, scope)) = effects().find(|(effect, _)| *effect == wanted) {
        return Ok(RuleSubject::Effect(name, scope));
    }
    if wanted.contains('*') {
        return tools(wanted, name, vocabulary);
    }
    match vocabulary.canonical(name) {
        Some(canonical) => Ok(RuleSubject::Tool(canonical.to_owned())),
        None if server(&wanted).is_some_and(|server| vocabulary.has_source(server)) => Ok(RuleSubject::Tool(wanted)),
        None => Err(unknown(name, &wanted, vocabulary)),
    }
}

/// The name between `mcp__` and `__`.
fn server(name: &str) -> Option<&str> {
    let rest = name.strip_prefix("mcp__")?;
    Some(rest.split_once("__").map_or(rest, |(server, _)| server))
}

/// A server that is not connected yet has no tools to match.
fn tools(pattern: String, name: &str, vocabulary: &Vocabulary) -> Result<RuleSubject, RuleProblem> {
    let of_server = server(&pattern).is_some_and(|server| server.contains('*') || vocabulary.has_source(server));
    let of_plugin = vocabulary.has_source(pattern.split('*').next().unwrap_or_default().trim_end_matches('_'));
    if of_server || of_plugin || vocabulary.matches_any(&pattern) {
        return Ok(RuleSubject::Tools(pattern));
    }
    Err(match server(&pattern) {
        Some(server) => no_server(server),
        None => {
            RuleProblem::new(format!("'{name}' matches no tool"), "`haft tools` lists the tools; correct the pattern, or remove the rule")
        }
    })
}

fn no_server(server: &str) -> RuleProblem {
    RuleProblem::new(format!("there is no MCP server '{server}'"), "configure the server, correct its name, or remove the rule")
}

fn unknown(name: &str, wanted: &str, vocabulary: &Vocabulary) -> RuleProblem {
    if let Some(server) = server(wanted) {
        return no_server(server);
    }
    if wanted.starts_with("group:") {
        return RuleProblem::new(
            format!("a rule cannot name a group, as '{name}' does"),
            "name an effect or a tool; groups belong in [tools]",
        );
    }
    let near = vocabulary.nearest(name);
    let help = if near.is_empty() {
        format!("`haft tools` lists the tools; the effects are {}", effects().map(|(name, _)| name).collect::<Vec<_>>().join(", "))
    } else {
        format!("did you mean {}?", near.iter().map(|name| format!("'{name}'")).collect::<Vec<_>>().join(" or "))
    };
    RuleProblem::new(format!("there is no tool or effect '{name}'"), help)
}
