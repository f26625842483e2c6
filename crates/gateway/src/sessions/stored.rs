//! The transcript that the store has, as items.

use std::collections::HashMap;

use haft_agent::{LedgerEntry, Prices};
use haft_provider::{Block, Message, ResultPart, Usage};
use haft_store::{CallFilter, CallLog, CallRecord, MessageRecord, SessionStore, StoreError};
use serde_json::Value;

use super::live::dollars;
use crate::api::{AnswerUsage, CallState, CallView, ItemContent, ItemView};
use crate::attachments::shown_text;
use crate::render;
use crate::time::timestamp;

/// Newest calls of a session that are searched for those of a page.
const MOST_CALLS: usize = 5_000;

/// Items of the messages before a number, at least `limit` if there are so many; and the number before which older ones are.
pub(crate) async fn stored_items(
    sessions: &dyn SessionStore,
    calls: &dyn CallLog,
    prices: &Prices,
    session: &str,
    before: u64,
    limit: usize,
) -> Result<(Vec<ItemView>, Option<u64>), StoreError> {
    let mut from = before.saturating_sub(limit as u64);
    let mut records = sessions.messages(session, from, limit).await?;
    records.retain(|record| record.number < before);
    // A page begins with an answer, not with results whose calls would be missing, nor between calls that were begun and their answer.
    while from > 0 {
        let mut earlier = sessions.messages(session, from - 1, 1).await?;
        let is_cut = records.first().is_some_and(|record| record.kind == "results") || earlier.iter().any(|record| record.kind == "begun");
        if !is_cut {
            break;
        }
        from -= 1;
        earlier.append(&mut records);
        records = earlier;
    }
    let has_calls = records.iter().any(|record| record.kind == "assistant" || record.kind == "begun");
    let history = if has_calls { recorded_calls(calls, session).await? } else { HashMap::new() };
    let mut transcript = Transcript { session, history, prices, begun: Vec::new(), items: Vec::new() };
    for record in &records {
        transcript.take(record);
    }
    Ok((transcript.items, (from > 0).then_some(from)))
}

async fn recorded_calls(calls: &dyn CallLog, session: &str) -> Result<HashMap<String, CallRecord>, StoreError> {
    let filter = CallFilter { session: Some(session.to_owned()), limit: Some(MOST_CALLS), ..CallFilter::default() };
    Ok(calls.list(filter).await?.into_iter().map(|record| (record.call_id.clone(), record)).collect())
}

struct Transcript<'a> {
    session: &'a str,
    history: HashMap<String, CallRecord>,
    prices: &'a Prices,
    /// Calls whose answer has not come yet. The answer of a process that was killed never comes.
    begun: Vec<(&'a MessageRecord, Block)>,
    items: Vec<ItemView>,
}

impl<'a> Transcript<'a> {
    fn take(&mut self, record: &'a MessageRecord) {
        // An entry of a kind that this version does not know is not shown.
        let Some(entry) = LedgerEntry::read(&record.kind, &record.body) else { return };
        match &entry {
            LedgerEntry::Begun { call } => return self.begun.push((record, call.clone())),
            // It contains the calls.
            LedgerEntry::Assistant { .. } => self.begun.clear(),
            LedgerEntry::Heard { .. } => {}
            _ => self.add_interrupted(),
        }
        match entry {
            LedgerEntry::User { message } => self.user(record, &message),
            LedgerEntry::Assistant { message, model, usage, .. } => self.assistant(record, &message, &model, usage),
            LedgerEntry::Results { message } => self.results(record, &message),
            LedgerEntry::Summary { message, .. } => {
                let text = text_of(&message);
                let html = render::markdown(&text);
                self.add(record, 0, ItemContent::Summary { text, html });
            }
            _ => {}
        }
    }

    /// The calls of an answer that was cut off.
    fn add_interrupted(&mut self) {
        for (record, call) in std::mem::take(&mut self.begun) {
            self.add_call(record, 0, &call);
        }
    }

    fn add(&mut self, record: &MessageRecord, part: usize, content: ItemContent) {
        self.items.push(ItemView { id: format!("m{}.{part}", record.number), content });
    }

    fn user(&mut self, record: &MessageRecord, message: &Message) {
        let text = shown_text(message);
        if !text.trim().is_empty() {
            let (html, at) = (render::markdown(&text), timestamp(record.created));
            self.add(record, 0, ItemContent::User { text, html, at, number: Some(record.number), queued: false });
        }
    }

    fn assistant(&mut self, record: &MessageRecord, message: &Message, model: &str, usage: Usage) {
        let usage = self.usage(model, usage);
        let at = timestamp(record.created);
        for (part, block) in message.blocks.iter().enumerate() {
            match block {
                Block::Text { text, .. } if !text.trim().is_empty() => {
                    let (text, blocks) = (text.clone(), render::blocks(text));
                    let (at, model, usage) = (at.clone(), Some(model.to_owned()), usage.clone());
                    let content = ItemContent::Assistant { text, blocks, at, model, streaming: false, usage };
                    self.add(record, part, content);
                }
                Block::Thinking { text, .. } if !text.trim().is_empty() => {
                    self.add(record, part, ItemContent::Thinking { text: text.clone() });
                }
                Block::Call { .. } => self.add_call(record, part, block),
                _ => {}
            }
        }
    }

    /// What an answer used; nothing of a model that counts nothing.
    fn usage(&self, model: &str, usage: Usage) -> Option<AnswerUsage> {
        let cost = dollars(self.prices.find(model).map(|price| price.cost(usage)));
        let view = AnswerUsage { input_tokens: usage.input, output_tokens: usage.output, cached_tokens: usage.cached, cost };
        (usage != Usage::default()).then_some(view)
    }

    fn add_call(&mut self, record: &MessageRecord, part: usize, block: &Block) {
        let Block::Call { id, name, arguments, .. } = block else { return };
        let unrecorded = || {
            let mut call = CallView::begin(self.session, "", id, name, arguments);
            (call.state, call.started) = (CallState::Interrupted, timestamp(record.created));
            call
        };
        let call = self.history.get(id).map_or_else(unrecorded, CallView::recorded);
        let response = format!("m{}", record.number);
        self.add(record, part, ItemContent::Call { response, call: Box::new(call) });
    }

    /// Results belong to their calls; what the user said meanwhile is an item of its own.
    fn results(&mut self, record: &MessageRecord, message: &Message) {
        for (part, block) in message.blocks.iter().enumerate() {
            match block {
                Block::Result { id, content, is_error, .. } => self.add_result(id, content, *is_error),
                Block::Text { text, .. } if !text.trim().is_empty() => {
                    let is_notice = text.starts_with('[');
                    let (html, at) = (render::markdown(text), timestamp(record.created));
                    let content = if is_notice {
                        ItemContent::Notice { text: render::visible(text).into_owned(), level: "info" }
                    } else {
                        ItemContent::User { text: text.clone(), html, at, number: None, queued: false }
                    };
                    self.add(record, part, content);
                }
                _ => {}
            }
        }
    }

    fn add_result(&mut self, id: &str, content: &[ResultPart], is_error: bool) {
        let found = self.items.iter_mut().rev().find_map(|item| match &mut item.content {
            ItemContent::Call { call, .. } if call.id == id => Some(call),
            _ => None,
        });
        let Some(call) = found else { return };
        let text = content.iter().find_map(|part| if let ResultPart::Text { text } = part { Some(text.as_str()) } else { None });
        let envelope: Value = text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default();
        let whole = envelope["result"].as_str().or(envelope["message"].as_str()).or(text).unwrap_or_default();
        // The history has the head of a result, the transcript all that the model got.
        call.set_stored_result(whole, envelope["error_type"].as_str().filter(|_| is_error));
        call.set_stored_images(content.iter().filter_map(|part| match part {
            ResultPart::Image { mime, data } => Some((mime.as_str(), data.as_str())),
            _ => None,
        }));
    }
}

fn text_of(message: &Message) -> String {
    let texts = message.blocks.iter().filter_map(|block| if let Block::Text { text, .. } = block { Some(text.as_str()) } else { None });
    texts.collect::<Vec<_>>().join("\n\n")
}

#[cfg(test)]
mod tests {
    use haft_provider::StopReason;
    use haft_store::{InMemoryCallLog, InMemorySessionStore, NewMessage, NewSession};

    use super::*;

    fn call(id: &str) -> Block {
        Block::Call { id: id.into(), name: "exec".into(), arguments: "{}".into(), opaque: None }
    }

    fn entries() -> Vec<LedgerEntry> {
        let answer = |ids: &[&str]| LedgerEntry::Assistant {
            message: Message::assistant(ids.iter().map(|id| call(id)).collect()),
            model: "m".into(),
            stop: StopReason::ToolCalls,
            usage: Usage::default(),
        };
        let result = |id: &str| Block::Result { id: id.into(), name: "exec".into(), content: Vec::new(), is_error: false };
        let results = |ids: &[&str]| LedgerEntry::Results {
            message: Message { role: haft_provider::Role::User, blocks: ids.iter().map(|id| result(id)).collect() },
        };
        let begun = |id: &str| LedgerEntry::Begun { call: call(id) };
        vec![
            LedgerEntry::User { message: Message::user("go") },
            begun("a"),
            begun("b"),
            answer(&["a", "b"]),
            results(&["a", "b"]),
            begun("c"),
            begun("d"),
            // The process was killed before the answer was whole.
            results(&["c", "d"]),
            LedgerEntry::User { message: Message::user("continue") },
        ]
    }

    #[tokio::test]
    async fn calls_of_an_answer_that_was_cut_off_are_items_once_on_every_page() {
        let (sessions, calls) = (InMemorySessionStore::default(), InMemoryCallLog::default());
        let session = sessions.create(NewSession::new("main", std::path::Path::new("/w"))).await.unwrap().id;
        let messages = entries().iter().map(|entry| NewMessage::new(entry.kind(), serde_json::to_string(entry).unwrap())).collect();
        sessions.append(&session, None, messages).await.unwrap();
        for limit in 1..=10 {
            let (mut before, mut ids) = (9, Vec::new());
            loop {
                let (items, next) = stored_items(&sessions, &calls, &Prices::default(), &session, before, limit).await.unwrap();
                let of_page = items.iter().filter_map(|item| match &item.content {
                    ItemContent::Call { call, .. } => Some(call.id.clone()),
                    _ => None,
                });
                ids.splice(0..0, of_page);
                let Some(next) = next else { break };
                before = next;
            }
            assert_eq!(ids, ["a", "b", "c", "d"], "pages of {limit}");
        }
    }
}
