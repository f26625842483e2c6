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
    // A page begins with an answer, not with results whose calls would be missing.
    let mut records = sessions.messages(session, from, limit).await?;
    records.retain(|record| record.number < before);
    while from > 0 && records.first().is_some_and(|record| record.kind == "results") {
        from -= 1;
        let mut earlier = sessions.messages(session, from, 1).await?;
        earlier.append(&mut records);
        records = earlier;
    }
    let has_calls = records.iter().any(|record| record.kind == "assistant");
    let history = if has_calls { recorded_calls(calls, session).await? } else { HashMap::new() };
    let mut transcript = Transcript { session, history, prices, items: Vec::new() };
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
    items: Vec<ItemView>,
}

impl Transcript<'_> {
    fn take(&mut self, record: &MessageRecord) {
        // An entry of a kind that this version does not know is not shown.
        let Some(entry) = LedgerEntry::read(&record.kind, &record.body) else { return };
        match entry {
            LedgerEntry::User { message } => self.user(record, &message),
            LedgerEntry::Assistant { message, model, usage, .. } => self.assistant(record, &message, &model, usage),
            LedgerEntry::Results { message } => self.results(record, &message),
            LedgerEntry::Summary { message, .. } => {
                let text = text_of(&message);
                let html = render::markdown(&text);
                self.add(record, 0, ItemContent::Summary { text, html });
            }
            // The answer that follows contains the call.
            _ => {}
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
                Block::Call { id, name, arguments, .. } => {
                    let unrecorded = || {
                        let mut call = CallView::begin(self.session, "", id, name, arguments);
                        (call.state, call.started) = (CallState::Interrupted, at.clone());
                        call
                    };
                    let call = self.history.get(id).map_or_else(unrecorded, CallView::recorded);
                    let response = format!("m{}", record.number);
                    self.add(record, part, ItemContent::Call { response, call: Box::new(call) });
                }
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
