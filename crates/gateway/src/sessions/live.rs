//! The turn that runs: what the store does not have yet.

use haft_agent::{Micros, TurnEnd};
use haft_contract::ToolResult;
use haft_contract::ports::UserMessage;
use haft_store::CallRecord;
use serde_json::{Value, json};

use crate::api::{CallState, CallView, ItemContent, ItemView, TurnEndView};
use crate::render::{self, MarkdownBlocks};
use crate::time::{milliseconds, timestamp};

/// Items of one turn that are kept for pages that open meanwhile. The calls of all are in the history.
const MOST_ITEMS: usize = 2_000;

/// A turn that runs. Every change returns the events that tell it.
#[derive(Debug, Default)]
pub(super) struct LiveTurn {
    /// Number of the turn in this server, for ids.
    turn: u64,
    next: u64,
    /// Answers of the model that are complete.
    responses: u64,
    /// Messages that were stored before it.
    pub(super) base: Option<u64>,
    /// Changes with each begin and end.
    pub(super) generation: u64,
    /// Whether the process that runs it elsewhere hears what it is told.
    pub(super) is_heard: bool,
    pub(super) items: Vec<ItemView>,
    /// The text that grows.
    growing: Option<GrowingText>,
    /// Approvals that are open.
    pub(super) waiting: usize,
    pub(super) context_tokens: Option<u64>,
    pub(super) last_line: Option<String>,
}

#[derive(Debug, Default)]
struct GrowingText {
    item: String,
    blocks: MarkdownBlocks,
    /// What was not sent yet.
    delta: String,
    is_thinking: bool,
}

/// What became of a question.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ApprovalChange {
    Opened,
    Closed,
}

/// An event, without its session.
pub(super) type LiveEvent = (&'static str, Value);

impl LiveTurn {
    /// Begins a turn; ids continue after this number, which grows over restarts of the server.
    pub(super) fn begin(&mut self, number: u64, base: u64) {
        let (generation, context_tokens, last_line) = (self.generation + 1, self.context_tokens, self.last_line.take());
        *self = Self { turn: number, base: Some(base), generation, context_tokens, last_line, ..Self::default() };
    }

    /// The store has everything now.
    pub(super) fn clear(&mut self) {
        (self.base, self.generation, self.is_heard) = (None, self.generation + 1, false);
        self.items = Vec::new();
        (self.growing, self.waiting) = (None, 0);
    }

    pub(super) fn user(&mut self, text: &str, number: Option<u64>, queued: bool) -> (String, Vec<LiveEvent>) {
        let content = ItemContent::User { text: text.to_owned(), html: render::markdown(text), at: now(), number, queued };
        let mut events = self.flush();
        let (id, event) = self.add(content);
        events.push(event);
        (id, events)
    }

    pub(super) fn notice(&mut self, text: &str) -> Vec<LiveEvent> {
        self.end_text_with(ItemContent::Notice { text: render::visible(text).into_owned(), level: "info" })
    }

    pub(super) fn message(&mut self, message: &UserMessage) -> Vec<LiveEvent> {
        let (text, html) = (message.message.clone(), render::markdown(&message.message));
        let level = json!(message.level).as_str().unwrap_or("info").to_owned();
        self.end_text_with(ItemContent::Message { text, html, level })
    }

    pub(super) fn end(&mut self, end: &TurnEnd) -> Vec<LiveEvent> {
        self.context_tokens = Some(end.context);
        let view = TurnEndView {
            reason: end.reason.as_str(),
            error: end.error.clone(),
            calls: end.calls,
            rounds: end.rounds,
            input_tokens: end.usage.input,
            output_tokens: end.usage.output,
            cached_tokens: end.usage.cached,
            cost: dollars(end.cost),
            duration_ms: milliseconds(end.elapsed),
            context_tokens: end.context,
        };
        self.last_line = end.text.lines().last().map(|line| haft_text::display::shorten(line, 120).into_owned());
        self.end_text_with(ItemContent::TurnEnd(Box::new(view)))
    }

    /// Text of the model; it is sent by [`flush_due`](Self::flush_due), some deltas at once.
    pub(super) fn text(&mut self, delta: &str, model: Option<&str>) -> Vec<LiveEvent> {
        let mut events = Vec::new();
        if self.growing.as_ref().is_none_or(|growing| growing.is_thinking) {
            events.extend(self.end_text());
            let model = model.map(str::to_owned);
            let content =
                ItemContent::Assistant { text: String::new(), blocks: Vec::new(), at: now(), model, streaming: true, usage: None };
            let (item, event) = self.add(content);
            events.push(event);
            self.growing = Some(GrowingText { item, ..GrowingText::default() });
        }
        if let Some(growing) = &mut self.growing {
            growing.delta.push_str(delta);
            growing.blocks.push(delta);
        }
        events
    }

    pub(super) fn thinking(&mut self, delta: &str) -> Vec<LiveEvent> {
        let mut events = Vec::new();
        if self.growing.as_ref().is_none_or(|growing| !growing.is_thinking) {
            events.extend(self.end_text());
            let (item, event) = self.add(ItemContent::Thinking { text: String::new() });
            events.push(event);
            self.growing = Some(GrowingText { item, is_thinking: true, ..GrowingText::default() });
        }
        if let Some(growing) = &mut self.growing {
            growing.delta.push_str(delta);
        }
        events
    }

    pub(super) fn call(&mut self, call: CallView) -> Vec<LiveEvent> {
        let response = format!("t{}.{}", self.turn, self.responses);
        self.end_text_with(ItemContent::Call { response, call: Box::new(call) })
    }

    /// The model has said all of an answer, and its calls have ended.
    pub(super) fn end_response(&mut self) {
        self.responses += 1;
    }

    fn find_call(&mut self, id: &str) -> Option<&mut CallView> {
        self.items.iter_mut().rev().find_map(|item| match &mut item.content {
            ItemContent::Call { call, .. } if call.id == id => Some(&mut **call),
            _ => None,
        })
    }

    /// Changes a call, and tells it.
    fn change_call(&mut self, id: &str, change: impl FnOnce(&mut CallView)) -> Vec<LiveEvent> {
        let Some(call) = self.find_call(id) else { return Vec::new() };
        change(call);
        vec![("call", json!({ "call": call }))]
    }

    /// The call as it ended.
    pub(super) fn end_call(&mut self, result: &ToolResult) -> (Option<CallView>, Vec<LiveEvent>) {
        let events = self.change_call(&result.call_id, |call| call.end(result));
        (self.find_call(&result.call_id).cloned(), events)
    }

    /// Adds what the history has of a call that ended; also when the turn is over and its calls are in the store alone.
    pub(super) fn enrich_call(&mut self, mut ended: CallView, record: &CallRecord) -> Vec<LiveEvent> {
        if self.find_call(&ended.id).is_some() {
            return self.change_call(&ended.id, |call| call.enrich(record));
        }
        ended.enrich(record);
        vec![("call", json!({ "call": ended }))]
    }

    pub(super) fn progress(&mut self, id: &str, line: &str) -> Vec<LiveEvent> {
        let line = haft_text::display::shorten(line, 400).into_owned();
        if self.change_call(id, |call| call.progress = Some(line.clone())).is_empty() {
            return Vec::new();
        }
        vec![("progress", json!({ "call": id, "line": line }))]
    }

    /// A question about a call is open, or closed.
    pub(super) fn approval(&mut self, id: &str, change: ApprovalChange) -> Vec<LiveEvent> {
        let state = match change {
            ApprovalChange::Opened => {
                self.waiting += 1;
                CallState::Waiting
            }
            ApprovalChange::Closed => {
                self.waiting = self.waiting.saturating_sub(1);
                CallState::Running
            }
        };
        self.change_call(id, |call| call.state = state)
    }

    /// What is to be sent of the text that grows. A long open block is not sent again with every word.
    pub(super) fn flush_due(&mut self) -> Vec<LiveEvent> {
        let is_due = self.growing.as_ref().is_some_and(|growing| growing.is_thinking || growing.blocks.is_due());
        if is_due { self.flush() } else { Vec::new() }
    }

    fn flush(&mut self) -> Vec<LiveEvent> {
        let Some(growing) = self.growing.as_mut().filter(|growing| !growing.delta.is_empty()) else { return Vec::new() };
        let (delta, item) = (std::mem::take(&mut growing.delta), growing.item.clone());
        let changed = growing.blocks.changed();
        match self.items.iter_mut().rev().find(|known| known.id == item).map(|known| &mut known.content) {
            Some(ItemContent::Assistant { text, blocks, .. }) => {
                text.push_str(&delta);
                for (index, html) in &changed {
                    if *index < blocks.len() { blocks[*index].clone_from(html) } else { blocks.push(html.clone()) }
                }
                vec![("text", json!({ "item": item, "delta": delta, "blocks": changed }))]
            }
            Some(ItemContent::Thinking { text }) => {
                text.push_str(&delta);
                vec![("thinking", json!({ "item": item, "delta": delta }))]
            }
            _ => Vec::new(),
        }
    }

    fn end_text(&mut self) -> Vec<LiveEvent> {
        let events = self.flush();
        if let Some(GrowingText { item, is_thinking: false, .. }) = self.growing.take()
            && let Some(ItemContent::Assistant { streaming, .. }) =
                self.items.iter_mut().rev().find(|known| known.id == item).map(|known| &mut known.content)
        {
            *streaming = false;
        }
        events
    }

    fn end_text_with(&mut self, content: ItemContent) -> Vec<LiveEvent> {
        let mut events = self.end_text();
        events.push(self.add(content).1);
        events
    }

    fn add(&mut self, content: ItemContent) -> (String, LiveEvent) {
        let id = format!("t{}.{}", self.turn, self.next);
        self.next += 1;
        let item = ItemView { id: id.clone(), content };
        let event = ("item", json!({ "item": item }));
        self.items.push(item);
        if self.items.len() > MOST_ITEMS {
            self.items.drain(..MOST_ITEMS / 10);
        }
        (id, event)
    }
}

fn now() -> Option<String> {
    timestamp(std::time::SystemTime::now())
}

/// In dollars; `None` where it is not known, which is not zero.
#[allow(clippy::cast_precision_loss, reason = "amounts of money here are far below 2^52 micros")]
pub(super) fn dollars(cost: Option<Micros>) -> Option<f64> {
    cost.map(|Micros(micros)| micros as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(events: &[LiveEvent]) -> Vec<&'static str> {
        events.iter().map(|(name, _)| *name).collect()
    }

    #[test]
    fn text_grows_in_one_item_and_a_call_ends_it() {
        let mut live = LiveTurn::default();
        live.begin(7, 0);
        assert_eq!(names(&live.text("Hello", None)), ["item"]);
        assert_eq!(names(&live.text(" *you*", None)), [""; 0]);
        let sent = live.flush_due();
        assert_eq!(sent, [("text", json!({"item": "t7.0", "delta": "Hello *you*", "blocks": [[0, "<p>Hello <em>you</em></p>\n"]]}))]);
        assert!(live.flush_due().is_empty());
        live.text("!", None);
        let call = CallView::begin("s", "main", "c1", "exec", "{}");
        assert_eq!(names(&live.call(call)), ["text", "item"]);
        assert_eq!(names(&live.approval("c1", ApprovalChange::Opened)), ["call"]);
        assert_eq!((live.waiting, names(&live.text("next", None))), (1, vec!["item"]));
        let ItemContent::Assistant { text, streaming, .. } = &live.items[0].content else { panic!("{:?}", live.items) };
        assert_eq!((text.as_str(), *streaming), ("Hello *you*!", false));
        live.clear();
        assert!(live.items.is_empty() && live.base.is_none() && live.generation == 2);
    }

    #[test]
    fn calls_of_one_answer_have_the_same_response_and_those_of_the_next_another() {
        let mut live = LiveTurn::default();
        live.begin(7, 0);
        let mut response_of = |id: &str, is_next: bool| {
            if is_next {
                live.end_response();
            }
            live.call(CallView::begin("s", "main", id, "exec", "{}"))[0].1["item"]["response"].clone()
        };
        let responses = [response_of("c1", false), response_of("c2", false), response_of("c3", true)];
        assert_eq!(responses, ["t7.0", "t7.0", "t7.1"]);
    }

    #[test]
    fn items_of_a_long_turn_are_bounded() {
        let mut live = LiveTurn::default();
        live.begin(1, 0);
        (0..MOST_ITEMS * 2).for_each(|n| drop(live.notice(&n.to_string())));
        assert!(live.items.len() <= MOST_ITEMS);
    }
}
