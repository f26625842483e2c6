//! What a person allowed for the rest of a session.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, PoisonError, RwLock};

use haft_contract::Effect;

use super::compile::Compiler;
use super::fault::Fault;
use super::{Hit, Rule, RuleFault, RuleKind, RuleSet};
use crate::catalog::Vocabulary;
use crate::{Candidate, Listed};

/// The most rules of a session; nobody answers more questions.
const MOST: usize = 1000;

/// What a person allowed for the rest of a session. Clones see the same rules.
#[derive(Debug, Clone, Default)]
pub struct StandingRules {
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    /// So that nobody waits for the rules while there are none.
    any: AtomicBool,
    rules: RwLock<RuleSet>,
}

impl StandingRules {
    /// Adds rules, or none of them if one is wrong.
    pub fn add(&self, rules: &[String], vocabulary: &Vocabulary, home: Option<&Path>) -> Result<(), RuleFault> {
        let compiler = Compiler { kind: RuleKind::Allow, vocabulary, home };
        let rules = rules.iter().map(|text| compiler.rule(&Listed::new(text))).collect::<Result<Vec<Rule>, _>>()?;
        let mut set = self.shared.rules.write().unwrap_or_else(PoisonError::into_inner);
        let mut new: Vec<Rule> = rules.into_iter().filter(|rule| set.rules().iter().all(|known| known.text() != rule.text())).collect();
        new.dedup_by(|a, b| a.text == b.text);
        if let Some(rule) = new.first().filter(|_| set.rules().len() + new.len() > MOST) {
            let fault =
                Fault::new(format!("the session has {} rules, and {MOST} are the most", set.rules().len()), "put a wider one into [rules]");
            return Err(fault.of(RuleKind::Allow, &Listed::new(rule.text())));
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

fn text(hit: Hit<'_>) -> String {
    hit.rule.text().to_owned()
}

#[cfg(test)]
mod tests {
    use haft_contract::Effect;

    use super::super::testing::{Fixture, HOME, exec};
    use super::*;

    #[test]
    fn what_was_allowed_holds_for_every_clone_and_nothing_else() {
        let (standing, tool) = (StandingRules::default(), Fixture::core("exec"));
        let effect = |line: &str| Effect::Exec(exec(line));
        let clone = standing.clone();
        assert_eq!((clone.allows_effect(&tool.candidate(), &effect("git status")), clone.texts()), (None, vec![]));
        let rules = ["exec(git status)".to_owned(), "exec(git status)".to_owned(), "noop".to_owned()];
        standing.add(&rules, &Vocabulary::core(), Some(Path::new(HOME))).unwrap();
        standing.add(&rules[..1], &Vocabulary::core(), None).unwrap();
        assert_eq!(clone.allows_effect(&tool.candidate(), &effect("git status")).as_deref(), Some("exec(git status)"));
        assert_eq!(clone.allows_effect(&tool.candidate(), &effect("git push")), None);
        assert_eq!(clone.allows_tool(&tool.candidate()), None);
        assert_eq!(clone.allows_tool(&Fixture::core("noop").candidate()).as_deref(), Some("noop"));
        assert_eq!(clone.texts(), ["exec(git status)", "noop"]);
    }

    #[test]
    fn one_wrong_rule_adds_none() {
        let standing = StandingRules::default();
        let fault = standing.add(&["noop".to_owned(), "exec(bash *)".to_owned()], &Vocabulary::core(), None).unwrap_err();
        assert_eq!((fault.rule.as_str(), fault.kind, standing.texts()), ("exec(bash *)", RuleKind::Allow, vec![]));
    }

    #[test]
    fn a_session_has_no_end_of_rules() {
        let standing = StandingRules::default();
        let rules: Vec<String> = (0..MOST).map(|number| format!("read_file(file{number})")).collect();
        standing.add(&rules, &Vocabulary::core(), None).unwrap();
        let fault = standing.add(&["noop".to_owned()], &Vocabulary::core(), None).unwrap_err();
        assert_eq!(fault.to_string(), "the session has 1000 rules, and 1000 are the most; put a wider one into [rules]");
        assert_eq!(standing.texts(), rules);
    }
}
