//! From a rule as it is written to one that can be matched.

use std::path::Path;

use super::fault::{Fault, RuleFault};
use super::matcher::Matcher;
use super::scope::{self, Grammar, Kinds, Scope};
use super::subject::{self, Subject};
use super::text::{self, Letter, Written};
use super::{Effects, Rule, RuleKind, ToolName};
use crate::Listed;
use crate::catalog::Vocabulary;
use crate::name::folded;

/// What a rule is about: tools as such, effects, or both.
type Parts = (Option<ToolName>, Option<Effects>);

/// Reads rules of one kind.
#[derive(Debug, Clone, Copy)]
pub(super) struct Compiler<'a> {
    pub(super) kind: RuleKind,
    pub(super) vocabulary: &'a Vocabulary,
    pub(super) home: Option<&'a Path>,
}

impl Compiler<'_> {
    /// Reads one rule.
    pub(super) fn rule(&self, listed: &Listed) -> Result<Rule, RuleFault> {
        let (tool, effects) = self.parts(&listed.pattern).map_err(|fault| fault.of(self.kind, listed))?;
        Ok(Rule {
            kind: self.kind,
            text: listed.pattern.trim().to_owned(),
            place: listed.place.clone(),
            of_project: listed.of_project,
            tool,
            effects,
        })
    }

    fn parts(&self, text: &str) -> Result<Parts, Fault> {
        let Written { name, content } = text::read(text)?;
        match (subject::resolve(name, self.vocabulary)?, content) {
            (Subject::Effect(name, scope), None) => self.every_effect(name, scope),
            (Subject::Effect(_, scope), Some(letters)) => self.effects(None, scope, &letters),
            (Subject::Tool(name), None) => self.tool(ToolName::Exact(folded(&name))),
            (Subject::Tools(pattern), None) => self.tool(ToolName::Glob(pattern)),
            (Subject::Tool(name), Some(letters)) => self.of_tool(&name, &letters),
            (Subject::Tools(pattern), Some(letters)) => {
                let scope = scope::of_tools(&pattern, &letters)?;
                self.of(ToolName::Glob(pattern), scope, &letters)
            }
        }
    }

    /// `exec` is the name of an effect and of a tool, and means both.
    fn every_effect(&self, name: &str, scope: Scope) -> Result<Parts, Fault> {
        let runs = scope.grammar == Grammar::Command;
        if runs && self.kind == RuleKind::Allow {
            return Err(everything(name));
        }
        Ok((runs.then(|| ToolName::Exact(name.to_owned())), Some(Effects { by: None, kinds: self.kinds(scope), matcher: Matcher::Any })))
    }

    fn tool(&self, tool: ToolName) -> Result<Parts, Fault> {
        let (ToolName::Exact(name) | ToolName::Glob(name)) = &tool;
        if self.kind == RuleKind::Allow && scope::holds_a_runner(name) {
            return Err(everything(name));
        }
        Ok((Some(tool), None))
    }

    fn of_tool(&self, name: &str, letters: &[Letter]) -> Result<Parts, Fault> {
        let scope = match scope::of_tool(name) {
            Some(scope) => scope,
            None if scope::is_of_catalog(name) => {
                return Err(Fault::new(
                    format!("'{name}' does nothing that a rule with parentheses could name"),
                    format!("write '{name}'"),
                ));
            }
            None => scope::of_content(letters),
        };
        self.of(ToolName::Exact(folded(name)), scope, letters)
    }

    /// What restricts a tool restricts everyone who would do the same; what permits it permits nobody else.
    fn of(&self, tool: ToolName, scope: Scope, letters: &[Letter]) -> Result<Parts, Fault> {
        match self.kind {
            RuleKind::Allow => self.effects(Some(tool), scope, letters),
            RuleKind::Deny | RuleKind::Ask => self.effects(None, scope, letters),
        }
    }

    fn effects(&self, by: Option<ToolName>, scope: Scope, letters: &[Letter]) -> Result<Parts, Fault> {
        let matcher = Matcher::parse(scope.grammar, self.kind, letters, self.home)?;
        Ok((None, Some(Effects { by, kinds: self.kinds(scope), matcher })))
    }

    fn kinds(&self, scope: Scope) -> Kinds {
        if self.kind.restricts() { scope.kinds } else { scope.permitted }
    }
}

fn everything(name: &str) -> Fault {
    let help = "name the program, such as 'exec(cargo test *)', or the walls: 'exec(host:container)'";
    Fault::new(format!("'allow' of '{name}' would let any program through"), help)
}
