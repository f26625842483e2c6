//! All rules together, found by what they speak of.

use std::path::Path;
use std::sync::Arc;

use haft_contract::{Effect, Exec, ExecHost, ToolSource};
use haft_pattern::NameGlob;

use super::command::{CommandPattern, ExecForm, called, is_plain, starts_other_than};
use super::compile::RuleCompiler;
use super::connection::Connection;
use super::index::RuleIndex;
use super::matcher::{EffectForm, Matcher};
use super::path::TouchedPath;
use super::scope::Kinds;
use super::{Rule, RuleEffects, RuleFault, RuleKind, matches_tool, only};
use crate::catalog::Vocabulary;
use crate::name_map::NameMap;
use crate::{Candidate, ListEntry, RuleLists};

/// The rules of a policy, compiled. The default has none.
#[derive(Debug, Clone, Default)]
pub struct RuleSet {
    /// The strictest first, so that the first that matches decides.
    rules: Vec<Rule>,
    /// By the folded name of the tool they name as such.
    tools: NameMap<Vec<usize>>,
    /// Those that name tools by a pattern.
    tool_globs: Vec<usize>,
    /// Those on effects.
    effects: RuleIndex,
}

impl RuleSet {
    /// Compiles rules; what is wrong with any of them is said all at once. `home` is what `~` stands for, free of links.
    pub fn compile(lists: &RuleLists, vocabulary: &Vocabulary, home: Option<&Path>) -> Result<Self, Vec<RuleFault>> {
        Self::compile_table("rules", lists, vocabulary, home)
    }

    /// Compiles the rules of a table: `rules`, or `agents.docs.rules`.
    pub(crate) fn compile_table(
        table: &str,
        lists: &RuleLists,
        vocabulary: &Vocabulary,
        home: Option<&Path>,
    ) -> Result<Self, Vec<RuleFault>> {
        let (mut rules, mut faults) = (Vec::new(), Vec::new());
        for (kind, list) in [(RuleKind::Deny, &lists.deny), (RuleKind::Ask, &lists.ask), (RuleKind::Allow, &lists.allow)] {
            let compiler = RuleCompiler { kind, key: &key(table, kind), vocabulary, home };
            for listed in list {
                match compiler.rule(listed) {
                    Ok(rule) => rules.push(rule),
                    Err(fault) => faults.push(fault),
                }
            }
        }
        for list in &lists.only {
            match only::compile(list, &key(table, RuleKind::Only), vocabulary, home) {
                Ok(denials) => rules.extend(denials),
                Err(wrong) => faults.extend(wrong),
            }
        }
        if faults.is_empty() { Ok(Self::from_rules(rules)) } else { Err(faults) }
    }

    /// The rules of both, of which the other's may be those that restrict alone.
    pub(crate) fn joined(&self, other: &Self, restricting: bool) -> Self {
        let others = other.rules.iter().filter(|rule| !restricting || rule.kind.restricts());
        Self::from_rules(self.rules.iter().chain(others).cloned().collect())
    }

    pub(super) fn from_rules(mut rules: Vec<Rule>) -> Self {
        rules.sort_by_key(Rule::kind);
        let mut set = Self::default();
        for rule in rules {
            set.push(rule);
        }
        set
    }

    /// Evaluates one rule.
    pub fn check(kind: RuleKind, text: &str, vocabulary: &Vocabulary, home: Option<&Path>) -> Result<(), RuleFault> {
        RuleCompiler { kind, key: &key("rules", kind), vocabulary, home }.rule(&ListEntry::new(text)).map(drop)
    }

    /// Adds a rule that is no stricter than those before it.
    pub(super) fn push(&mut self, rule: Rule) {
        let index = self.rules.len();
        match &rule.tool {
            Some(NameGlob::Literal(name)) => self.tools.entry(name.clone()).or_default().push(index),
            Some(NameGlob::Wild(_)) => self.tool_globs.push(index),
            None => {}
        }
        if let Some(effects) = &rule.effects {
            self.effects.add(effects, index);
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
        self.find_tool_rule(tool).map(|index| self.hit(index))
    }

    /// The strictest rule that matches this effect of this tool. Rules that name the tool as such count too.
    pub fn on_effect(&self, tool: &Candidate<'_>, effect: &Effect) -> Option<&Rule> {
        if self.is_empty() {
            return None;
        }
        let (tools, effects) = (self.find_tool_rule(tool), self.matching(tool, effect));
        let outer = wrappers(effect).into_iter().filter_map(|wrapper| self.matching(tool, &wrapper));
        let outer = outer.filter(|index| self.rules[*index].kind.restricts()).min();
        tools.into_iter().chain(effects).chain(outer).min().map(|index| self.hit(index))
    }

    /// Every rule of a kind that names the tool as such.
    pub(crate) fn all_on_tool(&self, kind: RuleKind, tool: &Candidate<'_>) -> Vec<&Rule> {
        let is_one = |index: &usize| self.rules[*index].kind == kind;
        self.in_order(self.tool_rules(tool).filter(is_one).collect())
    }

    /// Every rule of a kind that matches this effect of this tool: for when one of them spoke.
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
        let kinds = Kinds::from_effect(effect);
        if self.effects.is_silent(kinds) {
            return Vec::new();
        }
        let on_effect = with_effect_form(effect, |form| {
            let mut found = Vec::new();
            let is_one = |rule: &Rule| rule.kind == kind && is_about(rule, kinds) && speaks(rule, tool, kinds, form);
            self.effects.each(kinds, form, |rules| found.extend(rules.iter().copied().filter(|index| is_one(&self.rules[*index]))));
            self.in_order(found)
        });
        on_effect.unwrap_or_default()
    }

    /// The rules at these positions, each once, the strictest first.
    fn in_order(&self, mut found: Vec<usize>) -> Vec<&Rule> {
        found.sort_unstable();
        found.dedup();
        found.into_iter().map(|index| self.hit(index)).collect()
    }

    /// The strictest rule that holds programs back and that could speak of one, if it becomes what it can become.
    pub(crate) fn possible_on(&self, exec: &Exec) -> Option<&Rule> {
        let could_be = |rule: &&Rule| {
            let is_excepted = |program: &Exec| rule.except.iter().any(|exception| exception.covers_program(program));
            match &rule.effects {
                Some(RuleEffects { matcher: Matcher::Command(pattern), .. }) => {
                    rule.kind.restricts() && !is_hidden(rule, pattern, exec) && pattern.may_hit(exec, &is_excepted)
                }
                // What the command itself is was matched already.
                Some(RuleEffects { matcher: Matcher::Any, kinds, .. }) if !rule.except.is_empty() => {
                    kinds.meets(Kinds::of_programs()) && starts_other_than(exec, &is_excepted)
                }
                _ => false,
            }
        };
        if is_plain(exec) {
            // It starts nothing else, so only rules on its own names can speak of it.
            let found = self.first(Kinds::EXEC, &EffectForm::Runs(&ExecForm::new(exec)), |rule| could_be(&rule));
            return found.map(|index| self.hit(index));
        }
        self.rules.iter().find(could_be)
    }

    /// Whether a rule allows a connection, and was written for its host by name. What a tool of the embedding program does without
    /// saying so is known to that program alone: there, a rule that was written for the tool by name is one for its destinations.
    pub(crate) fn names_destination(&self, tool: &Candidate<'_>, effect: &Effect) -> bool {
        let mut allowing = self.all_on_effect(RuleKind::Allow, tool, effect).into_iter();
        match (effect, tool.source) {
            (Effect::Unknown { .. }, ToolSource::Plugin(_)) => allowing.any(Rule::names_one_tool),
            _ => allowing.any(Rule::names_destination),
        }
    }

    /// Path patterns that deny reading: the file system of this workspace leaves them out of a search, which need not be refused
    /// then.
    pub(crate) fn denied_reads(&self, root: &str) -> Vec<String> {
        let denied = self.rules.iter().filter(|rule| rule.kind == RuleKind::Deny && rule.except.is_empty());
        let denied = denied.filter_map(|rule| rule.effects.as_ref());
        let mut patterns: Vec<String> = denied
            .filter(|effects| effects.kinds.meets(Kinds::READ))
            .filter_map(|effects| match &effects.matcher {
                Matcher::Path(pattern) => pattern.for_file_system(root),
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

    fn hit(&self, index: usize) -> &Rule {
        &self.rules[index]
    }

    fn find_tool_rule(&self, tool: &Candidate<'_>) -> Option<usize> {
        self.tool_rules(tool).min()
    }

    /// The rules that name the tool as such, in no order.
    fn tool_rules(&self, tool: &Candidate<'_>) -> impl Iterator<Item = usize> {
        let exact = tool.names.iter().filter_map(|name| self.tools.get(name)).flatten();
        exact.chain(&self.tool_globs).copied().filter(|index| names_tool(&self.rules[*index], tool))
    }

    fn matching(&self, tool: &Candidate<'_>, effect: &Effect) -> Option<usize> {
        let kinds = Kinds::from_effect(effect);
        if self.effects.is_silent(kinds) {
            return None;
        }
        with_effect_form(effect, |form| self.first(kinds, form, |rule| speaks(rule, tool, kinds, form)))?
    }

    /// The strictest rule on these kinds of which the test is true.
    fn first(&self, kinds: Kinds, form: &EffectForm<'_>, test: impl Fn(&Rule) -> bool) -> Option<usize> {
        let mut found = None;
        self.effects.each(kinds, form, |rules| {
            let end = found.unwrap_or(usize::MAX);
            let mut stricter = rules.iter().copied().take_while(|index| *index < end);
            found = stricter.find(|index| is_about(&self.rules[*index], kinds) && test(&self.rules[*index])).or(found);
        });
        found
    }
}

/// Whether a rule is about effects of one of these kinds.
fn is_about(rule: &Rule, kinds: Kinds) -> bool {
    rule.effects.as_ref().is_some_and(|effects| effects.kinds.meets(kinds))
}

/// The wrappers of a program, as programs: what forbids one holds for what it starts.
fn wrappers(effect: &Effect) -> Vec<Effect> {
    let Effect::Exec(exec) = effect else { return Vec::new() };
    exec.reach.wrappers.iter().filter_map(|words| called(exec, words)).map(Effect::Exec).collect()
}

/// `rules.deny`.
fn key(table: &str, kind: RuleKind) -> Arc<str> {
    format!("{table}.{kind}").into()
}

/// Whether a rule names the tool as such.
fn names_tool(rule: &Rule, tool: &Candidate<'_>) -> bool {
    let is_named = rule.tool.as_ref().is_some_and(|name| matches_tool(name, tool, rule.kind));
    is_named && !rule.except.iter().any(|exception| exception.names_tool(tool))
}

/// Whether a rule on effects speaks of what a tool does, if it is about that kind of effect.
fn speaks(rule: &Rule, tool: &Candidate<'_>, kinds: Kinds, form: &EffectForm<'_>) -> bool {
    let by = |effects: &RuleEffects| effects.by.as_ref().is_none_or(|by| matches_tool(by, tool, rule.kind));
    rule.effects.as_ref().is_some_and(|effects| by(effects) && effects.matcher.matches(form))
        && !rule.except.iter().any(|exception| exception.covers(tool, kinds, form))
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
        Effect::Node { .. } => compare(&EffectForm::Names(&effect.target())),
        _ => return None,
    })
}

/// Whether the sandbox hides what a rule denies, so that no spelling runs it.
fn is_hidden(rule: &Rule, pattern: &CommandPattern, exec: &Exec) -> bool {
    rule.kind == RuleKind::Deny && rule.except.is_empty() && exec.host == ExecHost::Sandbox && pattern.whole_program().is_some()
}

#[cfg(test)]
mod tests;
