//! From a rule as it is written to one that can be matched.

use std::path::Path;
use std::sync::Arc;

use haft_pattern::{NameGlob, PatternChar};

use super::exception::{self, Exception};
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
pub(super) struct RuleCompiler<'a> {
    pub(super) kind: RuleKind,
    /// The list that has them.
    pub(super) key: &'a Arc<str>,
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) home: Option<&'a Path>,
}

impl RuleCompiler<'_> {
    /// Reads one rule.
    pub(super) fn rule(&self, listed: &ListEntry) -> Result<Rule, RuleFault> {
        let ((tool, effects), except) = self.whole(&listed.pattern).map_err(|fault| fault.into_fault(self.kind, listed))?;
        Ok(Rule {
            kind: self.kind,
            text: listed.pattern.trim().to_owned(),
            span: listed.span.clone(),
            of_project: listed.of_project,
            key: Arc::clone(self.key),
            tool,
            effects,
            except,
        })
    }

    /// A rule and its exceptions, each of which must speak of something that the rule speaks of.
    fn whole(&self, text: &str) -> Result<(RuleParts, Vec<Exception>), RuleProblem> {
        let (rule, exceptions) = exception::split(text)?;
        let mut parts = self.parts(rule)?;
        if exceptions.is_empty() {
            return Ok((parts, Vec::new()));
        }
        if !self.kind.restricts() {
            let help = "only 'deny' and 'ask' have exceptions: narrow the rule, or deny or ask about the exception";
            return Err(RuleProblem::new(format!("'{}' has no 'except'", self.kind), help));
        }
        let except = exceptions.iter().map(|text| self.exception(text, &parts)).collect::<Result<_, _>>()?;
        if let (_, Some(RuleEffects { matcher: Matcher::Path(pattern), .. })) = &mut parts {
            pattern.search_into();
        }
        Ok((parts, except))
    }

    fn exception(&self, text: &str, (_, ruled): &RuleParts) -> Result<Exception, RuleProblem> {
        let RuleText { name, content } = text::read(text)?;
        let is_effect = matches!(subject::resolve(name, self.vocabulary)?, RuleSubject::Effect(..));
        let (tool, effects) = match content {
            None if is_effect => {
                return Err(RuleProblem::new(format!("'except {text}' leaves nothing"), "remove the rule, or narrow the exception"));
            }
            None => RuleCompiler { kind: RuleKind::Ask, ..*self }.parts(text)?,
            Some(_) => RuleCompiler { kind: RuleKind::Only, ..*self }.parts(text)?,
        };
        let meets = |own: &RuleEffects| ruled.as_ref().is_some_and(|ruled| ruled.kinds.meets(own.kinds));
        if effects.as_ref().is_some_and(|own| !meets(own)) {
            let message = format!("'except {text}' speaks of another effect than the rule");
            return Err(RuleProblem::new(message, "write the same name in both, as in 'exec(npm *) except exec(npm test *)'"));
        }
        Ok(Exception { tool, effects })
    }

    fn parts(&self, text: &str) -> Result<RuleParts, RuleProblem> {
        let RuleText { name, content } = text::read(text)?;
        match (subject::resolve(name, self.vocabulary)?, content) {
            (subject, None) if self.kind == RuleKind::Only => Err(closes_nothing(name, &subject)),
            (RuleSubject::Effect(name, scope), None) => self.every_effect(name, scope),
            (RuleSubject::Effect(_, scope), Some(chars)) => self.effects(None, scope, &chars),
            (RuleSubject::Tool(name), None) => self.tool(&folded(&name)),
            (RuleSubject::Tools(pattern), None) => self.tool(&pattern),
            (RuleSubject::Tool(name), Some(chars)) => self.of_tool(&name, &chars),
            (RuleSubject::Tools(pattern), Some(chars)) => {
                let scope = scope::of_tools(&pattern, &chars, self.vocabulary)?;
                self.compile_tool(NameGlob::parse_stars(&pattern), scope, &chars)
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
        self.compile_tool(NameGlob::Literal(folded(name)), scope, chars)
    }

    /// What restricts a tool restricts everyone who would do the same; what permits it permits nobody else.
    fn compile_tool(&self, tool: NameGlob, scope: Scope, chars: &[PatternChar]) -> Result<RuleParts, RuleProblem> {
        match self.kind {
            RuleKind::Allow | RuleKind::Only => self.effects(Some(tool), scope, chars),
            RuleKind::Deny | RuleKind::Ask => self.effects(None, scope, chars),
        }
    }

    fn effects(&self, by: Option<NameGlob>, scope: Scope, chars: &[PatternChar]) -> Result<RuleParts, RuleProblem> {
        let matcher = Matcher::parse(scope.grammar, self.kind, chars, self.home)?;
        Ok((None, Some(RuleEffects { by, kinds: self.kinds(scope), matcher })))
    }

    fn kinds(&self, scope: Scope) -> Kinds {
        if self.kind == RuleKind::Allow { scope.permitted } else { scope.kinds }
    }
}

/// A name without parentheses in an `only` list, which would leave everything of its kind.
fn closes_nothing(name: &str, subject: &RuleSubject) -> RuleProblem {
    match subject {
        RuleSubject::Effect(..) => RuleProblem::new(
            format!("'only {name}' names every {name}, so it denies nothing"),
            format!("say which: '{name}(…)'; to deny all other effects, lower 'access', or deny them in rules.deny"),
        ),
        RuleSubject::Tool(_) | RuleSubject::Tools(_) => {
            RuleProblem::new(format!("'only' lists effects, and '{name}' is a tool"), "list the only tools in tools.allow")
        }
    }
}

fn everything(name: &str) -> RuleProblem {
    let help = "name the program, such as 'exec(cargo test *)', or the sandbox: 'exec(host:container)'";
    RuleProblem::new(format!("'allow' of '{name}' would let any program through"), help)
}
