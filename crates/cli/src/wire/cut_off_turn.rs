//! A turn that was cut off when a server ended: how far its conversation came.

use std::time::SystemTime;

use haft_agent::LedgerEntry;
use haft_provider::{Block, Message};
use haft_store::{SessionStore, StoreError};

/// Messages of a conversation that are searched.
const LOOKED_AT: u64 = 400;

/// What a conversation already has of a turn.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum TurnProgress {
    Nothing,
    /// It was begun, and has no answer.
    Begun,
    Answered(String),
}

/// How far the turn came that begins with a message of the user from this number on which fits, given its text and its time.
pub(crate) async fn turn_progress(
    store: &dyn SessionStore,
    session: &str,
    since: u64,
    begins: impl Fn(&str, SystemTime) -> bool,
) -> Result<TurnProgress, StoreError> {
    let count = store.open(session).await?.messages;
    let from = count.saturating_sub(LOOKED_AT).max(since);
    let records = store.messages(session, from, usize::try_from(LOOKED_AT).unwrap_or(400)).await?;
    let entries: Vec<_> = records.iter().map(|record| (record.created, LedgerEntry::read(&record.kind, &record.body))).collect();
    let is_begin = |(created, entry): &(SystemTime, Option<LedgerEntry>)| match entry {
        Some(LedgerEntry::User { message }) => begins(&text_of(message), *created),
        _ => false,
    };
    let Some(begun) = entries.iter().position(is_begin) else { return Ok(TurnProgress::Nothing) };
    let last = entries[begun + 1..].iter().rev().find_map(|(_, entry)| entry.as_ref());
    Ok(match last {
        Some(LedgerEntry::Assistant { message, .. }) if message.blocks.iter().all(|block| block.call_id().is_none()) => {
            TurnProgress::Answered(text_of(message))
        }
        _ => TurnProgress::Begun,
    })
}

fn text_of(message: &Message) -> String {
    let texts = message.blocks.iter().filter_map(|block| if let Block::Text { text, .. } = block { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n\n")
}
