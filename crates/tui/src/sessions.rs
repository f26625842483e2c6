//! Stored conversations: searched, listed, read.

mod search;

use std::sync::Arc;
use std::time::SystemTime;

use haft_agent::{LedgerEntry, Micros};
use haft_store::{SessionFilter, SessionRecord, SessionStore, UsageSum};
use jiff::Timestamp;
use serde_json::{Value, json};

pub use self::search::SessionMatch;
use self::search::search;
use crate::failure::{Exit, Failure};
use crate::output::{Output, print};
use crate::table::{ColumnFit, Table, TableCell};
use crate::time::local_time;

/// How many entries are read at once.
const PAGE: usize = 1000;
/// How times are written.
pub const WHEN: &str = "%Y-%m-%d %H:%M";

/// The end of an id, which differs between sessions; its beginning is the time.
pub fn short_id(id: &str) -> &str {
    &id[id.len().saturating_sub(8)..]
}

/// Sessions, or those that contain a text.
pub async fn find_sessions(
    store: &Arc<dyn SessionStore>,
    filter: SessionFilter,
    wanted: Option<&str>,
) -> Result<Vec<SessionMatch>, Failure> {
    match wanted {
        Some(wanted) => search(store, filter, wanted).await,
        None => Ok(store.list(filter).await?.into_iter().map(|session| SessionMatch { session, excerpt: None }).collect()),
    }
}

/// A session with what it used.
pub async fn facts(store: &Arc<dyn SessionStore>, session: &SessionRecord) -> Result<Value, Failure> {
    let usage = store.session_usage(&session.id).await?;
    let mut facts = json!({
        "id": session.id, "title": session.title, "agent": session.agent, "model": session.model,
        "workspace": session.workspace.to_string_lossy(), "messages": session.messages,
        "created": timestamp(session.created), "updated": timestamp(session.updated), "usage": usage_json(&usage),
    });
    if let Some(status) = store.sub_agent(&session.id).await? {
        facts["sub_agent"] = json!({
            "parent": status.parent, "type": status.agent_type, "state": status.state, "task": status.task, "calls": status.calls,
            "error": status.error,
        });
    }
    Ok(facts)
}

/// The cost is null unless every answer has a price.
fn usage_json(usage: &UsageSum) -> Value {
    json!({
        "requests": usage.requests, "input_tokens": usage.input, "output_tokens": usage.output, "cached_tokens": usage.cached,
        "reasoning_tokens": usage.reasoning, "cost": whole_cost(usage).map(dollars), "unpriced_requests": usage.unpriced,
    })
}

/// The cost, if every answer has a price.
pub fn whole_cost(usage: &UsageSum) -> Option<Micros> {
    (usage.requests > 0 && usage.unpriced == 0).then_some(Micros(usage.cost_micros))
}

#[allow(clippy::cast_precision_loss, reason = "amounts of money here are far below 2^52 micros")]
fn dollars(cost: Micros) -> f64 {
    cost.0 as f64 / 1e6
}

/// A time in RFC 3339.
fn timestamp(time: SystemTime) -> Option<String> {
    Timestamp::try_from(time).ok().map(|time| time.to_string())
}

/// Prints sessions, one row each.
pub async fn list(store: &Arc<dyn SessionStore>, sessions: &[SessionMatch], output: &Output) -> Result<Exit, Failure> {
    if output.json {
        let mut all = Vec::new();
        for SessionMatch { session, excerpt } in sessions {
            let mut facts = facts(store, session).await?;
            if excerpt.is_some() {
                facts["found"] = json!(excerpt);
            }
            all.push(facts);
        }
        output.data(&all)?;
    } else {
        let mut states = Vec::new();
        for SessionMatch { session, .. } in sessions {
            let sub_agent = store.sub_agent(&session.id).await?;
            states.push(sub_agent.map(|status| format!("{}, {}", status.agent_type, status.state)).unwrap_or_default());
        }
        print(&table(sessions, &states).render(output.width))?;
    }
    Ok(Exit::Success)
}

/// With the type and the state of each that is a sub-agent's, if there is one.
fn table(sessions: &[SessionMatch], states: &[String]) -> Table {
    let has_sub_agents = states.iter().any(|state| !state.is_empty());
    let searched = sessions.iter().any(|matched| matched.excerpt.is_some());
    let mut columns = vec![("ID", ColumnFit::Keep), ("UPDATED", ColumnFit::Keep), ("AGENT", ColumnFit::Keep), ("ENTRIES", ColumnFit::Keep)];
    columns.extend(has_sub_agents.then_some(("SUB-AGENT", ColumnFit::Keep)));
    columns.push(("TITLE", ColumnFit::Wrap));
    columns.extend(searched.then_some(("FOUND", ColumnFit::Wrap)));
    let mut table = Table::new(&columns);
    for (SessionMatch { session, excerpt }, state) in sessions.iter().zip(states) {
        let (entries, updated) = (session.messages.to_string(), local_time(session.updated, WHEN));
        let title = session.title.as_deref().unwrap_or_default();
        let cells = [short_id(&session.id), &updated, &session.agent, &entries];
        let state = has_sub_agents.then_some(state.as_str());
        table.row(cells.into_iter().chain(state).chain([title]).chain(excerpt.as_deref()).map(TableCell::new).collect());
    }
    table
}

/// Everything that is stored of a session.
pub async fn entries(store: &Arc<dyn SessionStore>, session: &str) -> Result<Vec<LedgerEntry>, Failure> {
    let (mut entries, mut from) = (Vec::new(), 0);
    loop {
        let page = store.messages(session, from, PAGE).await?;
        let last = page.len() < PAGE;
        from += page.len() as u64;
        entries.extend(page.iter().filter_map(|record| serde_json::from_str(&record.body).ok()));
        if last {
            return Ok(entries);
        }
    }
}
