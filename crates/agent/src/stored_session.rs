//! Sessions in the store: opened, repaired once if they were interrupted, and appended to.
//!
//! Results that history has are taken from there; all other calls that were begun are reported to the model as unknown.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::BoxFuture;
use haft_engine::RecordedTaint;
use haft_provider::transcript::{Flaw, repair, validate};
use haft_provider::{Block, Message, ResultPart, Role, StopReason, Usage};
use haft_store::{
    CallFilter, CallLog, CallRecord, CallStatus, MessageRecord, NewMessage, SessionClaim, SessionOwner, SessionRecord, SessionStore,
    StoreError, StoredTaint,
};
use serde_json::json;
use tokio::task::JoinHandle;

use crate::carried::CarriedState;
use crate::ledger::{Ledger, LedgerEntry};

/// How many messages are read at once.
const PAGE: usize = 1000;
/// How many of the newest calls are searched for results: more than one answer makes.
const RECALL_LIMIT: usize = 1000;

/// A session that is claimed by this process: no other may write to it.
pub struct StoredSession {
    store: Arc<dyn SessionStore>,
    record: SessionRecord,
    next: AtomicU64,
    _claim: SessionClaim,
}

haft_contract::opaque_debug!(StoredSession: id = record.id);

/// A stored conversation, and the flaws that were repaired.
#[derive(Debug)]
#[non_exhaustive]
pub struct ResumedConversation {
    /// The messages, fit to be sent.
    pub messages: Vec<Message>,
    /// The flaws that were repaired.
    pub flaws: Vec<Flaw>,
    /// How many missing results were taken from the history of calls.
    pub recalled: usize,
    /// What the session carries over from the process before.
    pub carried: CarriedState,
}

impl StoredSession {
    /// Claims a session for this process, and reads its messages. A broken conversation is repaired in the store, once; results
    /// that the history of calls has are taken from there.
    pub async fn open(
        store: Arc<dyn SessionStore>,
        history: &dyn CallLog,
        record: SessionRecord,
    ) -> Result<(Self, ResumedConversation), StoreError> {
        let claim = store.claim(&record.id, SessionOwner::this_process()).await?;
        let stored = read(&*store, &record.id).await?;
        let (recalled, taint) = recall_results(&stored.messages, history, &record.id).await?;
        let session = Self { next: AtomicU64::new(stored.next), store, record, _claim: claim };
        let resumed = session.repair(stored, recalled).await?;
        let carried = session.carried(taint).await?;
        Ok((session, ResumedConversation { carried, ..resumed }))
    }

    /// What is stored of the process before, and what recalled results have brought in.
    async fn carried(&self, recalled: RecordedTaint) -> Result<CarriedState, StoreError> {
        let StoredTaint { private, untrusted } = self.store.taint(&self.record.id).await?;
        // One of a later version that cannot be read here has nothing that holds without it: its skills are loaded again.
        let skills = self.store.skills(&self.record.id).await?.and_then(|skills| serde_json::from_str(&skills).ok()).unwrap_or_default();
        Ok(CarriedState { taint: RecordedTaint { private, untrusted }.or(recalled), skills })
    }

    /// Its record in the store.
    pub fn record(&self) -> &SessionRecord {
        &self.record
    }

    async fn repair(&self, stored: StoredConversation, results: Vec<Block>) -> Result<ResumedConversation, StoreError> {
        let recalled = results.len();
        if recalled == 0 && validate(&stored.messages).is_empty() {
            return Ok(ResumedConversation { messages: stored.messages, flaws: Vec::new(), recalled, carried: CarriedState::default() });
        }
        let more = (recalled > 0).then(|| Message::results(results));
        let (messages, flaws) = repair(stored.messages.iter().cloned().chain(more).collect());
        if flaws.is_empty() && messages == stored.messages {
            return Ok(ResumedConversation { messages, flaws, recalled, carried: CarriedState::default() });
        }
        let same = messages.iter().zip(&stored.messages).take_while(|(now, then)| now == then).count();
        let (from, entries) = match stored.summary {
            // Messages that a summary keeps are before it, so they are written again, behind a summary that keeps none.
            Some((number, length)) if same < length => (number, restart_entries(messages.clone())),
            _ => (stored.numbers.get(same).copied().unwrap_or(stored.next), messages[same..].iter().cloned().map(entry_of).collect()),
        };
        let reason = flaws.first().map_or("results were found in the history of calls", |flaw| flaw.sentence.as_str());
        let next = self.store.rewrite(&self.record.id, from, entries.iter().map(new_message).collect(), reason).await?;
        self.next.store(next, Ordering::Release);
        Ok(ResumedConversation { messages, flaws, recalled, carried: CarriedState::default() })
    }
}

/// Results of the last calls that the conversation lacks, but history has; and what those calls have brought in.
async fn recall_results(messages: &[Message], history: &dyn CallLog, session: &str) -> Result<(Vec<Block>, RecordedTaint), StoreError> {
    let none = || Ok((Vec::new(), RecordedTaint::default()));
    let Some(Message { role: Role::Assistant, blocks }) = messages.last() else { return none() };
    if blocks.iter().all(|block| block.call_id().is_none()) {
        return none();
    }
    let filter = CallFilter { session: Some(session.to_owned()), limit: Some(RECALL_LIMIT), ..CallFilter::default() };
    let records = history.list(filter).await?;
    let result = |block: &Block| {
        let Block::Call { id, name, .. } = block else { return None };
        let record = records.iter().find(|record| record.call_id == *id)?;
        Some((recalled_result(record, name)?, brought_in(record)))
    };
    let (results, taints): (Vec<Block>, Vec<RecordedTaint>) = blocks.iter().filter_map(result).unzip();
    Ok((results, taints.into_iter().fold(RecordedTaint::default(), RecordedTaint::or)))
}

fn brought_in(record: &CallRecord) -> RecordedTaint {
    RecordedTaint::of_effects(&record.effects).or(RecordedTaint { private: false, untrusted: RecordedTaint::seen_by(&record.decision) })
}

/// The result of a call from its record; `None` if the call did not end.
fn recalled_result(record: &CallRecord, name: &str) -> Option<Block> {
    let note = "(The conversation was broken off after this call had ended. This is what was kept of its result, perhaps not all.)";
    let (envelope, is_error) = match &record.status {
        CallStatus::Success => (json!({"status": "success", "result": format!("{}\n\n{note}", record.summary)}), false),
        CallStatus::Error(kind) => (json!({"status": "error", "error_type": kind, "message": format!("{} {note}", record.summary)}), true),
        CallStatus::Begun => return None,
    };
    let content = vec![ResultPart::Text { text: envelope.to_string() }];
    Some(Block::Result { id: record.call_id.clone(), name: name.to_owned(), content, is_error })
}

impl Ledger for StoredSession {
    fn keep<'a>(&'a self, entry: &'a LedgerEntry) -> BoxFuture<'a, Result<(), String>> {
        self.keep_all(std::slice::from_ref(entry))
    }

    fn keep_all<'a>(&'a self, entries: &'a [LedgerEntry]) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            let expected = self.next.load(Ordering::Acquire);
            let appended = self.store.append(&self.record.id, Some(expected), entries.iter().map(new_message).collect()).await;
            self.next.store(appended.map_err(|error| error.to_string())?, Ordering::Release);
            Ok(())
        })
    }

    fn carry<'a>(&'a self, now: &'a CarriedState, stored: &'a CarriedState) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            if now.taint != stored.taint {
                let RecordedTaint { private, untrusted } = now.taint;
                let added = self.store.add_taint(&self.record.id, StoredTaint { private, untrusted }).await;
                added.map_err(|error| error.to_string())?;
            }
            if now.skills != stored.skills {
                let skills = (!now.skills.is_empty()).then(|| serde_json::to_string(&now.skills).unwrap_or_default());
                self.store.set_skills(&self.record.id, skills.as_deref()).await.map_err(|error| error.to_string())?;
            }
            Ok(())
        })
    }
}

/// A conversation as stored: each message with the number of the first entry that it came from.
struct StoredConversation {
    messages: Vec<Message>,
    numbers: Vec<u64>,
    next: u64,
    /// The number of the last summary, and how many messages the conversation had with it.
    summary: Option<(u64, usize)>,
}

async fn read(store: &dyn SessionStore, session: &str) -> Result<StoredConversation, StoreError> {
    let mut stored = StoredConversation { messages: Vec::new(), numbers: Vec::new(), next: 0, summary: None };
    let mut begun: Option<(u64, Vec<Block>)> = None;
    for page in pages(store, session).await? {
        // It ends early only with the program.
        let entries = page.await.map_err(|_| StoreError::Closed("the conversation was not read to its end".into()))?;
        for (number, entry) in entries {
            stored.next = number + 1;
            // An unreadable entry is of a kind that this version does not know: the model has not seen it either.
            if let Some(entry) = entry {
                stored.take(entry, number, &mut begun);
            }
        }
    }
    stored.add_interrupted(&mut begun);
    Ok(stored)
}

/// Entries, each with its number; `None` for one that cannot be read.
type EntryPage = Vec<(u64, Option<LedgerEntry>)>;

/// All entries. Each page is parsed on a thread of its own while the next one is read: a long conversation is opened by every core.
async fn pages(store: &dyn SessionStore, session: &str) -> Result<Vec<JoinHandle<EntryPage>>, StoreError> {
    let (mut pages, mut next) = (Vec::new(), 0);
    loop {
        let page = store.messages(session, next, PAGE).await?;
        let is_last = page.len() < PAGE;
        next = page.last().map_or(next, |record| record.number + 1);
        let parse = |record: MessageRecord| (record.number, LedgerEntry::read(&record.kind, &record.body));
        pages.push(tokio::task::spawn_blocking(move || page.into_iter().map(parse).collect()));
        if is_last {
            return Ok(pages);
        }
    }
}

impl StoredConversation {
    fn take(&mut self, entry: LedgerEntry, number: u64, begun: &mut Option<(u64, Vec<Block>)>) {
        match entry {
            LedgerEntry::Begun { call } => begun.get_or_insert_with(|| (number, Vec::new())).1.push(call),
            LedgerEntry::Assistant { message, .. } => {
                let first = begun.take().map_or(number, |(first, _)| first);
                self.push(message, first);
            }
            LedgerEntry::User { message } | LedgerEntry::Results { message } => {
                self.add_interrupted(begun);
                self.push(message, number);
            }
            // Says something of the entry that follows.
            LedgerEntry::Heard { .. } => {}
            LedgerEntry::Summary { message, kept } => {
                self.add_interrupted(begun);
                let replaced = self.messages.len().saturating_sub(kept);
                self.messages.splice(..replaced, [message]);
                self.numbers.splice(..replaced, [number]);
                self.summary = Some((number, self.messages.len()));
            }
        }
    }

    /// Adds the calls of an interrupted answer as an answer.
    fn add_interrupted(&mut self, begun: &mut Option<(u64, Vec<Block>)>) {
        if let Some((first, calls)) = begun.take() {
            self.push(Message::assistant(calls), first);
        }
    }

    /// Adds a message; a user message after another one, or after results, is merged into it.
    fn push(&mut self, message: Message, number: u64) {
        if let Some(last) = self.messages.last_mut().filter(|last| last.role == Role::User && message.role == Role::User) {
            last.blocks.extend(message.blocks);
            return;
        }
        self.messages.push(message);
        self.numbers.push(number);
    }
}

/// A conversation that stands on its own, whatever was stored before it.
fn restart_entries(messages: Vec<Message>) -> Vec<LedgerEntry> {
    let mut messages = messages.into_iter();
    let first = messages.next().map(|message| LedgerEntry::Summary { message, kept: 0 });
    first.into_iter().chain(messages.map(entry_of)).collect()
}

fn entry_of(message: Message) -> LedgerEntry {
    match message.role {
        Role::Assistant => {
            LedgerEntry::Assistant { message, model: String::new(), stop: StopReason::Other("repaired".into()), usage: Usage::default() }
        }
        Role::User if message.blocks.iter().any(|block| block.result_id().is_some()) => LedgerEntry::Results { message },
        Role::User => LedgerEntry::User { message },
    }
}

fn new_message(entry: &LedgerEntry) -> NewMessage {
    // Strings, numbers and lists: serializing them cannot fail.
    NewMessage::new(entry.kind(), serde_json::to_string(entry).unwrap_or_default())
}
