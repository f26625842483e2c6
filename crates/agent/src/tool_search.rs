//! The service behind `tool_search`: finds tools, and discloses deferred ones to the model from then on.
//!
//! A model takes a limited number of tools, and each costs tokens. So some are deferred: only their names are sent until the
//! model searches for them. A search finds only tools that the policy offers to the session.

mod matching;
mod memory;
mod selection;
mod shown;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use haft_contract::ports::ToolIndex;
use haft_contract::{Dialect, ToolError};
use haft_engine::{Engine, Registry, Session, ToolEntry};
use haft_policy::Verdict;
use haft_provider::Message;
use serde_json::{Value, json};

use self::matching::{MAX_RESULTS, SearchIndex, SearchMatches, ToolQuery};
pub use self::selection::{text_tokens, tool_tokens, visible_tools};
pub(crate) use self::shown::{ShownTools, ToolFacts};
use crate::structured_output;

/// The canonical name.
pub(crate) const NAME: &str = "tool_search";
/// Percentage of the model's window that descriptions of tools may take, unless it is configured.
const BUDGET_PERCENT: u64 = 10;
/// How many disclosed tools a session keeps; the newest stay.
const MAX_DISCLOSED: usize = 64;

/// The tools of every open session, which `tool_search` searches. Clones share them.
#[derive(Clone, Default)]
pub struct DeferredTools {
    sessions: Arc<OpenSessions>,
    /// The newest index, and the registry that it is of.
    index: Arc<Mutex<Option<RegistryIndex>>>,
}

/// The index of a registry.
type RegistryIndex = (Weak<Registry>, Arc<SearchIndex>);

/// By session id.
type OpenSessions = Mutex<HashMap<Arc<str>, SessionTools>>;

/// The tools of one session.
struct SessionTools {
    engine: Engine,
    session: Session,
    disclosed: Weak<SharedDisclosed>,
}

impl std::fmt::Debug for DeferredTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DeferredTools").field("sessions", &lock(&self.sessions).len()).finish_non_exhaustive()
    }
}

impl DeferredTools {
    /// Opens the tools of a session to `tool_search` until the result is dropped. Tools that the conversation has called or found
    /// before, also in a part that was summarized, are disclosed already.
    pub fn disclose(&self, engine: &Engine, session: &Session, messages: &[Message]) -> DisclosedTools {
        let (sessions, id) = (Arc::downgrade(&self.sessions), Arc::clone(session.id()));
        let disclosed = DisclosedTools(Arc::new(SharedDisclosed { state: Mutex::default(), registration: Some((sessions, id)) }));
        let named = messages.iter().flat_map(|message| &message.blocks).flat_map(memory::names_in);
        named.filter_map(|name| engine.registry().get(&name)).for_each(|entry| disclosed.add(entry.name()));
        let opened = SessionTools { engine: engine.clone(), session: session.clone(), disclosed: Arc::downgrade(&disclosed.0) };
        let before = lock(&self.sessions).insert(Arc::clone(session.id()), opened);
        // After the lock: it may be the last to hold an engine, whose tools hold `self`.
        drop(before);
        disclosed
    }

    fn find(&self, session: &str) -> Option<(Engine, Session, DisclosedTools)> {
        let sessions = lock(&self.sessions);
        let tools = sessions.get(session)?;
        Some((tools.engine.clone(), tools.session.clone(), DisclosedTools(tools.disclosed.upgrade()?)))
    }

    /// The index of a registry, made again when the registry has changed.
    fn index(&self, registry: &Arc<Registry>) -> Arc<SearchIndex> {
        let mut newest = lock(&self.index);
        let version = registry.version();
        match &*newest {
            Some((of, index)) if std::ptr::eq(of.as_ptr(), Arc::as_ptr(registry)) && index.version == version => Arc::clone(index),
            _ => {
                let mut entries = registry.entries();
                entries.retain(|entry| entry.name() != NAME);
                let index = Arc::new(SearchIndex::new(version, entries));
                *newest = Some((Arc::downgrade(registry), Arc::clone(&index)));
                index
            }
        }
    }
}

/// The tools that a session has found so far, and those that its model is shown. Clones share it.
#[derive(Clone, Default)]
pub struct DisclosedTools(Arc<SharedDisclosed>);

#[derive(Default)]
struct SharedDisclosed {
    state: Mutex<DisclosedState>,
    /// Its entry among the open sessions.
    registration: Option<(Weak<OpenSessions>, Arc<str>)>,
}

#[derive(Default)]
struct DisclosedState {
    /// Canonical names of found tools, oldest first.
    found: Vec<String>,
    /// Canonical names of the tools that the model was last shown.
    shown: HashSet<String>,
    /// How many tools the session may use and the model was not shown.
    hidden: usize,
    /// Percentage of the model's window for descriptions of tools.
    budget_percent: Option<u64>,
}

impl std::fmt::Debug for DisclosedTools {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("DisclosedTools").field(&self.names()).finish()
    }
}

impl DisclosedTools {
    /// Canonical names of found tools, oldest first.
    pub fn names(&self) -> Vec<String> {
        lock(&self.0.state).found.clone()
    }

    /// Descriptions of tools that do not come with Haft are shown as long as all take at most this percentage of the model's window.
    pub fn set_budget(&self, percent: u64) {
        lock(&self.0.state).budget_percent = Some(percent);
    }

    fn budget_percent(&self) -> u64 {
        lock(&self.0.state).budget_percent.unwrap_or(BUDGET_PERCENT)
    }

    /// A line that names them, for a summary; empty if there are none.
    pub(crate) fn remember(&self) -> String {
        memory::line(&self.names())
    }

    fn add(&self, name: &str) {
        let found = &mut lock(&self.0.state).found;
        found.retain(|known| known != name);
        found.push(name.to_owned());
        let beyond = found.len().saturating_sub(MAX_DISCLOSED);
        found.drain(..beyond);
    }

    fn set_shown(&self, names: HashSet<String>, hidden: usize) {
        let mut state = lock(&self.0.state);
        (state.shown, state.hidden) = (names, hidden);
    }
}

impl Drop for SharedDisclosed {
    fn drop(&mut self) {
        let Some((sessions, id)) = self.registration.take() else { return };
        let Some(sessions) = sessions.upgrade() else { return };
        let own = {
            let mut sessions = lock(&sessions);
            let is_own = sessions.get(&id).is_some_and(|tools| std::ptr::eq(tools.disclosed.as_ptr(), self));
            if is_own { sessions.remove(&id) } else { None }
        };
        // After the lock, as above.
        drop(own);
    }
}

// Plain lists and maps, each changed in one step: after a panic elsewhere they are still consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl ToolIndex for DeferredTools {
    fn search(&self, session: &str, query: &str, most: usize) -> Result<Value, ToolError> {
        let Some((engine, session, disclosed)) = self.find(session) else {
            return Err(ToolError::execution("tool_search works only in a conversation with a model. `haft tools` lists all tools."));
        };
        let query = ToolQuery::read(query)?;
        let found = query.search(&self.index(engine.registry()), most.clamp(1, MAX_RESULTS), |entry| is_offered(&engine, &session, entry));
        let report = describe(&query, &found, &disclosed, session.dialect());
        // The best is kept longest.
        found.tools.iter().rev().for_each(|entry| disclosed.add(entry.name()));
        Ok(report)
    }

    fn check(&self, query: &str) -> Result<(), ToolError> {
        ToolQuery::read(query).map(drop)
    }
}

fn describe(query: &ToolQuery, found: &SearchMatches, disclosed: &DisclosedTools, dialect: Dialect) -> Value {
    let tools: Vec<_> = found.tools.iter().map(|entry| entry.definition().in_dialect(dialect)).collect();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    let (hidden, shown) = {
        let state = lock(&disclosed.0.state);
        let shown = found.tools.iter().zip(&names).filter(|(entry, _)| state.shown.contains(entry.name()));
        (state.hidden, shown.map(|(_, name)| *name).collect::<Vec<_>>())
    };
    let mut report = json!({
        "matches": names,
        "query": query.text(),
        "normalized_query": query.normalised(),
        "total_deferred_tools": hidden,
        "tools": tools,
    });
    if !found.missing.is_empty() {
        report["not_found"] = json!(found.missing);
    }
    if !shown.is_empty() {
        report["already_shown"] = json!(shown);
    }
    if found.tools.is_empty() {
        report["note"] = json!("No tool that you may use matches. Use other or fewer words, or do without.");
    } else if shown.len() == found.tools.len() {
        report["note"] = json!("You are shown all of these already: call them.");
    }
    report
}

/// Every tool that the policy offers to a session, in the order of registration.
pub fn offered_tools(engine: &Engine, session: &Session) -> Vec<Arc<ToolEntry>> {
    let mut entries = engine.registry().entries();
    entries.retain(|entry| is_offered(engine, session, entry));
    entries
}

/// Whether the policy offers a tool to a session, and somebody waits for its output where it gives output.
fn is_offered(engine: &Engine, session: &Session, entry: &ToolEntry) -> bool {
    let has_receiver = entry.name() != structured_output::NAME || session.host().services().output.is_some();
    has_receiver && engine.offers(entry, session).verdict != Verdict::Deny
}
