//! `tool_search`: finds deferred tools, and discloses them to the model from then on.
//!
//! A model takes a limited number of tools, and each costs tokens. So some are deferred: only their names are sent until the
//! model searches for them. A search finds only tools that the policy offers to the session.

mod matching;
mod selection;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use haft_contract::{
    Access, Category, Dialect, DynTool, Form, Hints, Plan, PlanContext, Prepared, Section, ToolContext, ToolDefinition, ToolError,
    ToolOutput,
};
use haft_engine::{Engine, Session, ToolEntry};
use haft_policy::Verdict;
use haft_provider::Message;
use serde::Deserialize;
use serde_json::{Value, json};

use self::matching::{MAX_RESULTS, SearchMatches, ToolQuery};
pub use self::selection::visible_tools;

/// The canonical name.
pub(crate) const NAME: &str = "tool_search";
const DESCRIPTION: &str = "Find tools that are not shown to you, by words or by name. Found tools can be called from the next \
    answer on. Write words to search names and descriptions ('+word' must occur), or 'select:name,other_name' for tools by name.";
const FORMS: &[Form] = &[Form::new(Dialect::Claw, "ToolSearch")];
/// How many disclosed tools a session keeps; the newest stay.
const MAX_DISCLOSED: usize = 64;
const DEFAULT_RESULTS: usize = 5;

/// The tools of every open session, which `tool_search` searches. Clones share them.
#[derive(Clone, Default)]
pub struct DeferredTools(Arc<OpenSessions>);

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
        f.debug_struct("DeferredTools").field("sessions", &lock(&self.0).len()).finish()
    }
}

impl DeferredTools {
    /// The `tool_search` tool, to be registered.
    pub fn tool(&self) -> Arc<dyn DynTool> {
        Arc::new(ToolSearch { deferred: self.clone(), definition: definition() })
    }

    /// Opens the tools of a session to `tool_search` until the result is dropped. Tools that the conversation has called
    /// before are disclosed already.
    pub fn disclose(&self, engine: &Engine, session: &Session, messages: &[Message]) -> DisclosedTools {
        let (sessions, id) = (Arc::downgrade(&self.0), Arc::clone(session.id()));
        let disclosed = DisclosedTools(Arc::new(SharedDisclosed { state: Mutex::default(), registration: Some((sessions, id)) }));
        let called = messages.iter().flat_map(|message| &message.blocks).filter_map(|block| match block {
            haft_provider::Block::Call { name, .. } => engine.registry().get(name),
            _ => None,
        });
        called.for_each(|entry| disclosed.add(entry.name()));
        let opened = SessionTools { engine: engine.clone(), session: session.clone(), disclosed: Arc::downgrade(&disclosed.0) };
        let before = lock(&self.0).insert(Arc::clone(session.id()), opened);
        // After the lock: it may be the last to hold an engine, whose tools hold `self`.
        drop(before);
        disclosed
    }

    fn find(&self, session: &str) -> Option<(Engine, Session, DisclosedTools)> {
        let sessions = lock(&self.0);
        let tools = sessions.get(session)?;
        Some((tools.engine.clone(), tools.session.clone(), DisclosedTools(tools.disclosed.upgrade()?)))
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

    fn add(&self, name: &str) {
        let found = &mut lock(&self.0.state).found;
        found.retain(|known| known != name);
        found.push(name.to_owned());
        let beyond = found.len().saturating_sub(MAX_DISCLOSED);
        found.drain(..beyond);
    }

    fn set_shown(&self, names: HashSet<String>) {
        lock(&self.0.state).shown = names;
    }

    fn is_shown(&self, name: &str) -> bool {
        lock(&self.0.state).shown.contains(name)
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

struct ToolSearch {
    deferred: DeferredTools,
    definition: ToolDefinition,
}

#[derive(Deserialize)]
struct Params {
    query: String,
    max_results: Option<usize>,
}

impl DynTool for ToolSearch {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare(&self, arguments: Value, _cx: &PlanContext<'_>) -> Result<Prepared, ToolError> {
        let Params { query, max_results } =
            serde_json::from_value(arguments).map_err(|error| ToolError::validation(format!("The arguments do not fit: {error}.")))?;
        let query = ToolQuery::read(&query)?;
        let (deferred, most) = (self.deferred.clone(), max_results.unwrap_or(DEFAULT_RESULTS).min(MAX_RESULTS));
        Ok(Prepared::new(Plan::nothing(), move |cx| Box::pin(async move { search(&deferred, &query, most, &cx) })))
    }
}

fn search(deferred: &DeferredTools, query: &ToolQuery, most: usize, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let Some((engine, session, disclosed)) = deferred.find(&cx.call().session) else {
        return Err(ToolError::execution("tool_search works only in a conversation with a model. `haft tools` lists all tools."));
    };
    let offered: Vec<Arc<ToolEntry>> = offered_tools(&engine, &session).into_iter().filter(|entry| entry.name() != NAME).collect();
    let found = query.search(&offered, most);
    // The best is kept longest.
    found.tools.iter().rev().for_each(|entry| disclosed.add(entry.name()));
    let hidden = offered.iter().filter(|entry| !disclosed.is_shown(entry.name())).count();
    let report = describe(query, &found, hidden, session.dialect());
    Ok(ToolOutput::text(report.to_string()).with_details(report))
}

fn describe(query: &ToolQuery, found: &SearchMatches, hidden: usize, dialect: Dialect) -> Value {
    let tools: Vec<_> = found.tools.iter().map(|entry| entry.definition().in_dialect(dialect)).collect();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
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
    if found.tools.is_empty() {
        report["note"] = json!("No tool that you may use matches. Use other or fewer words, or do without.");
    }
    report
}

/// Every tool that the policy offers to a session, in the order of registration.
pub fn offered_tools(engine: &Engine, session: &Session) -> Vec<Arc<ToolEntry>> {
    let mut entries = engine.registry().entries();
    entries.retain(|entry| engine.offers(entry, session).verdict != Verdict::Deny);
    entries
}

fn definition() -> ToolDefinition {
    let parameters = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "Words, '+word' for one that must occur, or 'select:name,other_name'."},
            "max_results": {"type": "integer", "minimum": 1, "maximum": MAX_RESULTS, "default": DEFAULT_RESULTS, "description": "How many tools to show at most."},
        },
        "required": ["query"],
    });
    let mut definition = ToolDefinition::new(NAME, DESCRIPTION, parameters);
    definition.label = "Find tools".into();
    (definition.section, definition.category, definition.access) = (Section::Planning, Category::System, Access::ReadOnly);
    definition.timeout = Duration::from_secs(10);
    definition.profiles = vec!["coding".into()];
    definition.aliases = vec!["ToolSearch".into()];
    definition.forms = FORMS.into();
    definition.hints = Hints { read_only: true, destructive: false, idempotent: true, open_world: false };
    definition
}
