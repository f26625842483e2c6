//! What waits to be written, between the calls and the writer thread.
//!
//! A lock and a list, because a call must not pay for history: adding a record is a push under a lock that nobody holds
//! for long, and the writer is woken (a system call) only if it sleeps for want of work.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::failure::copy_of;
use super::item::{Answer, Change, Item, LEAST, Outcome, ROOM, answer, weight_of};
use super::open;
use crate::{CallRecord, StoreError};

/// This many waiting records are worth a commit at once.
const GROUP: usize = 2048;
/// How long the writer waits for more before it commits, unless someone waits for it. Long enough that a burst of calls is
/// over by then: a writer that works beside it competes for memory and for the processor.
const LINGER: Duration = Duration::from_millis(25);
/// How long the writer waits before it tries a failed group again.
const RETRY: Duration = Duration::from_secs(1);

/// What the writer sleeps for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Waiting {
    /// It does not sleep.
    No,
    /// Anything to do.
    Work,
    /// Enough for a group, or someone who waits.
    Group,
    /// Someone who waits.
    Request,
}

struct State {
    items: Vec<Item>,
    /// Of everything that is not settled yet, the writer's current group included.
    weight: usize,
    waiting: Waiting,
    /// Someone waits for an item.
    urgent: bool,
    /// How many wait for room.
    blocked: usize,
    /// Why the records that the writer holds could not be written yet.
    stuck: Option<rusqlite::Error>,
    /// Why a record was given up, until someone was told.
    lost: Option<StoreError>,
    closed: bool,
}

/// The queue.
pub(super) struct Queue {
    path: PathBuf,
    patience: Duration,
    state: Mutex<State>,
    work: Condvar,
    room: Condvar,
}

impl Queue {
    /// For the database at `path`; a record waits at most `patience` for room.
    pub(super) fn new(path: PathBuf, patience: Duration) -> Self {
        let state =
            State { items: Vec::new(), weight: 0, waiting: Waiting::No, urgent: false, blocked: 0, stuck: None, lost: None, closed: false };
        Self { path, patience, state: Mutex::new(state), work: Condvar::new(), room: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a record that nobody waits for. Reports what became of earlier ones.
    pub(super) fn append(&self, record: CallRecord) -> Outcome {
        let weight = weight_of(&record);
        self.add(Change::Record(Box::new(record)), weight)
    }

    /// Adds a record that the writer is to make. It counts as a small one: its maker promises that.
    pub(super) fn append_with(&self, make: Box<dyn FnOnce() -> CallRecord + Send>) -> Outcome {
        self.add(Change::Deferred(make), LEAST)
    }

    fn add(&self, change: Change, weight: usize) -> Outcome {
        let mut state = self.lock();
        state.refuse_if_closed()?;
        if state.is_full(weight) {
            state = self.wait_for_room(state, weight)?;
        }
        let report = state.report(&self.path);
        self.put(state, Item { change, reply: None, weight });
        report
    }

    /// Adds a change whose outcome the caller waits for; `None` if there is nothing to wait for. There is always room:
    /// such callers wait, so there are never many.
    pub(super) fn request(&self, change: Change) -> Result<Option<oneshot::Receiver<Answer>>, StoreError> {
        let mut state = self.lock();
        state.refuse_if_closed()?;
        let weight = if matches!(change, Change::Nothing) { 0 } else { LEAST };
        if weight == 0 && state.weight == 0 {
            return state.lost.take().map_or(Ok(None), Err);
        }
        let (reply, outcome) = oneshot::channel();
        self.put(state, Item { change, reply: Some(reply), weight });
        Ok(Some(outcome))
    }

    /// Adds a change that is to be made soon, and tried again until it is, though nobody waits for it.
    pub(super) fn insist(&self, change: Change) -> Outcome {
        let mut state = self.lock();
        state.refuse_if_closed()?;
        state.urgent = true;
        self.put(state, Item { change, reply: None, weight: LEAST });
        Ok(())
    }

    fn put(&self, mut state: MutexGuard<'_, State>, item: Item) {
        state.urgent |= item.reply.is_some();
        state.weight += item.weight;
        state.items.push(item);
        let wake = state.is_met(state.waiting);
        if wake {
            state.waiting = Waiting::No;
        }
        drop(state);
        if wake {
            self.work.notify_one();
        }
    }

    fn wait_for_room<'a>(&'a self, mut state: MutexGuard<'a, State>, weight: usize) -> Result<MutexGuard<'a, State>, StoreError> {
        state.blocked += 1;
        // A writer that fails makes no room soon.
        let hopeful = |state: &mut State| state.is_full(weight) && state.stuck.is_none() && !state.closed;
        let (mut state, _) = self.room.wait_timeout_while(state, self.patience, hopeful).unwrap_or_else(PoisonError::into_inner);
        state.blocked -= 1;
        state.refuse_if_closed()?;
        if state.is_full(weight) {
            return Err(StoreError::Full { path: self.path.clone() });
        }
        Ok(state)
    }

    /// For the writer: the next group, with what it still holds from a failed one; `None` at the end.
    pub(super) fn next_group(&self, held: Vec<Item>) -> Option<Vec<Item>> {
        let mut state = self.lock();
        if held.is_empty() {
            state = self.sleep(state, Waiting::Work, Duration::MAX);
            state = self.sleep(state, Waiting::Group, LINGER);
        } else {
            state = self.sleep(state, Waiting::Request, RETRY);
        }
        let mut group = held;
        group.append(&mut state.items);
        state.urgent = false;
        drop(state);
        group.iter_mut().for_each(Item::make);
        if group.is_empty() { None } else { Some(group) }
    }

    fn sleep<'a>(&self, mut state: MutexGuard<'a, State>, what: Waiting, at_most: Duration) -> MutexGuard<'a, State> {
        state.waiting = what;
        let unmet = |state: &mut State| !state.is_met(what) && !state.closed;
        let (mut state, _) = self.work.wait_timeout_while(state, at_most, unmet).unwrap_or_else(PoisonError::into_inner);
        state.waiting = Waiting::No;
        state
    }

    /// For the writer: the group is on disk, with an answer for each item.
    pub(super) fn settle(&self, mut group: Vec<Item>, answers: Vec<Answer>) {
        let mut state = self.lock();
        state.stuck = None;
        for (item, answered) in group.iter_mut().zip(answers) {
            state.weight -= item.weight;
            match item.reply.take() {
                Some(reply) => answer(reply, if item.is_flush() { state.lost.take().map_or(Ok(0), Err) } else { answered }),
                None => state.lost = answered.err().or(state.lost.take()),
            }
        }
        self.tell_blocked(&state);
    }

    /// For the writer: the group could not be written. Gives back what must be tried again: records. Whoever waits is
    /// told now, so what they asked for is not done later.
    pub(super) fn postpone(&self, group: Vec<Item>, error: &rusqlite::Error) -> Vec<Item> {
        if matches!(StoreError::database(&self.path, copy_of(error)), StoreError::Damaged { .. }) {
            open::suspect(&self.path);
        }
        let mut held = Vec::new();
        let mut state = self.lock();
        for mut item in group {
            let Some(reply) = item.reply.take() else {
                held.push(item);
                continue;
            };
            state.weight -= item.weight;
            answer(reply, Err(StoreError::database(&self.path, copy_of(error))));
        }
        state.stuck = (!held.is_empty()).then(|| copy_of(error));
        self.tell_blocked(&state);
        held
    }

    fn tell_blocked(&self, state: &State) {
        if state.blocked > 0 {
            self.room.notify_all();
        }
    }

    /// No more from now on; the writer ends after what is queued.
    pub(super) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
        self.room.notify_all();
    }

    pub(super) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// For the writer, when it ends in whatever way: whoever still waits learns it.
    pub(super) fn abandon(&self) {
        self.close();
        let items = std::mem::take(&mut self.lock().items);
        drop(items);
    }
}

impl State {
    /// A record that is too large alone must still go through.
    fn is_full(&self, more: usize) -> bool {
        self.weight > 0 && self.weight + more > ROOM
    }

    fn is_met(&self, waiting: Waiting) -> bool {
        match waiting {
            Waiting::No => false,
            Waiting::Work => !self.items.is_empty(),
            Waiting::Group => self.urgent || self.items.len() >= GROUP,
            Waiting::Request => self.urgent,
        }
    }

    fn refuse_if_closed(&self) -> Outcome {
        if self.closed { Err(StoreError::Closed("its writer has ended".into())) } else { Ok(()) }
    }

    fn report(&mut self, path: &std::path::Path) -> Outcome {
        if let Some(error) = self.lost.take() {
            return Err(error);
        }
        self.stuck.as_ref().map_or(Ok(()), |error| Err(StoreError::database(path, copy_of(error))))
    }
}
