//! `allow`, `also_allow` and `deny` of one table.

use std::borrow::Cow;

use crate::catalog::Vocabulary;
use crate::list::{Groups, List};
use crate::name::lowered;
use crate::name_map::NameMap;
use crate::steps::unavailable;
use crate::{AllowList, Caller, Candidate, ConfigEdit, Decision, EditValue, ListEntry, Owner, SourceSpan, ToolLists};

/// One list that must have a tool.
#[derive(Debug, Clone)]
struct AllowEntry {
    list: List,
    span: SourceSpan,
    of_project: bool,
    /// Whether nobody wrote it: then the user has no list to add to.
    is_default: bool,
}

/// The lists of one table, compiled.
#[derive(Debug, Clone, Default)]
pub(crate) struct Lists {
    /// The table, as in `agents.coder.tools`.
    key: String,
    allow: Vec<AllowEntry>,
    also_allow: List,
    deny: List,
    /// What is denied as long as the user denies nothing.
    default_deny: List,
    /// Whether the table overrides a more general one: not if a project wrote all of it, which only tightens.
    overrides: bool,
}

impl Lists {
    pub(crate) fn compile(key: impl Into<String>, lists: &ToolLists, groups: &Groups, vocabulary: &Vocabulary) -> Self {
        let list = |entries: &[ListEntry]| List::compile(entries, groups, vocabulary);
        let allowed = |allow: &AllowList| AllowEntry {
            list: list(&allow.entries),
            span: allow.span.clone(),
            of_project: allow.of_project,
            is_default: false,
        };
        Self {
            key: key.into(),
            allow: lists.allow.iter().map(allowed).collect(),
            also_allow: list(&lists.also_allow),
            deny: list(&lists.deny),
            default_deny: List::default(),
            overrides: lists.overrides(),
        }
    }

    /// Adds what holds where the user has no list of their own.
    pub(crate) fn with_defaults(mut self, allow: List, deny: List) -> Self {
        if self.allow.iter().all(|allowed| allowed.of_project) {
            self.allow.push(AllowEntry { list: allow, span: SourceSpan::default(), of_project: false, is_default: true });
        }
        self.default_deny = deny;
        self
    }

    pub(crate) fn also_allow(&self) -> &List {
        &self.also_allow
    }
    pub(crate) fn key(&self) -> &str {
        &self.key
    }
    /// Whether some list of the user's names the tool as such.
    pub(crate) fn lifts(&self, canonical: &str) -> bool {
        self.also_allow.names(canonical) || self.allow.iter().any(|allowed| !allowed.of_project && allowed.list.names(canonical))
    }

    /// Whether the table lets a tool through: no denial, and an entry in every list there is. All that is against it is said,
    /// because all of it would have to change.
    pub(crate) fn apply(&self, decision: &mut Decision, step: &'static str, tool: &Candidate<'_>) {
        let denials = if self.deny.find(tool).is_some() { self.deny.find_all(tool) } else { Vec::new() };
        for entry in &denials {
            let change = if self.leaves_the_default(tool) && !entry.of_project {
                self.own_list(tool, entry)
            } else {
                ConfigEdit::remove(format!("{}.deny", self.key), entry)
            };
            decision.deny(step, format!("deny {}", entry.pattern), unavailable(tool, step, vec![change]));
            decision.set_span(&entry.span);
        }
        let default = self.default_deny.find(tool).filter(|_| self.deny.of_user().next().is_none());
        if let Some(entry) = default {
            let why = format!("deny {} (built-in default)", entry.pattern);
            decision.deny(step, why, unavailable(tool, step, vec![self.own_list(tool, entry)]));
        }
        let is_denied = default.is_some() || !denials.is_empty();
        for allowed in &self.allow {
            self.require(allowed, decision, step, tool, is_denied);
        }
    }

    /// Whether the user's list would be empty without what denies a tool, and the default would then deny it too.
    fn leaves_the_default(&self, tool: &Candidate<'_>) -> bool {
        let denied = self.deny.find_all(tool);
        self.default_deny.find(tool).is_some() && self.deny.of_user().all(|entry| denied.contains(&entry))
    }

    /// The default without the tool, as a list of the user's own.
    fn own_list(&self, tool: &Candidate<'_>, entry: &ListEntry) -> ConfigEdit {
        let denied = self.default_deny.find_all(tool);
        let others = self.default_deny.of_user().filter(|entry| !denied.contains(entry)).map(|entry| entry.pattern.clone());
        let owner = Owner { span: entry.span.clone(), of_project: entry.of_project };
        ConfigEdit::Set { key: format!("{}.deny", self.key), value: EditValue::List(others.collect()), owner }
    }

    fn require(&self, allowed: &AllowEntry, decision: &mut Decision, step: &'static str, tool: &Candidate<'_>, is_denied: bool) {
        match self.lets_through(allowed, tool) {
            // A step that denies need not say what it has nothing against.
            Some(_) if is_denied => {}
            Some((why, span)) => {
                decision.pass(step, why);
                decision.set_span(span);
            }
            None => {
                decision.deny(step, self.why_not(allowed), unavailable(tool, step, vec![self.to_be_added(allowed, tool)]));
                decision.set_span(&allowed.span);
            }
        }
    }

    fn lets_through<'a>(&'a self, allowed: &'a AllowEntry, tool: &Candidate<'_>) -> Option<(Cow<'static, str>, &'a SourceSpan)> {
        if let Some(entry) = allowed.list.find(tool) {
            let default = if allowed.is_default { " (built-in default)" } else { "" };
            return Some((["allow ", &entry.pattern, default].concat().into(), &entry.span));
        }
        if let Some(entry) = self.also_allow.find(tool).filter(|_| !allowed.of_project) {
            return Some((["also_allow ", &entry.pattern].concat().into(), &entry.span));
        }
        let is_other = allowed.list.is_for_plugins() && tool.is_core();
        is_other.then_some(("the list names plugins only, so it is not about this tool".into(), &allowed.span))
    }

    fn why_not(&self, allowed: &AllowEntry) -> String {
        let default = if allowed.is_default { " (built-in default)" } else { "" };
        format!("not in {}.allow{default}", self.key)
    }

    /// A default list has no entries in any file; an `allow` of the user's would take its place whole.
    fn to_be_added(&self, allowed: &AllowEntry, tool: &Candidate<'_>) -> ConfigEdit {
        let list = if allowed.is_default { "also_allow" } else { "allow" };
        let owner = Owner { span: allowed.span.clone(), of_project: allowed.of_project };
        ConfigEdit::Add { key: format!("{}.{list}", self.key), entry: tool.name().to_owned(), owner }
    }
}

impl Overrides for Lists {
    fn overrides(&self) -> bool {
        self.overrides
    }
}

/// Tables of which one overrides a more general one.
pub(crate) trait Overrides {
    /// Whether it does.
    fn overrides(&self) -> bool;
}

/// Those that count, the most exact first: up to the first that overrides the rest.
pub(crate) fn counting<'a, T: Overrides>(found: impl IntoIterator<Item = &'a T>) -> Vec<&'a T> {
    let mut counting = Vec::new();
    for table in found {
        counting.push(table);
        if table.overrides() {
            break;
        }
    }
    counting
}

/// Tables by provider: `provider/model` in place of `provider`.
#[derive(Debug, Clone)]
pub(crate) struct ByProvider<T> {
    by_key: NameMap<T>,
    /// Whether a key names a model.
    has_models: bool,
}

impl<T> Default for ByProvider<T> {
    fn default() -> Self {
        Self { by_key: NameMap::default(), has_models: false }
    }
}

impl<T> ByProvider<T> {
    pub(crate) fn new(tables: impl IntoIterator<Item = (String, T)>) -> Self {
        let by_key: NameMap<T> = tables.into_iter().map(|(key, table)| (lowered(&key).into_owned(), table)).collect();
        Self { has_models: by_key.keys().any(|key| key.contains('/')), by_key }
    }

    /// The tables that count for a caller.
    pub(crate) fn find(&self, caller: &Caller) -> Vec<&T>
    where
        T: Overrides,
    {
        let Some(provider) = caller.provider.as_deref().filter(|_| !self.by_key.is_empty()) else { return Vec::new() };
        let (provider, model) = (lowered(provider), caller.model.as_deref().filter(|_| self.has_models));
        let exact = model.and_then(|model| self.by_key.get(&format!("{provider}/{}", lowered(model))));
        counting(exact.into_iter().chain(self.by_key.get(&*provider)))
    }
}
