//! The rule that would have answered a question for good.

use std::sync::Arc;

use haft_contract::{Connect, Effect, Exec, ExecHost, Extent, PathEffect, Plan};
use haft_pattern::NameGlob;
use haft_programs::environment;
use haft_text::display;

use super::command::{is_option, programs};
use super::matcher::Matcher;
use super::scope::{self, Grammar, Kinds};
use super::text::{self, literal};
use super::{Rule, RuleEffects, RuleKind, RuleSet};
use crate::catalog::Vocabulary;
use crate::name::folded;
use crate::{AskSubject, Candidate, SourceSpan};

/// The most rules that the user is shown at once.
pub(crate) const MOST_RULES: usize = 5;

/// The rules that would answer these questions for good, or why there are none. Each, read as an `allow` rule, matches what
/// was asked, and as little else as can be said.
pub fn canonical(tool: &Candidate<'_>, plan: &Plan, asks: &[AskSubject], vocabulary: &Vocabulary) -> Result<Vec<String>, String> {
    let mut rules: Vec<String> = Vec::new();
    for about in asks {
        let rule = match about {
            AskSubject::Effect(index) => of_effect(tool, plan.effects().get(*index).ok_or("the plan has no such effect")?, vocabulary)?,
            AskSubject::Tool => of_tool(tool, vocabulary)?,
            AskSubject::EveryTime => {
                return Err("an ask rule, a setting or tainted data asks, which only the user can answer each time".into());
            }
        };
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    if rules.len() > MOST_RULES {
        return Err(format!("it would take {} rules, and {MOST_RULES} are the most; so only this once", rules.len()));
    }
    Ok(rules)
}

pub(super) fn of_tool(tool: &Candidate<'_>, vocabulary: &Vocabulary) -> Result<String, String> {
    let name = tool.name();
    if !can_be_named(tool, vocabulary) {
        return Err(format!("no rule can name the tool '{}', so only this once", display::escape_line(name)));
    }
    if scope::matches_runner(&NameGlob::Literal(folded(name)), vocabulary) {
        return Err(format!("'{name}' runs any program, so only this once"));
    }
    Ok(name.to_owned())
}

/// Whether a rule that begins with the tool's name speaks of the tool.
fn can_be_named(tool: &Candidate<'_>, vocabulary: &Vocabulary) -> bool {
    let name = tool.name();
    let is_effect = scope::effects().any(|(effect, _)| effect == folded(name));
    (!is_effect || name == "exec")
        && vocabulary.canonical(name).is_none_or(|canonical| canonical == name)
        && !name.contains(['*', '(', ')'])
        && text::read(name).is_ok_and(|written| written.name == name)
}

fn of_effect(tool: &Candidate<'_>, effect: &Effect, vocabulary: &Vocabulary) -> Result<String, String> {
    let content = match effect {
        Effect::Read(path) | Effect::Write(path) | Effect::Delete(path) => path_content(path)?,
        Effect::Exec(exec) => command_content(exec)?,
        Effect::Connect(connect) => connection_content(connect, &connect.host),
        Effect::Send { channel, to, .. } => format!("channel:{} to:{}", word(channel), word(to)),
        Effect::Spawn { agent: name } | Effect::Configure { key: name } => blanks_kept(&literal(name, ":")),
        Effect::Node { .. } => blanks_kept(&literal(&effect.target(), "")),
        _ => return of_tool(tool, vocabulary),
    };
    let rule = format_rule(tool, effect, &content, vocabulary)?;
    if is_covered(tool, effect, &rule) { Ok(rule) } else { Err("no rule can say exactly this, so only this once".into()) }
}

/// The rule on the tool where that says exactly this kind of effect, else on the effect, which other tools of Haft have as
/// well. What a plugin's tool was allowed is not lent to any other.
pub(super) fn format_rule(tool: &Candidate<'_>, effect: &Effect, content: &str, vocabulary: &Vocabulary) -> Result<String, String> {
    let name = tool.name();
    if !vocabulary.is_core(name) {
        return named_foreign(tool, effect, content, vocabulary);
    }
    let subject = if scope::is_exactly(name, effect, vocabulary) { name } else { effect.kind() };
    Ok(format!("{subject}({content})"))
}

fn named_foreign(tool: &Candidate<'_>, effect: &Effect, content: &str, vocabulary: &Vocabulary) -> Result<String, String> {
    let name = tool.name();
    match effect {
        _ if !can_be_named(tool, vocabulary) => {
            Err(format!("no rule can name the tool '{}', so only this once", display::escape_line(name)))
        }
        // Only the host tells a command from a path there.
        Effect::Exec(exec) if exec.host == ExecHost::Host => Ok(format!("{name}(host:host {content})")),
        Effect::Connect(_) | Effect::Exec(_) => Ok(format!("{name}({content})")),
        Effect::Read(_) => Err(format!("a rule for '{name}' would also allow it to write there, so only this once")),
        Effect::Write(_) => Err(format!("a rule for '{name}' would also allow it to read there, so only this once")),
        _ => Err(format!("no rule can speak of this for '{name}' alone, so only this once")),
    }
}

/// Whether a rule, read again, matches the effect.
pub(super) fn is_covered(tool: &Candidate<'_>, effect: &Effect, rule: &str) -> bool {
    let Ok(text::RuleText { content: Some(chars), .. }) = text::read(rule) else { return false };
    let grammar = match effect {
        Effect::Read(_) | Effect::Write(_) | Effect::Delete(_) => Grammar::Path,
        Effect::Exec(_) => Grammar::Command,
        Effect::Connect(_) => Grammar::Connection,
        Effect::Send { .. } => Grammar::Message,
        Effect::Spawn { .. } => Grammar::Agent,
        Effect::Node { .. } => Grammar::Node,
        _ => Grammar::Key,
    };
    let Ok(matcher) = Matcher::parse(grammar, RuleKind::Allow, &chars, None) else { return false };
    let effects = Some(RuleEffects { by: None, kinds: Kinds::from_effect(effect), matcher });
    let mut set = RuleSet::default();
    set.push(Rule {
        kind: RuleKind::Allow,
        text: String::new(),
        span: SourceSpan::default(),
        of_project: false,
        key: Arc::default(),
        tool: None,
        effects,
        except: Vec::new(),
    });
    set.on_effect(tool, effect).is_some()
}

pub(super) fn path_content(effect: &PathEffect) -> Result<String, String> {
    let Some(path) = effect.location.path().to_str() else {
        return Err("This path is not valid UTF-8, so it cannot be saved as a rule.".into());
    };
    // From the top: the rule is kept where it holds for every workspace.
    Ok(match effect.extent {
        Extent::File => blanks_kept(&literal(path, "?[]{}")),
        Extent::Tree => tree_content(path),
    })
}

/// Everything below a folder.
pub(super) fn tree_content(folder: &str) -> String {
    format!("{}/**", literal(folder, "?[]{}").trim_end_matches('/'))
}

/// A blank at either end would be taken away.
fn blanks_kept(text: &str) -> String {
    let start = text.strip_prefix(' ').map_or_else(|| text.to_owned(), |rest| format!("\\ {rest}"));
    start.strip_suffix(' ').filter(|rest| !rest.ends_with('\\')).map_or_else(|| start.clone(), |rest| format!("{rest}\\ "))
}

pub(super) fn command_content(exec: &Exec) -> Result<String, String> {
    let path = exec.program.to_string_lossy();
    if let Some(runner) = [exec.named.as_str(), &path].into_iter().find(|name| programs::runs_others(name)) {
        return Err(format!("'{}' runs other programs, so only this once", display::escape_line(runner)));
    }
    if let Some(variable) = exec.environment.iter().find(|name| !environment::is_harmless(name)) {
        return Err(format!("it sets '{}', which can change what a program does, so only this once", display::escape_line(variable)));
    }
    let is_bare = !exec.named.contains('/');
    if let Some(command) = exec.arguments.first().filter(|command| is_bare && is_narrowed(exec, command)) {
        return Ok(format!("{}{} {command} *", host_prefix(exec), exec.named));
    }
    Ok(exact_command_content(exec))
}

/// The words of a command, each meaning itself.
pub(super) fn exact_command_content(exec: &Exec) -> String {
    let path = exec.program.to_string_lossy();
    let program = if exec.named.contains('/') { &*path } else { &exec.named };
    let words = std::iter::once(program_word(program)).chain(exec.arguments.iter().map(|argument| word(argument)));
    host_prefix(exec) + &words.collect::<Vec<_>>().join(" ")
}

/// Where a command runs, in front of its words.
pub(super) fn host_prefix(exec: &Exec) -> String {
    if exec.host == ExecHost::Host { String::new() } else { format!("host:{} ", exec.host.as_str()) }
}

/// Whether `*` in place of what stands behind a command covers nothing worse.
fn is_narrowed(exec: &Exec, command: &str) -> bool {
    programs::is_narrowed(&exec.named, command)
        && !exec.arguments.iter().any(|argument| is_option(argument))
        && programs::gadgets(&exec.named, &exec.arguments).next().is_none()
}

fn program_word(program: &str) -> String {
    if program.contains(['=', ':']) { format!("\"{}\"", literal(program, "\"':")) } else { word(program) }
}

/// A word that means itself.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=@%+,".contains(c);
    if !text.is_empty() && text.chars().all(plain) { text.to_owned() } else { format!("\"{}\"", literal(text, "\"'")) }
}

/// A connection like this one, to a host or to what a pattern on hosts matches.
pub(super) fn connection_content(connect: &Connect, host: &str) -> String {
    let method = if connect.only_reads() { String::new() } else { format!(" method:{}", connect.method) };
    let host = host.trim_end_matches('.');
    // Without its brackets, the end of an address would be taken for the port.
    let host = if host.contains(':') && !host.starts_with('[') { format!("[{host}]") } else { host.to_owned() };
    format!("domain:{host}:{}{method}", connect.port)
}

#[cfg(test)]
mod tests;
