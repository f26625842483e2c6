//! From a rule as it is written to one that can be matched.

use std::path::Path;

use haft_pattern::{NameGlob, PatternChar};

use super::matcher::Matcher;
use super::problem::{RuleFault, RuleProblem};
use super::scope::{self, Grammar, Kinds, Scope};
use super::subject::{self, RuleSubject};
use super::text::{self, RuleText};
use super::{Rule, RuleEffects, RuleKind};
use crate::ListEntry;
use crate::catalog::Vocabulary;
use crate::name::folded;

/// What a rule is about: tools as such, effects, or both.
type RuleParts = (Option<NameGlob>, Option<RuleEffects>);

/// Reads rules of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compiler<'a> {
    pub(super) kind: RuleKind,
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) home: Option<&'a Path>,
}

impl Compiler<'_> {
    /// Reads one rule.
    pub(super) fn rule(&self, listed: &ListEntry) -> Result<Rule, RuleFault> {
        let (tool, effects) = self.parts(&listed.pattern).map_err(|fault| fault.of(self.kind, listed))?;
        Ok(Rule {
            kind: self.kind,
            text: listed.pattern.trim().to_owned(),
            span: listed.span.clone(),
            of_project: listed.of_project,
            tool,
            effects,
        })
    }

    fn parts(&self, text: &str) -> Result<RuleParts, RuleProblem> {
        let RuleText { name, content } = text::read(text)?;
        match (subject::resolve(name, self.vocabulary)?, content) {
            (RuleSubject::Effect(name, scope), None) => self.every_effect(name, scope),
            (RuleSubject::Effect(_, scope), Some(chars)) => self.effects(None, scope, &chars),
            (RuleSubject::Tool(name), None) => self.tool(&folded(&name)),
            (RuleSubject::Tools(pattern), None) => self.tool(&pattern),
            (RuleSubject::Tool(name), Some(chars)) => self.of_tool(&name, &chars),
            (RuleSubject::Tools(pattern), Some(chars)) => {
                let scope = scope::of_tools(&pattern, &chars, self.vocabulary)?;
                self.of(NameGlob::parse_stars(&pattern), scope, &chars)
            }
        }
    }

    /// `exec` is the name of an effect and of a tool, and means both.
    fn every_effect(&self, name: &str, scope: Scope) -> Result<RuleParts, RuleProblem> {
        let runs = scope.grammar == Grammar::Command;
        if runs && self.kind == RuleKind::Allow {
            return Err(everything(name));
        }
        Ok((
            runs.then(|| NameGlob::Literal(name.to_owned())),
            Some(RuleEffects { by: None, kinds: self.kinds(scope), matcher: Matcher::Any }),
        ))
    }

    fn tool(&self, pattern: &str) -> Result<RuleParts, RuleProblem> {
        let tool = NameGlob::parse_stars(pattern);
        if self.kind == RuleKind::Allow && scope::matches_runner(&tool, self.vocabulary) {
            return Err(everything(pattern));
        }
        Ok((Some(tool), None))
    }

    fn of_tool(&self, name: &str, chars: &[PatternChar]) -> Result<RuleParts, RuleProblem> {
        let scope = match scope::of_tool(name, self.vocabulary) {
            Some(scope) => scope,
            None if self.vocabulary.is_core(name) => {
                return Err(RuleProblem::new(
                    format!("'{name}' does nothing that a rule with parentheses could name"),
                    format!("write '{name}'"),
                ));
            }
            None => scope::of_content(chars),
        };
        self.of(NameGlob::Literal(folded(name)), scope, chars)
    }

    /// What restricts a tool restricts everyone who would do the same; what permits it permits nobody else.
    fn of(&self, tool: NameGlob, scope: Scope, chars: &[PatternChar]) -> Result<RuleParts, RuleProblem> {
        match self.kind {
            RuleKind::Allow => self.effects(Some(tool), scope, chars),
            RuleKind::Deny | RuleKind::Ask => self.effects(None, scope, chars),
        }
    }

    fn effects(&self, by: Option<NameGlob>, scope: Scope, chars: &[PatternChar]) -> Result<RuleParts, RuleProblem> {
        let matcher = Matcher::parse(scope.grammar, self.kind, chars, self.home)?;
        Ok((None, Some(RuleEffects { by, kinds: self.kinds(scope), matcher })))
    }

    fn kinds(&self, scope: Scope) -> Kinds {
        if self.kind.restricts() { scope.kinds } else { scope.permitted }
    }
}

fn everything(name: &str) -> RuleProblem {
    let help = "name the program, such as 'exec(cargo test *)', or the sandbox: 'exec(host:container)'";
    RuleProblem::new(format!("'allow' of '{name}' would let any program through"), help)
}
