//! Searches titles and messages of sessions, newest first.

use std::sync::Arc;

use haft_agent::LedgerEntry;
use haft_provider::{Block, Message, ResultPart};
use haft_store::{SessionFilter, SessionRecord, SessionStore};

use super::PAGE;
use crate::failure::Failure;
use crate::output::warn;

/// How many entries one search reads.
const MOST_ENTRIES: u64 = 200_000;
/// Characters of context around a match.
const AROUND: usize = 30;

/// A session, and the text around the first match.
#[derive(Debug)]
pub struct SessionMatch {
    pub session: SessionRecord,
    pub excerpt: Option<String>,
}

/// Sessions that contain a text, the one updated last first.
pub(super) async fn search(store: &Arc<dyn SessionStore>, filter: SessionFilter, wanted: &str) -> Result<Vec<SessionMatch>, Failure> {
    let limit = filter.limit.unwrap_or(usize::MAX);
    let (mut matches, mut searched) = (Vec::new(), 0);
    for session in store.list(SessionFilter { limit: None, ..filter }).await? {
        if matches.len() == limit {
            break;
        }
        if searched + session.messages > MOST_ENTRIES && searched > 0 {
            warn(&format!("only the newest sessions were searched, with {searched} entries; name the workspace to search fewer"));
            break;
        }
        searched += session.messages;
        let title = session.title.as_deref().and_then(|title| excerpt(title, wanted));
        let excerpt = match title {
            Some(excerpt) => Some(excerpt),
            None => in_messages(store, &session.id, wanted).await?,
        };
        if excerpt.is_some() {
            matches.push(SessionMatch { session, excerpt });
        }
    }
    Ok(matches)
}

async fn in_messages(store: &Arc<dyn SessionStore>, session: &str, wanted: &str) -> Result<Option<String>, Failure> {
    let mut from = 0;
    while from < MOST_ENTRIES {
        let page = store.messages(session, from, PAGE).await?;
        let entries = page.iter().filter_map(|record| serde_json::from_str::<LedgerEntry>(&record.body).ok());
        let texts = entries.flat_map(|entry| message(entry).into_iter().flat_map(|message| message.blocks)).flat_map(block_texts);
        if let Some(excerpt) = texts.into_iter().find_map(|text| excerpt(&text, wanted)) {
            return Ok(Some(excerpt));
        }
        if page.len() < PAGE {
            break;
        }
        from += page.len() as u64;
    }
    Ok(None)
}

fn message(entry: LedgerEntry) -> Option<Message> {
    match entry {
        LedgerEntry::User { message }
        | LedgerEntry::Assistant { message, .. }
        | LedgerEntry::Results { message }
        | LedgerEntry::Summary { message, .. } => Some(message),
        _ => None,
    }
}

/// The visible text of a block.
fn block_texts(block: Block) -> Vec<String> {
    match block {
        Block::Text { text, .. } => vec![text],
        Block::Call { name, arguments, .. } => vec![format!("{name} {arguments}")],
        Block::Result { content, .. } => {
            content.into_iter().filter_map(|piece| if let ResultPart::Text { text } = piece { Some(text) } else { None }).collect()
        }
        _ => Vec::new(),
    }
}

/// The text around a match, on one line.
fn excerpt(text: &str, wanted: &str) -> Option<String> {
    if !text.to_lowercase().contains(&wanted.to_lowercase()) {
        return None;
    }
    let chars: Vec<char> = text.chars().collect();
    let lower: Vec<String> = chars.iter().map(|ch| ch.to_lowercase().collect()).collect();
    let at = lower.concat().find(&wanted.to_lowercase())?;
    // Lower case may have more bytes than upper case, so the position is counted in characters.
    let mut bytes = 0;
    let start = lower.iter().take_while(|ch| {
        bytes += ch.len();
        bytes <= at
    });
    let start = start.count();
    let (from, to) = (start.saturating_sub(AROUND), (start + wanted.chars().count() + AROUND).min(chars.len()));
    let excerpt: String = chars[from..to].iter().collect();
    let excerpt = excerpt.split_whitespace().collect::<Vec<_>>().join(" ");
    let dots = |cut: bool| if cut { "…" } else { "" };
    Some(format!("{}{excerpt}{}", dots(from > 0), dots(to < chars.len())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpt_shows_the_text_around_a_match() {
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
    fn search_covers_calls_and_results() {
        let call = Block::Call { id: "1".into(), name: "read_file".into(), arguments: "{\"path\":\"a.txt\"}".into(), opaque: None };
        assert_eq!(block_texts(call), ["read_file {\"path\":\"a.txt\"}"]);
    }
}
