//! `haft sessions`: conversations that were held, shown, copied, taken out and removed.

use std::sync::Arc;
use std::time::SystemTime;

use haft_agent::Entry;
use haft_contract::visible;
use haft_provider::{Block, Message, Piece};
use haft_store::{SessionFilter, SessionRecord, SessionStore};
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::arguments::{Common, Sessions};
use crate::commands::block_on;
use crate::commands::history::local_time;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, STRONG, print};
use crate::page::Page;
use crate::table::{Cell, Room, Table};
use crate::wire;

/// How many messages are read at once.
const PAGE: usize = 1000;
/// How times are written.
const WHEN: &str = "%Y-%m-%d %H:%M";
/// How much of a result is shown.
const SHOWN_CHARACTERS: usize = 400;

pub(crate) fn run(common: &Common, command: &Sessions, output: &Output) -> Result<Exit, Failure> {
    let workspace = wire::workspace(common)?;
    block_on(async {
        let store = wire::stores(&wire::data_folder()?)?.sessions;
        match command {
            Sessions::List { all, limit } => {
                let filter =
                    SessionFilter { workspace: (!all).then_some(workspace), limit: Some(*limit as usize), ..SessionFilter::default() };
                list(&store.list(filter).await?, output)
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

fn facts(session: &SessionRecord) -> Value {
    json!({
        "id": session.id, "title": session.title, "agent": session.agent, "model": session.model,
        "workspace": session.workspace.to_string_lossy(), "messages": session.messages,
        "created": moment(session.created), "updated": moment(session.updated),
    })
}

/// A time for programs.
fn moment(time: SystemTime) -> Option<String> {
    Timestamp::try_from(time).ok().map(|time| time.to_string())
}

fn list(sessions: &[SessionRecord], output: &Output) -> Result<Exit, Failure> {
    if output.json {
        output.data(&sessions.iter().map(facts).collect::<Vec<_>>())?;
        return Ok(Exit::Success);
    }
    let columns = [("ID", Room::Keep), ("UPDATED", Room::Keep), ("AGENT", Room::Keep), ("ENTRIES", Room::Keep), ("TITLE", Room::Wrap)];
    let mut table = Table::new(&columns);
    for session in sessions {
        let (entries, updated) = (session.messages.to_string(), local_time(session.updated, WHEN));
        // The end of an id tells sessions apart: its beginning is the time.
        let short = &session.id[session.id.len().saturating_sub(8)..];
        let title = visible::line(session.title.as_deref().unwrap_or_default());
        let cells = [short, &updated, &session.agent, &entries, &title];
        table.row(cells.into_iter().map(Cell::new).collect());
    }
    print(&table.render(output.width))?;
    Ok(Exit::Success)
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
    output.data(&json!({ "session": facts(&session), "entries": entries }))?;
    Ok(Exit::Success)
}

async fn show(store: &Arc<dyn SessionStore>, id: &str, output: &Output) -> Result<Exit, Failure> {
    if output.json {
        return export(store, id, output).await;
    }
    let session = store.open(id).await?;
    let mut page = Page::default();
    page.line(format_args!("{STRONG}{}{STRONG:#} {DIM}{}{DIM:#}", session.id, local_time(session.created, WHEN)));
    for entry in entries(store, &session.id).await? {
        match entry {
            Entry::User { message } => said("you", &message, &mut page),
            Entry::Assistant { message, model, .. } => said(&model, &message, &mut page),
            Entry::Results { message } => said("results", &message, &mut page),
            _ => {}
        }
    }
    print(&page.finish())?;
    Ok(Exit::Success)
}

fn said(who: &str, message: &Message, page: &mut Page) {
    page.line(format_args!("\n{STRONG}{}{STRONG:#}", visible::line(who)));
    for block in &message.blocks {
        match block {
            Block::Text { text, .. } => page.line(visible::lines(text)),
            Block::Call { name, arguments, .. } => page.line(format_args!("→ {} {}", visible::line(name), short(arguments))),
            Block::Result { name, content, is_error, .. } => {
                let text = content.iter().find_map(|piece| if let Piece::Text { text } = piece { Some(text.as_str()) } else { None });
                let mark = if *is_error { "failed" } else { "ok" };
                page.line(format_args!("← {} {mark}: {}", visible::line(name), short(text.unwrap_or_default())));
            }
            _ => {}
        }
    }
}

fn short(text: &str) -> String {
    let text = visible::line(text);
    match text.char_indices().nth(SHOWN_CHARACTERS) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.into_owned(),
    }
}
