//! `haft sessions`: conversations that were held, found again, shown, gone on with, copied, taken out and removed.

mod search;
mod show;

use std::sync::Arc;
use std::time::SystemTime;

use haft_agent::{Entry, Micros};
use haft_contract::visible;
use haft_store::{SessionFilter, SessionRecord, SessionStore, UsageSum};
use jiff::Timestamp;
use serde_json::{Value, json};

pub(crate) use self::search::Found;
use self::search::search;
use self::show::show;
use crate::arguments::{Chat, Common, Run, Sessions};
use crate::commands::history::local_time;
use crate::commands::{block_on, chat};
use crate::failure::{Exit, Failure};
use crate::output::{Output, note, print};
use crate::table::{Cell, Room, Table};
use crate::wire;

/// How many messages are read at once.
const PAGE: usize = 1000;
/// How times are written.
const WHEN: &str = "%Y-%m-%d %H:%M";

pub(crate) fn run(common: &Common, command: &Sessions, output: &Output) -> Result<Exit, Failure> {
    if let Sessions::Resume { id, prompt } = command {
        return resume(common, id, prompt.as_deref(), output);
    }
    let workspace = wire::workspace(common)?;
    block_on(async {
        let store = wire::stores(&wire::data_folder()?)?.sessions;
        match command {
            Sessions::List { all, limit, search: wanted } => {
                let filter =
                    SessionFilter { workspace: (!all).then_some(workspace), limit: Some(*limit as usize), ..SessionFilter::default() };
                list(&store, &found(&store, filter, wanted.as_deref()).await?, output).await
            }
            Sessions::Show { id } => show(&store, id, output).await,
            Sessions::Export { id } => export(&store, id, output).await,
            Sessions::Fork { id, at } => {
                let session = store.open(id).await?;
                let copy = store.fork(&session.id, *at).await?;
                say(output, &format!("forked: {copy}"), &json!({ "id": copy, "from": session.id }))
            }
            Sessions::Delete { id } => {
                let session = store.open(id).await?;
                store.delete(&session.id).await?;
                say(output, &format!("deleted: {}", session.id), &json!({ "deleted": session.id }))
            }
            // It holds its own conversation, and was answered above.
            Sessions::Resume { .. } => Ok(Exit::Success),
        }
    })
}

fn say(output: &Output, words: &str, data: &Value) -> Result<Exit, Failure> {
    if output.json {
        output.data(data)?;
    } else {
        print(&format!("{words}\n"))?;
    }
    Ok(Exit::Success)
}

/// Goes on where the session was held and with the agent it was held with, unless the command line says otherwise.
fn resume(common: &Common, id: &str, prompt: Option<&str>, output: &Output) -> Result<Exit, Failure> {
    let session = block_on(async { Ok(wire::stores(&wire::data_folder()?)?.sessions.open(id).await?) })?;
    let Some(prompt) = prompt else {
        // It finds the folder and the agent itself.
        return chat::run(common, &Chat { resume: Some(session.id), ..Chat::default() }, output);
    };
    let mut common = common.clone();
    if common.workspace.is_none() && session.workspace.is_dir() && wire::workspace(&common)? != session.workspace {
        note(&format!("working in {}, where the session was held", visible::line(&session.workspace.to_string_lossy())));
        common.workspace = Some(session.workspace);
    }
    common.agent.get_or_insert(session.agent);
    let request = Run { prompt: prompt.to_owned(), model: None, session: Some(session.id), max_rounds: None };
    super::run::run(&common, &request, output)
}

/// The end of an id tells sessions apart: its beginning is the time.
pub(crate) fn short_id(id: &str) -> &str {
    &id[id.len().saturating_sub(8)..]
}

pub(crate) async fn found(store: &Arc<dyn SessionStore>, filter: SessionFilter, wanted: Option<&str>) -> Result<Vec<Found>, Failure> {
    match wanted {
        Some(wanted) => search(store, filter, wanted).await,
        None => Ok(store.list(filter).await?.into_iter().map(|session| Found { session, excerpt: None }).collect()),
    }
}

async fn facts(store: &Arc<dyn SessionStore>, session: &SessionRecord) -> Result<Value, Failure> {
    let usage = store.session_usage(&session.id).await?;
    Ok(json!({
        "id": session.id, "title": session.title, "agent": session.agent, "model": session.model,
        "workspace": session.workspace.to_string_lossy(), "messages": session.messages,
        "created": moment(session.created), "updated": moment(session.updated), "usage": usage_json(&usage),
    }))
}

/// A sum that leaves some of it out is no sum: without the price of every answer there is none.
fn usage_json(usage: &UsageSum) -> Value {
    json!({
        "requests": usage.requests, "input_tokens": usage.input, "output_tokens": usage.output, "cached_tokens": usage.cached,
        "reasoning_tokens": usage.reasoning, "cost": whole_cost(usage).map(dollars), "unpriced_requests": usage.unpriced,
    })
}

fn whole_cost(usage: &UsageSum) -> Option<Micros> {
    (usage.requests > 0 && usage.unpriced == 0).then_some(Micros(usage.cost_micros))
}

#[allow(clippy::cast_precision_loss)] // nobody pays so much that it shows
fn dollars(cost: Micros) -> f64 {
    cost.0 as f64 / 1e6
}

/// A time for programs.
fn moment(time: SystemTime) -> Option<String> {
    Timestamp::try_from(time).ok().map(|time| time.to_string())
}

pub(crate) async fn list(store: &Arc<dyn SessionStore>, sessions: &[Found], output: &Output) -> Result<Exit, Failure> {
    if output.json {
        let mut all = Vec::new();
        for Found { session, excerpt } in sessions {
            let mut facts = facts(store, session).await?;
            if excerpt.is_some() {
                facts["found"] = json!(excerpt);
            }
            all.push(facts);
        }
        output.data(&all)?;
    } else {
        print(&table(sessions).render(output.width))?;
    }
    Ok(Exit::Success)
}

fn table(sessions: &[Found]) -> Table {
    let searched = sessions.iter().any(|found| found.excerpt.is_some());
    let mut columns =
        vec![("ID", Room::Keep), ("UPDATED", Room::Keep), ("AGENT", Room::Keep), ("ENTRIES", Room::Keep), ("TITLE", Room::Wrap)];
    columns.extend(searched.then_some(("FOUND", Room::Wrap)));
    let mut table = Table::new(&columns);
    for Found { session, excerpt } in sessions {
        let (entries, updated) = (session.messages.to_string(), local_time(session.updated, WHEN));
        let title = session.title.as_deref().unwrap_or_default();
        let cells = [short_id(&session.id), &updated, &session.agent, &entries, title];
        table.row(cells.into_iter().chain(excerpt.as_deref()).map(Cell::new).collect());
    }
    table
}

async fn entries(store: &Arc<dyn SessionStore>, session: &str) -> Result<Vec<Entry>, Failure> {
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

async fn export(store: &Arc<dyn SessionStore>, id: &str, output: &Output) -> Result<Exit, Failure> {
    let session = store.open(id).await?;
    let entries = entries(store, &session.id).await?;
    output.data(&json!({ "session": facts(store, &session).await?, "entries": entries }))?;
    Ok(Exit::Success)
}
