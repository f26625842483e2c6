//! `allow`, `also_allow` and `deny` of one table.

use std::collections::HashMap;

use crate::catalog::Vocabulary;
use crate::list::{Groups, List};
use crate::steps::unavailable;
use crate::{AllowList, Caller, Candidate, Change, Decision, Listed, Place, ToolLists};

/// One list that a tool must stand in.
#[derive(Debug, Clone)]
struct Allowed {
    list: List,
    place: Place,
    of_project: bool,
}

/// The lists of one table, compiled.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lists {
    /// The table, as in `agents.coder.tools`.
    key: String,
    allow: Vec<Allowed>,
    also_allow: List,
    deny: List,
}

impl Lists {
    pub(crate) fn compile(key: impl Into<String>, lists: &ToolLists, groups: &Groups, vocabulary: &Vocabulary) -> Self {
        let list = |entries: &[Listed]| List::compile(entries, groups, vocabulary);
        let allowed = |allow: &AllowList| Allowed { list: list(&allow.entries), place: allow.place.clone(), of_project: allow.of_project };
        Self {
            key: key.into(),
            allow: lists.allow.iter().map(allowed).collect(),
            also_allow: list(&lists.also_allow),
            deny: list(&lists.deny),
        }
    }

    pub(crate) fn also_allow(&self) -> &List {
        &self.also_allow
    }
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
    /// Whether some list of the person's names the tool as such.
    pub(crate) fn lifts(&self, canonical: &str) -> bool {
        self.also_allow.names(canonical) || self.allow.iter().any(|allowed| !allowed.of_project && allowed.list.names(canonical))
    }

    /// Whether the table lets a tool through: no denial, and an entry in every list there is.
    pub(crate) fn apply(&self, decision: &mut Decision, step: &'static str, tool: &Candidate<'_>) {
        if let Some(entry) = self.deny.find(tool) {
            let change = Change::Remove { key: format!("{}.deny", self.key), entry: entry.pattern.clone() };
            decision.deny(step, format!("deny {}", entry.pattern), unavailable(tool, step, Some(change)));
            return decision.source(&entry.place);
        }
        for allowed in &self.allow {
            self.require(allowed, decision, step, tool);
        }
    }

    fn require(&self, allowed: &Allowed, decision: &mut Decision, step: &'static str, tool: &Candidate<'_>) {
        if let Some(entry) = allowed.list.find(tool) {
            decision.pass(step, format!("allow {}", entry.pattern));
            return decision.source(&entry.place);
        }
        if let Some(entry) = self.also_allow.find(tool).filter(|_| !allowed.of_project) {
            decision.pass(step, format!("also_allow {}", entry.pattern));
            return decision.source(&entry.place);
        }
        if allowed.list.is_for_plugins() && tool.is_core() {
            decision.pass(step, "the list names plugins only, so it is not about this tool");
            return decision.source(&allowed.place);
        }
        let change = Change::Add { key: format!("{}.allow", self.key), entry: tool.name().to_owned() };
        decision.deny(step, format!("not in {}.allow", self.key), unavailable(tool, step, Some(change)));
        decision.source(&allowed.place);
    }
}

/// Tables by provider: `provider/model` before `provider`, and exactly one of them.
#[derive(Debug, Clone)]
pub(crate) struct Provided<T> {
    by_key: HashMap<String, T>,
}

impl<T> Default for Provided<T> {
    fn default() -> Self {
        Self { by_key: HashMap::new() }
    }
}

impl<T> Provided<T> {
    pub(crate) fn new(tables: impl IntoIterator<Item = (String, T)>) -> Self {
        Self { by_key: tables.into_iter().map(|(key, table)| (key.trim().to_lowercase(), table)).collect() }
    }

    pub(crate) fn find(&self, caller: &Caller) -> Option<&T> {
        if self.by_key.is_empty() {
            return None;
        }
        let provider = caller.provider.as_deref()?.trim().to_lowercase();
        let exact = caller.model.as_deref().and_then(|model| self.by_key.get(&format!("{provider}/{}", model.trim().to_lowercase())));
        exact.or_else(|| self.by_key.get(&provider))
    }
}
