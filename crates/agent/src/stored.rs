//! Sessions in the store: opened, repaired once if they were broken off, and written to as they go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::BoxFuture;
use haft_provider::transcript::{Flaw, repair, validate};
use haft_provider::{Block, Message, Piece, Role, StopReason, Usage};
use haft_store::{CallFilter, CallLog, CallRecord, CallStatus, Claim, NewMessage, Owner, SessionRecord, SessionStore, StoreError};
use serde_json::json;

use crate::ledger::{Entry, Ledger};

/// How many messages are read at once.
const PAGE: usize = 1000;
/// How many of the newest calls are looked through for results: more than one answer asks for.
const RECALLED: usize = 1000;

/// A session that nobody else may write to while this is there.
pub struct StoredSession {
    store: Arc<dyn SessionStore>,
    record: SessionRecord,
    next: AtomicU64,
    _claim: Claim,
}

impl std::fmt::Debug for StoredSession {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("StoredSession").field("id", &self.record.id).finish_non_exhaustive()
    }
}

/// A conversation as it was kept, and what had to be put right.
#[derive(Debug)]
#[non_exhaustive]
pub struct Resumed {
    /// What was said, fit to be sent.
    pub messages: Vec<Message>,
    /// What was wrong with it: how it was broken off, in words.
    pub flaws: Vec<Flaw>,
    /// How many results were not kept with it, but known to the history of calls.
    pub recalled: usize,
}

impl StoredSession {
    /// Takes a session for this process, and reads what was said. What is broken is repaired in the store, once: results that
    /// the history of calls knows are taken from there.
    pub async fn open(store: Arc<dyn SessionStore>, history: &dyn CallLog, record: SessionRecord) -> Result<(Self, Resumed), StoreError> {
        let claim = store.claim(&record.id, Owner::this_process()).await?;
        let said = read(&*store, &record.id).await?;
        let recalled = recalled(&said.messages, history, &record.id).await?;
        let session = Self { next: AtomicU64::new(said.next), store, record, _claim: claim };
        let resumed = session.repaired(said, recalled).await?;
        Ok((session, resumed))
    }

    /// What is known of it.
    pub fn record(&self) -> &SessionRecord {
        &self.record
    }

    async fn repaired(&self, said: Said, results: Vec<Block>) -> Result<Resumed, StoreError> {
        let recalled = results.len();
        if recalled == 0 && validate(&said.messages).is_empty() {
            return Ok(Resumed { messages: said.messages, flaws: Vec::new(), recalled });
        }
        let more = (recalled > 0).then(|| Message::results(results));
        let (messages, flaws) = repair(said.messages.iter().cloned().chain(more).collect());
        if flaws.is_empty() && messages == said.messages {
            return Ok(Resumed { messages, flaws, recalled });
        }
        let same = messages.iter().zip(&said.messages).take_while(|(now, then)| now == then).count();
        let (from, entries) = match said.summary {
            // What a summary kept stands before it: it can only be said anew, behind a summary that keeps nothing.
            Some((number, length)) if same < length => (number, summed_up(messages.clone())),
            _ => (said.numbers.get(same).copied().unwrap_or(said.next), messages[same..].iter().cloned().map(entry_of).collect()),
        };
        let reason = flaws.first().map_or("results were found in the history of calls", |flaw| flaw.sentence.as_str());
        let next = self.store.rewrite(&self.record.id, from, entries.iter().map(new_message).collect(), reason).await?;
        self.next.store(next, Ordering::Release);
        Ok(Resumed { messages, flaws, recalled })
    }
}

/// The results of calls whose answer came to no end with the conversation, but which history saw end.
async fn recalled(messages: &[Message], history: &dyn CallLog, session: &str) -> Result<Vec<Block>, StoreError> {
    let Some(Message { role: Role::Assistant, blocks }) = messages.last() else { return Ok(Vec::new()) };
    if blocks.iter().all(|block| block.call_id().is_none()) {
        return Ok(Vec::new());
    }
    let filter = CallFilter { session: Some(session.to_owned()), limit: Some(RECALLED), ..CallFilter::default() };
    let records = history.list(filter).await?;
    let result = |block: &Block| {
        let Block::Call { id, name, .. } = block else { return None };
        recollection(records.iter().find(|record| record.call_id == *id)?, name)
    };
    Ok(blocks.iter().filter_map(result).collect())
}

/// What history knows of a result; nothing if it did not see the call end.
fn recollection(record: &CallRecord, name: &str) -> Option<Block> {
    let note = "(The conversation was broken off after this call had ended. This is what was kept of its result, perhaps not all.)";
    let (envelope, is_error) = match &record.status {
        CallStatus::Success => (json!({"status": "success", "result": format!("{}\n\n{note}", record.summary)}), false),
        CallStatus::Error(kind) => (json!({"status": "error", "error_type": kind, "message": format!("{} {note}", record.summary)}), true),
        CallStatus::Begun => return None,
    };
    let content = vec![Piece::Text { text: envelope.to_string() }];
    Some(Block::Result { id: record.call_id.clone(), name: name.to_owned(), content, is_error })
}

impl Ledger for StoredSession {
    fn keep<'a>(&'a self, entry: &'a Entry) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let expected = self.next.load(Ordering::Acquire);
            let appended = self.store.append(&self.record.id, Some(expected), vec![new_message(entry)]).await;
            self.next.store(appended.map_err(|error| error.to_string())?, Ordering::Release);
            Ok(())
        })
    }
}

/// What a session holds: each message with the number of the first entry that it came from.
struct Said {
    messages: Vec<Message>,
    numbers: Vec<u64>,
    next: u64,
    /// The number of the last summary, and how many messages the conversation had with it.
    summary: Option<(u64, usize)>,
}

async fn read(store: &dyn SessionStore, session: &str) -> Result<Said, StoreError> {
    let mut said = Said { messages: Vec::new(), numbers: Vec::new(), next: 0, summary: None };
    let mut begun: Option<(u64, Vec<Block>)> = None;
    loop {
        let page = store.messages(session, said.next, PAGE).await?;
        let last = page.len() < PAGE;
        for record in page {
            said.next = record.number + 1;
            // An entry that cannot be read is one that this version does not know: it was not said to the model either.
            let Some(entry) = Entry::read(&record.kind, &record.body) else { continue };
            said.take(entry, record.number, &mut begun);
        }
        if last {
            said.broken_off(&mut begun);
            return Ok(said);
        }
    }
}

impl Said {
    fn take(&mut self, entry: Entry, number: u64, begun: &mut Option<(u64, Vec<Block>)>) {
        match entry {
            Entry::Begun { call } => begun.get_or_insert_with(|| (number, Vec::new())).1.push(call),
            Entry::Assistant { message, .. } => {
                let first = begun.take().map_or(number, |(first, _)| first);
                self.push(message, first);
            }
            Entry::User { message } | Entry::Results { message } => {
                self.broken_off(begun);
                self.push(message, number);
            }
            Entry::Summary { message, kept } => {
                self.broken_off(begun);
                let left_out = self.messages.len().saturating_sub(kept);
                self.messages.splice(..left_out, [message]);
                self.numbers.splice(..left_out, [number]);
                self.summary = Some((number, self.messages.len()));
            }
        }
    }

    /// Calls that were begun in an answer which never came to its end are such an answer.
    fn broken_off(&mut self, begun: &mut Option<(u64, Vec<Block>)>) {
        if let Some((first, calls)) = begun.take() {
            self.push(Message::assistant(calls), first);
        }
    }

    /// A person who speaks twice in a row, or after results, says it in one message.
    fn push(&mut self, message: Message, number: u64) {
        if let Some(last) = self.messages.last_mut().filter(|last| last.role == Role::User && message.role == Role::User) {
            last.blocks.extend(message.blocks);
            return;
        }
        self.messages.push(message);
        self.numbers.push(number);
    }
}

/// A conversation that stands on its own, whatever was said before it.
fn summed_up(messages: Vec<Message>) -> Vec<Entry> {
    let mut messages = messages.into_iter();
    let first = messages.next().map(|message| Entry::Summary { message, kept: 0 });
    first.into_iter().chain(messages.map(entry_of)).collect()
}

fn entry_of(message: Message) -> Entry {
    match message.role {
        Role::Assistant => {
            Entry::Assistant { message, model: String::new(), stop: StopReason::Other("repaired".into()), usage: Usage::default() }
        }
        Role::User if message.blocks.iter().any(|block| block.result_id().is_some()) => Entry::Results { message },
        Role::User => Entry::User { message },
    }
}

fn new_message(entry: &Entry) -> NewMessage {
    // Texts, numbers and lists: writing them as JSON cannot fail.
    NewMessage::new(entry.kind(), serde_json::to_string(entry).unwrap_or_default())
}
