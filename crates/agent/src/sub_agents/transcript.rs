//! The end of a stored conversation, bounded and without secrets. It is read from its end, so its length does not matter.

use std::collections::VecDeque;
use std::time::SystemTime;

use haft_contract::{SessionMessage, SessionPage};
use haft_provider::{Block, Message, ResultPart};
use haft_redact::redact;
use haft_store::{MessageRecord, SessionStore, StoreError};
use haft_text::truncate::first_chars;

use crate::ledger::LedgerEntry;

/// How many entries are read at once.
const PAGE: u64 = 100;
/// How many characters of one text are shown.
const TEXT_CHARACTERS: usize = 4000;
/// How large all of it may be.
const MAX_BYTES: usize = 80 * 1024;
/// What a message costs beside its text.
const OVERHEAD: usize = 80;

/// Collects messages, newest first.
pub(super) struct PageBuilder {
    page: SessionPage,
    messages: VecDeque<SessionMessage>,
    limit: usize,
    with_tools: bool,
    bytes: usize,
}

impl PageBuilder {
    pub(super) fn new(id: &str, limit: usize, with_tools: bool) -> Self {
        let page = SessionPage { id: id.to_owned(), ..SessionPage::default() };
        Self { page, messages: VecDeque::new(), limit: limit.max(1), with_tools, bytes: 0 }
    }

    /// Adds an older entry; `false` if there is no more space.
    fn add(&mut self, record: &MessageRecord) -> bool {
        let Some(entry) = LedgerEntry::read(&record.kind, &record.body) else { return true };
        // The parts of an entry in their order; they are added from the last to the first.
        let mut parts = parts(&entry, self.with_tools);
        while let Some((role, text)) = parts.pop() {
            if self.messages.len() == self.limit || !self.put(role, &text, record.created) {
                return false;
            }
        }
        true
    }

    fn put(&mut self, role: &'static str, text: &str, created: SystemTime) -> bool {
        let redacted = redact(text);
        let shown = first_chars(&redacted, TEXT_CHARACTERS);
        let (is_cut, size) = (shown.len() < redacted.len(), shown.len() + OVERHEAD);
        if self.bytes + size > MAX_BYTES {
            return false;
        }
        self.bytes += size;
        self.page.is_cut |= is_cut;
        self.page.is_redacted |= redacted != text;
        let text = if is_cut { format!("{shown}\n[cut: {} characters]", redacted.chars().count()) } else { shown.to_owned() };
        self.messages.push_front(SessionMessage { role, text, created });
        true
    }

    fn finish(self, dropped: u64) -> SessionPage {
        SessionPage { messages: self.messages.into(), dropped, ..self.page }
    }
}

/// Reads the newest messages of a session that has `end` entries.
pub(super) async fn read_newest(
    store: &dyn SessionStore,
    session: &str,
    end: u64,
    mut builder: PageBuilder,
) -> Result<SessionPage, StoreError> {
    let mut end = end;
    while end > 0 {
        let from = end.saturating_sub(PAGE);
        let length = usize::try_from(end - from).unwrap_or(usize::MAX);
        for record in store.messages(session, from, length).await?.iter().rev() {
            if !builder.add(record) {
                return Ok(builder.finish(record.number + 1));
            }
        }
        end = from;
    }
    Ok(builder.finish(0))
}

/// The texts of an entry with their roles.
fn parts(entry: &LedgerEntry, with_tools: bool) -> Vec<(&'static str, String)> {
    match entry {
        LedgerEntry::User { message } | LedgerEntry::Results { message } => blocks("user", message, with_tools),
        LedgerEntry::Assistant { message, .. } => blocks("assistant", message, with_tools),
        LedgerEntry::Summary { message, .. } => blocks("summary", message, with_tools),
        // The answer that follows has it, too.
        LedgerEntry::Begun { .. } | LedgerEntry::Heard { .. } => Vec::new(),
    }
}

fn blocks(role: &'static str, message: &Message, with_tools: bool) -> Vec<(&'static str, String)> {
    message.blocks.iter().filter_map(|block| part(role, block, with_tools)).collect()
}

fn part(role: &'static str, block: &Block, with_tools: bool) -> Option<(&'static str, String)> {
    match block {
        Block::Text { text, .. } if !text.trim().is_empty() => Some((role, text.clone())),
        Block::Call { name, arguments, .. } if with_tools => Some(("tool", format!("call {name} {arguments}"))),
        Block::Result { name, content, .. } if with_tools => Some(("tool", format!("result of {name}: {}", result_text(content)))),
        Block::Image { mime, data, .. } => Some((role, format!("[a picture, {mime}, {} bytes in base64, left out]", data.len()))),
        _ => None,
    }
}

fn result_text(content: &[ResultPart]) -> String {
    let texts = content.iter().map(|part| match part {
        ResultPart::Text { text } => text.clone(),
        ResultPart::Image { mime, data } => format!("[a picture, {mime}, {} bytes in base64, left out]", data.len()),
        _ => String::new(),
    });
    texts.collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use haft_provider::{StopReason, Usage};
    use haft_store::{NewMessage, NewSession};

    use super::*;
    use crate::test_stores::session_store;

    async fn page_of(entries: &[LedgerEntry], limit: usize, with_tools: bool) -> SessionPage {
        let store = session_store();
        let session = store.create(NewSession::new("main", std::path::Path::new("/w"))).await.unwrap();
        let message = |entry: &LedgerEntry| NewMessage::new(entry.kind(), serde_json::to_string(entry).unwrap());
        let end = store.append(&session.id, None, entries.iter().map(message).collect()).await.unwrap();
        read_newest(&*store, &session.id, end, PageBuilder::new(&session.id, limit, with_tools)).await.unwrap()
    }

    fn user(text: &str) -> LedgerEntry {
        LedgerEntry::User { message: Message::user(text) }
    }

    fn texts(page: &SessionPage) -> Vec<(&str, &str)> {
        page.messages.iter().map(|message| (message.role, message.text.as_str())).collect()
    }

    #[tokio::test]
    async fn newest_of_100_000_messages_are_read_from_the_end() {
        let entries: Vec<LedgerEntry> = (0..100_000).map(|number| user(&number.to_string())).collect();
        let page = page_of(&entries, 2, false).await;
        assert_eq!(texts(&page), [("user", "99998"), ("user", "99999")]);
        assert_eq!((page.dropped, page.is_cut, page.is_redacted), (99_998, false, false));
    }

    #[tokio::test]
    async fn texts_and_the_whole_are_bounded() {
        let entries: Vec<LedgerEntry> = (0..30).map(|number| user(&format!("{number}{}", "ü".repeat(5000)))).collect();
        let page = page_of(&entries, 1000, false).await;
        assert!(page.is_cut && page.dropped > 0);
        let bytes: usize = page.messages.iter().map(|message| message.text.len()).sum();
        assert!(bytes <= MAX_BYTES && page.messages.len() > 5, "{bytes}");
        let last = &page.messages.last().unwrap().text;
        assert!(last.starts_with("29ü") && last.ends_with("ü\n[cut: 5002 characters]"), "{last}");
    }

    #[tokio::test]
    async fn tools_are_shown_on_request_and_pictures_never() {
        let call = Block::Call { id: "1".into(), name: "noop".into(), arguments: "{}".into(), opaque: None };
        let result = Block::Result {
            id: "1".into(),
            name: "noop".into(),
            content: vec![ResultPart::Text { text: "done".into() }, ResultPart::Image { mime: "image/png".into(), data: "AAAA".into() }],
            is_error: false,
        };
        let message = Message::assistant(vec![Block::text("I call."), call]);
        let entries = [
            user("go"),
            LedgerEntry::Assistant { message, model: "m".into(), stop: StopReason::ToolCalls, usage: Usage::default() },
            LedgerEntry::Results { message: Message::results(vec![result, Block::text("steered")]) },
        ];
        assert_eq!(texts(&page_of(&entries, 10, false).await), [("user", "go"), ("assistant", "I call."), ("user", "steered")]);
        let shown = page_of(&entries, 10, true).await;
        let expected = [
            ("user", "go"),
            ("assistant", "I call."),
            ("tool", "call noop {}"),
            ("tool", "result of noop: done\n[a picture, image/png, 4 bytes in base64, left out]"),
            ("user", "steered"),
        ];
        assert_eq!(texts(&shown), expected);
        assert_eq!(texts(&page_of(&entries, 1, true).await), [("user", "steered")]);
    }
}
