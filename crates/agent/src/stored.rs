//! Sessions in the store: opened, repaired once if they were broken off, and written to as they go on.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use haft_contract::BoxFuture;
use haft_provider::transcript::{Flaw, repair};
use haft_provider::{Message, Role, StopReason, Usage};
use haft_store::{Claim, NewMessage, Owner, SessionRecord, SessionStore, StoreError};

use crate::ledger::{Entry, Ledger};

/// How many messages are read at once.
const PAGE: usize = 1000;

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
}

impl StoredSession {
    /// Takes a session for this process, and reads what was said. What is broken is repaired in the store, once.
    pub async fn open(store: Arc<dyn SessionStore>, record: SessionRecord) -> Result<(Self, Resumed), StoreError> {
        let claim = store.claim(&record.id, Owner::this_process()).await?;
        let said = read(&*store, &record.id).await?;
        let session = Self { next: AtomicU64::new(said.next), store, record, _claim: claim };
        let resumed = session.repaired(said).await?;
        Ok((session, resumed))
    }

    /// What is known of it.
    pub fn record(&self) -> &SessionRecord {
        &self.record
    }

    async fn repaired(&self, said: Said) -> Result<Resumed, StoreError> {
        let (messages, flaws) = repair(said.messages.clone());
        if flaws.is_empty() && messages == said.messages {
            return Ok(Resumed { messages, flaws });
        }
        let same = messages.iter().zip(&said.messages).take_while(|(now, then)| now == then).count();
        let from = said.numbers.get(same).copied().unwrap_or(said.next);
        let entries: Vec<Entry> = messages[same..].iter().cloned().map(entry_of).collect();
        let reason = flaws.first().map_or("repaired", |flaw| flaw.sentence.as_str());
        let next = self.store.rewrite(&self.record.id, from, entries.iter().map(new_message).collect(), reason).await?;
        self.next.store(next, Ordering::Release);
        Ok(Resumed { messages, flaws })
    }
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
}

async fn read(store: &dyn SessionStore, session: &str) -> Result<Said, StoreError> {
    let mut said = Said { messages: Vec::new(), numbers: Vec::new(), next: 0 };
    let mut begun: Option<(u64, Vec<haft_provider::Block>)> = None;
    loop {
        let page = store.messages(session, said.next, PAGE).await?;
        let last = page.len() < PAGE;
        for record in page {
            said.next = record.number + 1;
            // An entry that cannot be read is one that this version does not know: it was not said to the model either.
            let Ok(entry) = serde_json::from_str::<Entry>(&record.body) else { continue };
            said.take(entry, record.number, &mut begun);
        }
        if last {
            said.broken_off(&mut begun);
            return Ok(said);
        }
    }
}

impl Said {
    fn take(&mut self, entry: Entry, number: u64, begun: &mut Option<(u64, Vec<haft_provider::Block>)>) {
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
        }
    }

    /// Calls that were begun in an answer which never came to its end are such an answer.
    fn broken_off(&mut self, begun: &mut Option<(u64, Vec<haft_provider::Block>)>) {
        if let Some((first, calls)) = begun.take() {
            self.push(Message::assistant(calls), first);
        }
    }

    fn push(&mut self, message: Message, number: u64) {
        self.messages.push(message);
        self.numbers.push(number);
    }
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
