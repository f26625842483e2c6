//! What the user allowed for the rest of a session.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use haft_contract::Effect;

use super::compile::RuleCompiler;
use super::problem::RuleProblem;
use super::{Rule, RuleFault, RuleKind, RuleSet};
use crate::catalog::Vocabulary;
use crate::{Candidate, ListEntry};

/// The most rules of a session; nobody answers more questions.
const MOST: usize = 1000;

/// What the user allowed for the rest of a session. Clones see the same rules.
#[derive(Debug, Clone, Default)]
pub struct SessionGrants {
    shared: Arc<GrantState>,
}

#[derive(Debug, Default)]
struct GrantState {
    /// So that nobody waits for the rules while there are none.
    any: AtomicBool,
    rules: RwLock<RuleSet>,
}

impl SessionGrants {
    /// Adds rules, or none of them if one is wrong.
    pub fn add(&self, rules: &[String], vocabulary: &Vocabulary, home: Option<&Path>) -> Result<(), RuleFault> {
        let compiler = RuleCompiler { kind: RuleKind::Allow, key: &"rules.allow".into(), vocabulary, home };
        let rules = rules.iter().map(|text| compiler.rule(&ListEntry::new(text))).collect::<Result<Vec<Rule>, _>>()?;
        let mut set = self.shared.rules.write().unwrap_or_else(PoisonError::into_inner);
        let mut new: Vec<Rule> = rules.into_iter().filter(|rule| set.rules().iter().all(|known| known.text() != rule.text())).collect();
        new.dedup_by(|a, b| a.text == b.text);
        if let Some(rule) = new.first().filter(|_| set.rules().len() + new.len() > MOST) {
            let fault = RuleProblem::new(
                format!("the session has {} rules, and {MOST} are the most", set.rules().len()),
                "put a wider one into [rules]",
            );
            return Err(fault.into_fault(RuleKind::Allow, &ListEntry::new(rule.text())));
        }
        for rule in new {
            set.push(rule);
            self.shared.any.store(true, Ordering::Release);
        }
        Ok(())
    }

    /// The rule that allows the tool as such.
    pub fn allows_tool(&self, tool: &Candidate<'_>) -> Option<String> {
        self.find(|rules| rules.on_tool(tool).map(text))
    }
    /// The rule that allows this effect of the tool.
    pub fn allows_effect(&self, tool: &Candidate<'_>, effect: &Effect) -> Option<String> {
        self.find(|rules| rules.on_effect(tool, effect).map(text))
    }
    /// Whether one of them allows this effect, and was written for its host by name.
    pub(crate) fn names_destination(&self, tool: &Candidate<'_>, effect: &Effect) -> bool {
        let named = |rules: &RuleSet| rules.names_destination(tool, effect).then_some(());
        self.find(named).is_some()
    }
    /// All of them, as they are written.
    pub fn texts(&self) -> Vec<String> {
        self.find(|rules| Some(rules.rules().iter().map(|rule| rule.text().to_owned()).collect())).unwrap_or_default()
    }

    fn find<T>(&self, look: impl FnOnce(&RuleSet) -> Option<T>) -> Option<T> {
        if !self.shared.any.load(Ordering::Acquire) {
            return None;
        }
        look(&self.shared.rules.read().unwrap_or_else(PoisonError::into_inner))
    }
}

fn text(rule: &Rule) -> String {
    rule.text().to_owned()
}

#[cfg(test)]
mod tests {
    use haft_contract::Effect;

    use super::super::testing::{Fixture, HOME, exec};
    use super::*;

    #[test]
    fn what_was_allowed_holds_for_every_clone_and_nothing_else() {
        let (grants, tool) = (SessionGrants::default(), Fixture::core("exec"));
        let effect = |line: &str| Effect::Exec(exec(line));
        let clone = grants.clone();
        assert_eq!((clone.allows_effect(&tool.candidate(), &effect("git status")), clone.texts()), (None, vec![]));
        let rules = ["exec(git status)".to_owned(), "exec(git status)".to_owned(), "noop".to_owned()];
        grants.add(&rules, &Vocabulary::of_core(haft_builtin::metas()), Some(Path::new(HOME))).unwrap();
        grants.add(&rules[..1], &Vocabulary::of_core(haft_builtin::metas()), None).unwrap();
        assert_eq!(clone.allows_effect(&tool.candidate(), &effect("git status")).as_deref(), Some("exec(git status)"));
        assert_eq!(clone.allows_effect(&tool.candidate(), &effect("git push")), None);
        assert_eq!(clone.allows_tool(&tool.candidate()), None);
        assert_eq!(clone.allows_tool(&Fixture::core("noop").candidate()).as_deref(), Some("noop"));
        assert_eq!(clone.texts(), ["exec(git status)", "noop"]);
    }

    #[test]
    fn one_wrong_rule_adds_none() {
        let grants = SessionGrants::default();
        let fault =
            grants.add(&["noop".to_owned(), "exec(bash *)".to_owned()], &Vocabulary::of_core(haft_builtin::metas()), None).unwrap_err();
        assert_eq!((fault.rule.as_str(), fault.kind, grants.texts()), ("exec(bash *)", RuleKind::Allow, vec![]));
    }

    #[test]
    fn a_session_has_no_end_of_rules() {
        let grants = SessionGrants::default();
        let rules: Vec<String> = (0..MOST).map(|number| format!("read_file(file{number})")).collect();
        grants.add(&rules, &Vocabulary::of_core(haft_builtin::metas()), None).unwrap();
        let fault = grants.add(&["noop".to_owned()], &Vocabulary::of_core(haft_builtin::metas()), None).unwrap_err();
        assert_eq!(fault.to_string(), "the session has 1000 rules, and 1000 are the most; put a wider one into [rules]");
        assert_eq!(grants.texts(), rules);
    }
}
