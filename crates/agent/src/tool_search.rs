//! `tool_search`: finds tools that the model is not shown, and shows them from then on.
//!
//! A model takes so many tools and no more, and every one that it is shown costs room. So some are only named until they are
//! searched for. What is found is what the policy offers to the session, and nothing else.

mod matching;
mod shown;

use std::collections::{HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use haft_contract::{
    Access, Category, Dialect, DynTool, Form, Hints, Plan, PlanContext, Prepared, Section, ToolContext, ToolDefinition, ToolError,
    ToolOutput,
};
use haft_engine::{Engine, Entry, Session, Verdict};
use haft_provider::Message;
use serde::Deserialize;
use serde_json::{Value, json};

use self::matching::{Found, MOST_RESULTS, Query};
pub use self::shown::shown;

/// The canonical name.
pub(crate) const NAME: &str = "tool_search";
const DESCRIPTION: &str = "Find tools that are not shown to you, by words or by name. What is found can be called from the next \
    answer on. Write words to search names and descriptions ('+word' must occur), or 'select:name,other_name' for tools by name.";
const FORMS: &[Form] = &[Form::new(Dialect::Claw, "ToolSearch")];
/// How many tools a session remembers to have found; the newest count.
const MOST_REVEALED: usize = 64;
const USUAL_RESULTS: usize = 5;

/// The tools of every open session, for `tool_search` to look through. Clones share them.
#[derive(Clone, Default)]
pub struct Shelves(Arc<Open>);

/// By the ids of the sessions.
type Open = Mutex<HashMap<Arc<str>, Shelf>>;

/// The tools of one session.
struct Shelf {
    engine: Engine,
    session: Session,
    revealed: Weak<Inner>,
}

impl std::fmt::Debug for Shelves {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Shelves").field("sessions", &lock(&self.0).len()).finish()
    }
}

impl Shelves {
    /// The tool, to be registered.
    pub fn tool(&self) -> Arc<dyn DynTool> {
        Arc::new(ToolSearch { shelves: self.clone(), definition: definition() })
    }

    /// Opens the tools of a session to `tool_search`, until what this gives is dropped. What the conversation has called
    /// before was found before.
    pub fn open(&self, engine: &Engine, session: &Session, messages: &[Message]) -> Revealed {
        let (shelves, id) = (Arc::downgrade(&self.0), Arc::clone(session.id()));
        let revealed = Revealed(Arc::new(Inner { state: Mutex::default(), home: Some((shelves, id)) }));
        let called = messages.iter().flat_map(|message| &message.blocks).filter_map(|block| match block {
            haft_provider::Block::Call { name, .. } => engine.registry().get(name),
            _ => None,
        });
        called.for_each(|entry| revealed.add(entry.name()));
        let opened = Shelf { engine: engine.clone(), session: session.clone(), revealed: Arc::downgrade(&revealed.0) };
        let before = lock(&self.0).insert(Arc::clone(session.id()), opened);
        // Behind the lock: it may be the last to hold an engine, whose tools hold these shelves.
        drop(before);
        revealed
    }

    fn of(&self, session: &str) -> Option<(Engine, Session, Revealed)> {
        let shelves = lock(&self.0);
        let found = shelves.get(session)?;
        Some((found.engine.clone(), found.session.clone(), Revealed(found.revealed.upgrade()?)))
    }
}

/// What a session has found so far, and what it is shown. Clones share it.
#[derive(Clone, Default)]
pub struct Revealed(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// Where the session's tools stand open.
    home: Option<(Weak<Open>, Arc<str>)>,
}

#[derive(Default)]
struct State {
    /// What was found, by canonical names, oldest first.
    found: Vec<String>,
    /// What the model was shown last, by canonical names.
    shown: HashSet<String>,
}

impl std::fmt::Debug for Revealed {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Revealed").field(&self.names()).finish()
    }
}

impl Revealed {
    /// What was found, by canonical names, oldest first.
    pub fn names(&self) -> Vec<String> {
        lock(&self.0.state).found.clone()
    }

    fn add(&self, name: &str) {
        let found = &mut lock(&self.0.state).found;
        found.retain(|known| known != name);
        found.push(name.to_owned());
        let beyond = found.len().saturating_sub(MOST_REVEALED);
        found.drain(..beyond);
    }

    fn set_shown(&self, names: HashSet<String>) {
        lock(&self.0.state).shown = names;
    }

    fn is_shown(&self, name: &str) -> bool {
        lock(&self.0.state).shown.contains(name)
    }
}

impl Drop for Inner {
    fn drop(&mut self) {
        let Some((shelves, id)) = self.home.take() else { return };
        let Some(shelves) = shelves.upgrade() else { return };
        let own = {
            let mut shelves = lock(&shelves);
            let is_own = shelves.get(&id).is_some_and(|shelf| std::ptr::eq(shelf.revealed.as_ptr(), self));
            if is_own { shelves.remove(&id) } else { None }
        };
        // Behind the lock, as above.
        drop(own);
    }
}

// Plain lists and maps, each changed in one step: after a panic elsewhere they are still consistent.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct ToolSearch {
    shelves: Shelves,
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
        let query = Query::read(&query)?;
        let (shelves, most) = (self.shelves.clone(), max_results.unwrap_or(USUAL_RESULTS).min(MOST_RESULTS));
        Ok(Prepared::new(Plan::nothing(), move |cx| Box::pin(async move { search(&shelves, &query, most, &cx) })))
    }
}

fn search(shelves: &Shelves, query: &Query, most: usize, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let Some((engine, session, revealed)) = shelves.of(&cx.call().session) else {
        return Err(ToolError::execution(
            "tool_search finds tools for the model of a conversation, and this is none: `haft tools` lists them.",
        ));
    };
    let offered: Vec<Arc<Entry>> = offered(&engine, &session).into_iter().filter(|entry| entry.name() != NAME).collect();
    let found = query.search(&offered, most);
    // The best is remembered longest.
    found.tools.iter().rev().for_each(|entry| revealed.add(entry.name()));
    let hidden = offered.iter().filter(|entry| !revealed.is_shown(entry.name())).count();
    let told = told(query, &found, hidden, session.dialect());
    Ok(ToolOutput::text(told.to_string()).with_details(told))
}

fn told(query: &Query, found: &Found, hidden: usize, dialect: Dialect) -> Value {
    let tools: Vec<_> = found.tools.iter().map(|entry| entry.definition().in_dialect(dialect)).collect();
    let names: Vec<&str> = tools.iter().map(|tool| tool.name).collect();
    let mut told = json!({
        "matches": names,
        "query": query.text(),
        "normalized_query": query.normalised(),
        "total_deferred_tools": hidden,
        "tools": tools,
    });
    if !found.missing.is_empty() {
        told["not_found"] = json!(found.missing);
    }
    if found.tools.is_empty() {
        told["note"] = json!("No tool that you may use matches. Use other or fewer words, or do without.");
    }
    told
}

/// Every tool that the policy offers to a session, in the order of registration.
pub fn offered(engine: &Engine, session: &Session) -> Vec<Arc<Entry>> {
    let mut entries = engine.registry().entries();
    entries.retain(|entry| engine.offers(entry, session).verdict != Verdict::Deny);
    entries
}

fn definition() -> ToolDefinition {
    let parameters = json!({
        "type": "object",
        "properties": {
            "query": {"type": "string", "minLength": 1, "description": "Words, '+word' for one that must occur, or 'select:name,other_name'."},
            "max_results": {"type": "integer", "minimum": 1, "maximum": MOST_RESULTS, "default": USUAL_RESULTS, "description": "How many tools to show at most."},
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
