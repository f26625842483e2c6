//! Sessions in which something was said: titles and every message, newest first, within bounds.

use std::sync::Arc;

use haft_agent::Entry;
use haft_provider::{Block, Message, Piece};
use haft_store::{SessionFilter, SessionRecord, SessionStore};

use super::PAGE;
use crate::failure::Failure;
use crate::output::warn;

/// More entries than this are not looked at in one search.
const MOST_ENTRIES: u64 = 200_000;
/// How much is shown around what was found.
const AROUND: usize = 30;

/// A session, and the words around the first place in which it was said.
pub(crate) struct Found {
    pub(crate) session: SessionRecord,
    pub(crate) excerpt: Option<String>,
}

/// At most so many sessions, the one updated last first.
pub(super) async fn search(store: &Arc<dyn SessionStore>, filter: SessionFilter, wanted: &str) -> Result<Vec<Found>, Failure> {
    let limit = filter.limit.unwrap_or(usize::MAX);
    let (mut found, mut looked) = (Vec::new(), 0);
    for session in store.list(SessionFilter { limit: None, ..filter }).await? {
        if found.len() == limit {
            break;
        }
        if looked + session.messages > MOST_ENTRIES && looked > 0 {
            warn(&format!("only the newest sessions were searched, with {looked} entries: name the workspace, or search for a title"));
            break;
        }
        looked += session.messages;
        let title = session.title.as_deref().and_then(|title| excerpt(title, wanted));
        let excerpt = match title {
            Some(excerpt) => Some(excerpt),
            None => in_messages(store, &session.id, wanted).await?,
        };
        if excerpt.is_some() {
            found.push(Found { session, excerpt });
        }
    }
    Ok(found)
}

async fn in_messages(store: &Arc<dyn SessionStore>, session: &str, wanted: &str) -> Result<Option<String>, Failure> {
    let mut from = 0;
    while from < MOST_ENTRIES {
        let page = store.messages(session, from, PAGE).await?;
        let entries = page.iter().filter_map(|record| serde_json::from_str::<Entry>(&record.body).ok());
        let said = entries.flat_map(|entry| message(entry).into_iter().flat_map(|message| message.blocks)).flat_map(texts);
        if let Some(excerpt) = said.into_iter().find_map(|text| excerpt(&text, wanted)) {
            return Ok(Some(excerpt));
        }
        if page.len() < PAGE {
            break;
        }
        from += page.len() as u64;
    }
    Ok(None)
}

fn message(entry: Entry) -> Option<Message> {
    match entry {
        Entry::User { message } | Entry::Assistant { message, .. } | Entry::Results { message } | Entry::Summary { message, .. } => {
            Some(message)
        }
        _ => None,
    }
}

/// What a person would see of a block.
fn texts(block: Block) -> Vec<String> {
    match block {
        Block::Text { text, .. } => vec![text],
        Block::Call { name, arguments, .. } => vec![format!("{name} {arguments}")],
        Block::Result { content, .. } => {
            content.into_iter().filter_map(|piece| if let Piece::Text { text } = piece { Some(text) } else { None }).collect()
        }
        _ => Vec::new(),
    }
}

/// The words around what is wanted, on one line; `None` if it is not there.
fn excerpt(text: &str, wanted: &str) -> Option<String> {
    if !text.to_lowercase().contains(&wanted.to_lowercase()) {
        return None;
    }
    let letters: Vec<char> = text.chars().collect();
    let folded: Vec<String> = letters.iter().map(|letter| letter.to_lowercase().collect()).collect();
    let at = folded.concat().find(&wanted.to_lowercase())?;
    // Lower case may be longer than upper case, so the place is counted letter by letter.
    let mut bytes = 0;
    let start = folded.iter().take_while(|letter| {
        bytes += letter.len();
        bytes <= at
    });
    let start = start.count();
    let (from, to) = (start.saturating_sub(AROUND), (start + wanted.chars().count() + AROUND).min(letters.len()));
    let words: String = letters[from..to].iter().collect();
    let words = words.split_whitespace().collect::<Vec<_>>().join(" ");
    let mark = |cut: bool| if cut { "…" } else { "" };
    Some(format!("{}{words}{}", mark(from > 0), mark(to < letters.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_found_is_shown_with_the_words_around_it() {
        let long = format!("{} the Axe\nis sharp {}", "x".repeat(100), "y".repeat(100));
        for (text, wanted, expected) in [
            ("Sharpen the AXE", "axe", Some("Sharpen the AXE".to_owned())),
            ("İstanbul is GROSS", "groß", None),
            ("İİİ Größe", "GRÖSSE", None),
            ("İİİ Größe", "größe", Some("İİİ Größe".into())),
            ("nothing", "axe", None),
            ("a", "", Some("a".into())),
            (&long, "axe", Some(format!("…{} the Axe is sharp {}…", "x".repeat(25), "y".repeat(20)))),
        ] {
            assert_eq!(excerpt(text, wanted), expected, "{text} {wanted}");
        }
    }

    #[test]
    fn calls_and_results_are_searched_too() {
        let call = Block::Call { id: "1".into(), name: "read_file".into(), arguments: "{\"path\":\"a.txt\"}".into(), opaque: None };
        assert_eq!(texts(call), ["read_file {\"path\":\"a.txt\"}"]);
    }
}
