//! The widths at which a question can be answered for good: exactly this call, and wider.
//!
//! | effect | widths |
//! |---|---|
//! | programs | these words · the program and its subcommand · the program |
//! | files | the file · its folder · the workspace |
//! | connections | the host and port · the registered domain and everything below it |
//!
//! A width that no `allow` rule may have, such as `bash *`, is not offered.

use std::path::Path;

use haft_contract::{Connect, Effect, Exec, Extent, PathEffect, Plan, Zone, ports::GrantWidth};
use haft_pattern::registered_domain;

use super::canonical::{
    canonical, command_content, connection_content, exact_command_content, format_rule, host_prefix, is_covered, of_tool, path_content,
    tree_content,
};
use super::{RuleKind, RuleSet};
use crate::catalog::Vocabulary;
use crate::{AskSubject, Candidate};

/// What an answer for good can cover of one effect: the name of the width, and the contents of its rules.
type Contents = (&'static str, Vec<String>);

/// Finds the widths of a question, from narrow to wide. None if no rule can answer it.
pub(crate) fn widths(
    tool: &Candidate<'_>,
    plan: &Plan,
    asks: &[AskSubject],
    vocabulary: &Vocabulary,
    home: Option<&Path>,
) -> Vec<GrantWidth> {
    if canonical(tool, plan, asks, vocabulary).is_err() {
        return Vec::new();
    }
    let finder = WidthFinder { tool, vocabulary, home };
    let subjects: Vec<Vec<GrantWidth>> = asks.iter().map(|about| finder.of_subject(plan, *about)).collect();
    if subjects.is_empty() || subjects.iter().any(Vec::is_empty) {
        return Vec::new();
    }
    let most = subjects.iter().map(Vec::len).max().unwrap_or_default();
    let mut all: Vec<GrantWidth> = Vec::new();
    for level in 0..most {
        // What has fewer widths stays at its widest.
        let parts: Vec<&GrantWidth> = subjects.iter().filter_map(|widths| widths.get(level).or(widths.last())).collect();
        let mut rules: Vec<String> = Vec::new();
        for rule in parts.iter().flat_map(|width| &width.rules) {
            if !rules.contains(rule) {
                rules.push(rule.clone());
            }
        }
        let mut names: Vec<&str> = parts.iter().map(|width| width.name.as_str()).collect();
        names.dedup();
        if all.iter().all(|known| known.rules != rules) {
            all.push(GrantWidth::new(names.join(", "), rules));
        }
    }
    all
}

struct WidthFinder<'a> {
    tool: &'a Candidate<'a>,
    vocabulary: &'a Vocabulary,
    home: Option<&'a Path>,
}

impl WidthFinder<'_> {
    fn of_subject(&self, plan: &Plan, about: AskSubject) -> Vec<GrantWidth> {
        match about {
            AskSubject::Effect(index) => plan.effects().get(index).map(|effect| self.of_effect(effect)).unwrap_or_default(),
            AskSubject::Tool => {
                of_tool(self.tool, self.vocabulary).map(|rule| vec![GrantWidth::new("this tool", vec![rule])]).unwrap_or_default()
            }
            AskSubject::EveryTime => Vec::new(),
        }
    }

    fn of_effect(&self, effect: &Effect) -> Vec<GrantWidth> {
        let contents: Vec<Contents> = match effect {
            Effect::Read(path) | Effect::Write(path) | Effect::Delete(path) => path_widths(path),
            Effect::Exec(exec) => command_widths(exec),
            Effect::Connect(connect) => connection_widths(connect),
            _ => {
                let only = canonical(self.tool, &Plan::nothing().with(effect.clone()), &[AskSubject::Effect(0)], self.vocabulary);
                return only.map(|rules| vec![GrantWidth::new("exactly this", rules)]).unwrap_or_default();
            }
        };
        let mut widths: Vec<GrantWidth> = Vec::new();
        for (name, contents) in contents {
            let rules: Option<Vec<String>> = contents.iter().map(|content| self.rule(effect, content)).collect();
            let Some(rules) = rules.filter(|rules| rules.iter().any(|rule| is_covered(self.tool, effect, rule))) else { continue };
            // Of several rules of one width, the first that covers the effect.
            if widths.iter().all(|known| known.rules != rules && known.name != name) {
                widths.push(GrantWidth::new(name, rules));
            }
        }
        widths
    }

    /// The rule with this content, if an `allow` rule may say it.
    fn rule(&self, effect: &Effect, content: &str) -> Option<String> {
        let rule = format_rule(self.tool, effect, content, self.vocabulary).ok()?;
        RuleSet::check(RuleKind::Allow, &rule, self.vocabulary, self.home).is_ok().then_some(rule)
    }
}

fn path_widths(effect: &PathEffect) -> Vec<Contents> {
    let Ok(exact) = path_content(effect) else { return Vec::new() };
    let path = effect.location.path();
    let is_tree = effect.extent == Extent::Tree;
    let mut widths = vec![(if is_tree { "this folder" } else { "this file" }, vec![exact])];
    let root = workspace_root(effect);
    let folder = path.parent().filter(|_| !is_tree).filter(|folder| folder.parent().is_some());
    let below = |folder: &Path| folder.to_str().map(tree_content);
    widths.extend(folder.filter(|folder| root != Some(*folder)).and_then(below).map(|content| ("its folder", vec![content])));
    widths.extend(root.and_then(below).map(|content| ("the workspace", vec![content])));
    widths
}

/// The root that a path in the workspace is shown relative to.
fn workspace_root(effect: &PathEffect) -> Option<&Path> {
    let (path, shown) = (effect.location.path(), Path::new(effect.location.display()));
    let is_relative = effect.location.zone() == Zone::Workspace && shown.is_relative();
    let depth = if effect.location.display() == "." { 0 } else { shown.components().count() };
    path.ancestors().nth(depth).filter(|root| is_relative && root.parent().is_some())
}

fn command_widths(exec: &Exec) -> Vec<Contents> {
    if command_content(exec).is_err() {
        return Vec::new();
    }
    let mut widths = vec![("exactly this", vec![exact_command_content(exec)])];
    if exec.named.contains('/') || !is_plain_word(&exec.named) {
        return widths;
    }
    let program = format!("{}{}", host_prefix(exec), exec.named);
    // Options are covered where they are there; else they stay out.
    let mut open = |name, words: &str| widths.extend([" *", " -* *"].map(|rest| (name, vec![format!("{words}{rest}")])));
    if let Some(subcommand) = exec.arguments.first().filter(|word| is_plain_word(word)) {
        open("this subcommand", &format!("{program} {subcommand}"));
    }
    open("this program", &program);
    widths
}

/// A word that a subcommand or a program is called by, and that has no meaning in a rule.
fn is_plain_word(word: &str) -> bool {
    word.starts_with(|ch: char| ch.is_ascii_alphanumeric()) && word.chars().all(|ch| ch.is_ascii_alphanumeric() || "-_.+".contains(ch))
}

fn connection_widths(connect: &Connect) -> Vec<Contents> {
    let mut widths = vec![("this host", vec![connection_content(connect, &connect.host)])];
    if let Some(domain) = registered_domain(&connect.host) {
        let below = format!("*.{domain}");
        widths.push(("this domain", vec![connection_content(connect, domain), connection_content(connect, &below)]));
    }
    widths
}

#[cfg(test)]
mod tests;
