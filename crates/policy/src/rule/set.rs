//! All rules together, found by what they speak of.

use std::collections::HashMap;
use std::path::Path;

use haft_contract::{Effect, Exec, ExecHost};
use haft_pattern::NameGlob;

use super::command::{CommandPattern, ExecForm, called};
use super::compile::Compiler;
use super::connection::Connection;
use super::matcher::{EffectForm, Matcher};
use super::path::TouchedPath;
use super::scope::Kinds;
use super::{Rule, RuleFault, RuleKind, matches_tool};
use crate::catalog::Vocabulary;
use crate::{Candidate, ListEntry, RuleLists};

/// The rules of a policy, compiled. The default has none.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    /// The strictest first, so that the first that matches decides.
    rules: Vec<Rule>,
    /// By the folded name of the tool they name as such.
    tools: HashMap<String, Vec<usize>>,
    /// Those that name tools by a pattern.
    tool_globs: Vec<usize>,
    /// By the kind of effect; those on one program are not among them.
    effects: [Vec<usize>; Kinds::COUNT],
    /// By the file name of the program.
    programs: HashMap<String, Vec<usize>>,
}

impl RuleSet {
    /// Compiles rules; what is wrong with any of them is said all at once. `home` is what `~` stands for, free of links.
    pub fn compile(lists: &RuleLists, vocabulary: &Vocabulary, home: Option<&Path>) -> Result<Self, Vec<RuleFault>> {
        let (mut set, mut faults) = (Self::default(), Vec::new());
        for (kind, list) in [(RuleKind::Deny, &lists.deny), (RuleKind::Ask, &lists.ask), (RuleKind::Allow, &lists.allow)] {
            let compiler = Compiler { kind, vocabulary, home };
            for listed in list {
                match compiler.rule(listed) {
                    Ok(rule) => set.push(rule),
                    Err(fault) => faults.push(fault),
                }
            }
        }
        if faults.is_empty() { Ok(set) } else { Err(faults) }
    }

    /// Evaluates one rule.
    pub fn check(kind: RuleKind, text: &str, vocabulary: &Vocabulary, home: Option<&Path>) -> Result<(), RuleFault> {
        Compiler { kind, vocabulary, home }.rule(&ListEntry::new(text)).map(drop)
    }

    /// Adds a rule that is no stricter than those before it.
    pub(super) fn push(&mut self, rule: Rule) {
        let index = self.rules.len();
        match &rule.tool {
            Some(NameGlob::Literal(name)) => self.tools.entry(name.clone()).or_default().push(index),
            Some(NameGlob::Wild(_)) => self.tool_globs.push(index),
            None => {}
        }
        let key = rule.effects.as_ref().and_then(|effects| match &effects.matcher {
            Matcher::Command(pattern) => pattern.key(),
            _ => None,
        });
        match (&rule.effects, key) {
            (Some(_), Some(key)) => self.programs.entry(key).or_default().push(index),
            (Some(effects), None) => effects.kinds.indices().for_each(|kind| self.effects[kind].push(index)),
            (None, _) => {}
        }
        self.rules.push(rule);
    }

    /// Whether there are no rules.
    pub fn is_empty(&self) -> bool {
        self.rules.is_empty()
    }
    /// The rules, the strictest first.
    pub(super) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The strictest rule that names the tool as such: without parentheses, or with `(*)`.
    pub fn on_tool(&self, tool: &Candidate<'_>) -> Option<&Rule> {
        self.named(tool).map(|index| self.hit(index))
    }

    /// The strictest rule that matches this effect of this tool. Rules that name the tool as such count too.
    pub fn on_effect(&self, tool: &Candidate<'_>, effect: &Effect) -> Option<&Rule> {
        if self.is_empty() {
            return None;
        }
        let (tools, effects) = (self.named(tool), self.matching(tool, effect));
        let outer = wrappers(effect).into_iter().filter_map(|wrapper| self.matching(tool, &wrapper));
        let outer = outer.filter(|index| self.rules[*index].kind.restricts()).min();
        tools.into_iter().chain(effects).chain(outer).min().map(|index| self.hit(index))
    }

    /// Every rule of a kind that names the tool as such.
    pub(crate) fn all_on_tool(&self, kind: RuleKind, tool: &Candidate<'_>) -> Vec<&Rule> {
        let named = |rule: &&Rule| rule.kind == kind && rule.tool.as_ref().is_some_and(|name| matches_tool(name, tool, kind));
        self.rules.iter().filter(named).collect()
    }

    /// Every rule of a kind that matches this effect of this tool, found without the index: for when one of them spoke.
    pub(crate) fn all_on_effect(&self, kind: RuleKind, tool: &Candidate<'_>, effect: &Effect) -> Vec<&Rule> {
        let mut found = self.all_on_tool(kind, tool);
        let outer = if kind.restricts() { wrappers(effect) } else { Vec::new() };
        for rule in std::iter::once(effect).chain(&outer).flat_map(|effect| self.all_speaking(kind, tool, effect)) {
            if !found.iter().any(|known| std::ptr::eq(*known, rule)) {
                found.push(rule);
            }
        }
        found
    }

    fn all_speaking(&self, kind: RuleKind, tool: &Candidate<'_>, effect: &Effect) -> Vec<&Rule> {
        let on_effect = with_effect_form(effect, |form| {
            let speaks = |rule: &&Rule| {
                let about = rule.effects.as_ref().is_some_and(|effects| effects.kinds.meets(Kinds::of(effect)));
                rule.kind == kind && about && speaks(rule, tool, form)
            };
            self.rules.iter().filter(speaks).collect::<Vec<_>>()
        });
        on_effect.unwrap_or_default()
    }

    /// The strictest rule that holds programs back and that could speak of one, if it becomes what it can become.
    pub(crate) fn possible_on(&self, exec: &Exec) -> Option<&Rule> {
        let could_be = |rule: &&Rule| match &rule.effects {
            Some(super::RuleEffects { matcher: Matcher::Command(pattern), .. }) => {
                rule.kind.restricts() && !is_hidden(rule, pattern, exec) && pattern.may_hit(exec)
            }
            _ => false,
        };
        self.rules.iter().find(could_be)
    }

    /// Whether a rule allows a connection, and was written for its host by name.
    pub(crate) fn names_destination(&self, tool: &Candidate<'_>, effect: &Effect) -> bool {
        self.all_on_effect(RuleKind::Allow, tool, effect).into_iter().any(Rule::names_destination)
    }

    /// Path patterns that deny reading and that could match anywhere in a tree: the file system leaves them out of a search,
    /// which need not be refused then. Patterns that count from the workspace are not among them.
    pub fn denied_reads(&self) -> Vec<String> {
        let denied = self.rules.iter().filter(|rule| rule.kind == RuleKind::Deny).filter_map(|rule| rule.effects.as_ref());
        let mut patterns: Vec<String> = denied
            .filter(|effects| effects.kinds.meets(Kinds::READ))
            .filter_map(|effects| match &effects.matcher {
                Matcher::Path(pattern) => pattern.for_file_system(),
                _ => None,
            })
            .collect();
        patterns.sort();
        patterns.dedup();
        patterns
    }

    /// Path patterns that deny reading, for the sandbox of commands in this workspace.
    pub(crate) fn hidden_reads(&self, root: &str) -> Vec<String> {
        let denied = self.rules.iter().filter(|rule| rule.kind == RuleKind::Deny).filter_map(|rule| rule.effects.as_ref());
        let paths = denied.filter(|effects| effects.kinds.meets(Kinds::READ)).filter_map(|effects| match &effects.matcher {
            Matcher::Path(pattern) => Some(pattern.for_sandbox(root)),
            _ => None,
        });
        paths.collect()
    }

    /// Path patterns that deny changes or ask about them, for the sandbox of commands in this workspace.
    pub(crate) fn guarded_changes(&self, root: &str) -> Vec<String> {
        let effects = self.rules.iter().filter(|rule| rule.kind.restricts()).filter_map(|rule| rule.effects.as_ref());
        let paths = effects.filter(|effects| effects.kinds.meets(Kinds::CHANGE)).filter_map(|effects| match &effects.matcher {
            Matcher::Path(pattern) => Some(pattern.for_sandbox(root)),
            Matcher::Any => Some("/**".to_owned()),
            _ => None,
        });
        paths.collect()
    }

    fn hit(&self, index: usize) -> &Rule {
        &self.rules[index]
    }

    fn named(&self, tool: &Candidate<'_>) -> Option<usize> {
        let exact = tool.names.iter().filter_map(|name| self.tools.get(name)).flatten();
        let means = |index: &&usize| {
            let rule = &self.rules[**index];
            rule.tool.as_ref().is_some_and(|name| matches_tool(name, tool, rule.kind))
        };
        exact.chain(&self.tool_globs).filter(means).min().copied()
    }

    fn matching(&self, tool: &Candidate<'_>, effect: &Effect) -> Option<usize> {
        let rules = &self.effects[Kinds::of(effect).indices().next()?];
        if rules.is_empty() && !matches!(effect, Effect::Exec(_)) {
            return None;
        }
        with_effect_form(effect, |form| match form {
            EffectForm::Runs(command) => self.running(tool, rules, command),
            form => self.first(tool, rules, form),
        })?
    }

    fn running(&self, tool: &Candidate<'_>, any: &[usize], command: &ExecForm<'_>) -> Option<usize> {
        let (file, called) = command.keys();
        let by_name = |name: &str| self.programs.get(name).map(Vec::as_slice);
        let lists = [Some(any), by_name(file), called.and_then(by_name)];
        lists.into_iter().flatten().filter_map(|rules| self.first(tool, rules, &EffectForm::Runs(command))).min()
    }

    fn first(&self, tool: &Candidate<'_>, rules: &[usize], form: &EffectForm<'_>) -> Option<usize> {
        rules.iter().copied().find(|index| speaks(&self.rules[*index], tool, form))
    }
}

/// The wrappers of a program, as programs: what forbids one holds for what it starts.
fn wrappers(effect: &Effect) -> Vec<Effect> {
    let Effect::Exec(exec) = effect else { return Vec::new() };
    exec.reach.wrappers.iter().filter_map(|words| called(exec, words)).map(Effect::Exec).collect()
}

/// Whether a rule on effects speaks of what a tool does, if it is about that kind of effect.
fn speaks(rule: &Rule, tool: &Candidate<'_>, form: &EffectForm<'_>) -> bool {
    let by = |effects: &super::RuleEffects| effects.by.as_ref().is_none_or(|by| matches_tool(by, tool, rule.kind));
    rule.effects.as_ref().is_some_and(|effects| by(effects) && effects.matcher.matches(form))
}

/// Brings an effect into the form in which rules compare it; nothing if none can.
fn with_effect_form<T>(effect: &Effect, compare: impl FnOnce(&EffectForm<'_>) -> T) -> Option<T> {
    Some(match effect {
        Effect::Exec(exec) => compare(&EffectForm::Runs(&ExecForm::new(exec))),
        Effect::Read(path) => compare(&EffectForm::Touches(&TouchedPath::new(path, false).spellings())),
        Effect::Write(path) | Effect::Delete(path) => compare(&EffectForm::Touches(&TouchedPath::new(path, true).spellings())),
        Effect::Connect(connect) => compare(&EffectForm::Connects(&Connection::new(connect))),
        Effect::Send { channel, to, .. } => compare(&EffectForm::Sends { channel, to }),
        Effect::Spawn { agent: name } | Effect::Configure { key: name } => compare(&EffectForm::Names(name)),
        _ => return None,
    })
}

/// Whether the sandbox hides what a rule denies, so that no spelling runs it.
fn is_hidden(rule: &Rule, pattern: &CommandPattern, exec: &Exec) -> bool {
    rule.kind == RuleKind::Deny && exec.host == ExecHost::Sandbox && pattern.whole_program().is_some()
}

#[cfg(test)]
mod tests;
