//! The queue between the calls and the writer thread.
//!
//! A lock and a list, because a call must not pay for history: adding a record is a push under a lock that is never held
//! for long, and the writer is woken (a system call) only if it sleeps.

use std::path::PathBuf;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::oneshot;

use super::item::{ChangeAnswer, MAX_QUEUED_BYTES, MIN_WEIGHT, QueueItem, RECORD_BYTES, StoreChange, answer, bytes_of};
use crate::{CallRecord, CallRow, StoreError};

/// One commit has no more bytes of records than this: they are in memory as they are written.
const GROUP_BYTES: usize = 1 << 19;
/// So many bytes of records are written at once. Some commits more than one: a burst of calls is over before the writer begins.
const WORTH_WRITING: usize = 5 << 18;
/// From here on calls wait for the writer to take what is queued: it may get no processor while they have it, and memory would grow.
const MOST_AHEAD: usize = 3 << 19;
/// How long they wait for that, once for each group: a writer that needs longer waits for the disk or for another process.
const LONGEST_AHEAD: Duration = Duration::from_millis(100);
/// How long the writer waits for more before it commits, unless a caller waits. Long enough that a burst of calls is over by
/// then: a writer that works beside it competes for memory and for the processor.
const LINGER: Duration = Duration::from_millis(25);
/// How long the writer waits before it tries a failed group again.
const RETRY: Duration = Duration::from_secs(1);

/// What the writer waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum WriterWait {
    /// It does not sleep.
    No,
    /// Anything to do.
    Work,
    /// Enough to write, or a waiting caller.
    Group,
    /// A waiting caller.
    Request,
}

/// Makes the error once for each who must know: errors cannot be cloned.
type TellFault = Box<dyn Fn() -> StoreError + Send>;

struct QueueState {
    items: Vec<QueueItem>,
    /// Total weight of unsettled items, the writer's current group included.
    weight: usize,
    /// The memory of the items that the writer has not taken yet.
    bytes: usize,
    /// A call waited for the writer to take a group, in vain: others do not wait again until it takes one.
    held_up: bool,
    waiting: WriterWait,
    /// A caller waits for an item.
    urgent: bool,
    /// How many callers wait for space.
    blocked: usize,
    /// Why the records that the writer holds could not be written yet.
    stuck: Option<TellFault>,
    /// Why a record was given up, until it is reported.
    lost: Option<StoreError>,
    closed: bool,
}

/// The queue of changes.
pub(in crate::backend) struct WriteQueue {
    path: PathBuf,
    patience: Duration,
    state: Mutex<QueueState>,
    work: Condvar,
    space: Condvar,
}

impl WriteQueue {
    /// For the database at `path`; a record waits at most `patience` for space.
    pub(in crate::backend) fn new(path: PathBuf, patience: Duration) -> Self {
        let state = QueueState {
            items: Vec::new(),
            weight: 0,
            bytes: 0,
            held_up: false,
            waiting: WriterWait::No,
            urgent: false,
            blocked: 0,
            stuck: None,
            lost: None,
            closed: false,
        };
        Self { path, patience, state: Mutex::new(state), work: Condvar::new(), space: Condvar::new() }
    }

    fn lock(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a record without waiting for it. Reports failures of earlier ones.
    pub(in crate::backend) fn append(&self, record: CallRecord) -> Result<(), StoreError> {
        let bytes = bytes_of(&record);
        self.add(StoreChange::Record(Box::new(record.into())), bytes)
    }

    /// Adds a record that the writer is to make, with texts of about this size.
    pub(in crate::backend) fn append_with(&self, texts: usize, make: Box<dyn FnOnce() -> CallRow + Send>) -> Result<(), StoreError> {
        self.add(StoreChange::Deferred(make), RECORD_BYTES + texts)
    }

    fn add(&self, change: StoreChange, bytes: usize) -> Result<(), StoreError> {
        let weight = bytes.max(MIN_WEIGHT);
        let mut state = self.lock();
        state.refuse_if_closed()?;
        if state.is_full(weight) {
            state = self.wait_for_space(state, weight)?;
        } else if state.is_ahead() {
            state = self.wait_for_writer(state);
        }
        let report = state.report();
        self.put(state, QueueItem { change, reply: None, weight, bytes });
        report
    }

    /// Adds a change whose outcome the caller waits for; `None` if there is nothing to wait for. It needs no space in the queue:
    /// such callers wait, so there are never many.
    pub(in crate::backend) fn request(&self, change: StoreChange) -> Result<Option<oneshot::Receiver<ChangeAnswer>>, StoreError> {
        let mut state = self.lock();
        state.refuse_if_closed()?;
        let weight = if matches!(change, StoreChange::Nothing) { 0 } else { MIN_WEIGHT };
        if weight == 0 && state.weight == 0 {
            return state.lost.take().map_or(Ok(None), Err);
        }
        let (reply, outcome) = oneshot::channel();
        self.put(state, QueueItem { change, reply: Some(reply), weight, bytes: RECORD_BYTES });
        Ok(Some(outcome))
    }

    /// Adds a change without waiting for it, to be written soon and tried again until it is.
    pub(in crate::backend) fn insist(&self, change: StoreChange) -> Result<(), StoreError> {
        let mut state = self.lock();
        state.refuse_if_closed()?;
        state.urgent = true;
        self.put(state, QueueItem { change, reply: None, weight: MIN_WEIGHT, bytes: RECORD_BYTES });
        Ok(())
    }

    fn put(&self, mut state: MutexGuard<'_, QueueState>, item: QueueItem) {
        state.urgent |= item.reply.is_some();
        state.weight += item.weight;
        state.bytes += item.bytes;
        state.items.push(item);
        let wake = state.is_met(state.waiting);
        if wake {
            state.waiting = WriterWait::No;
        }
        drop(state);
        if wake {
            self.work.notify_one();
        }
    }

    fn wait_for_space<'a>(
        &'a self,
        mut state: MutexGuard<'a, QueueState>,
        weight: usize,
    ) -> Result<MutexGuard<'a, QueueState>, StoreError> {
        state.blocked += 1;
        // A failing writer frees no space soon.
        let hopeful = |state: &mut QueueState| state.is_full(weight) && state.stuck.is_none() && !state.closed;
        let (mut state, _) = self.space.wait_timeout_while(state, self.patience, hopeful).unwrap_or_else(PoisonError::into_inner);
        state.blocked -= 1;
        state.refuse_if_closed()?;
        if state.is_full(weight) {
            return Err(StoreError::Full { path: self.path.clone() });
        }
        Ok(state)
    }

    /// Lets the writer take what is queued.
    fn wait_for_writer<'a>(&'a self, mut state: MutexGuard<'a, QueueState>) -> MutexGuard<'a, QueueState> {
        state.blocked += 1;
        let (mut state, _) = self
            .space
            .wait_timeout_while(state, LONGEST_AHEAD, |state| state.is_ahead() && !state.closed)
            .unwrap_or_else(PoisonError::into_inner);
        state.blocked -= 1;
        state.held_up |= state.is_ahead();
        state
    }

    /// For the writer: the next group, with what it still holds from a failed one; `None` at the end.
    pub(in crate::backend) fn next_group(&self, held: Vec<QueueItem>) -> Option<Vec<QueueItem>> {
        let mut state = self.lock();
        if held.is_empty() {
            state = self.sleep(state, WriterWait::Work, Duration::MAX);
            state = self.sleep(state, WriterWait::Group, LINGER);
        } else {
            state = self.sleep(state, WriterWait::Request, RETRY);
        }
        let mut group = held;
        group.append(&mut state.take_group());
        self.wake_blocked(&state);
        drop(state);
        group.iter_mut().for_each(QueueItem::make);
        if group.is_empty() { None } else { Some(group) }
    }

    fn sleep<'a>(&self, mut state: MutexGuard<'a, QueueState>, what: WriterWait, at_most: Duration) -> MutexGuard<'a, QueueState> {
        state.waiting = what;
        let unmet = |state: &mut QueueState| !state.is_met(what) && !state.closed;
        let (mut state, _) = self.work.wait_timeout_while(state, at_most, unmet).unwrap_or_else(PoisonError::into_inner);
        state.waiting = WriterWait::No;
        state
    }

    /// For the writer: the group is on disk, with an answer for each item.
    pub(in crate::backend) fn settle(&self, mut group: Vec<QueueItem>, answers: Vec<ChangeAnswer>) {
        let mut state = self.lock();
        state.stuck = None;
        for (item, answered) in group.iter_mut().zip(answers) {
            state.weight -= item.weight;
            match item.reply.take() {
                Some(reply) => answer(reply, if item.is_flush() { state.lost.take().map_or(Ok(0), Err) } else { answered }),
                None => state.lost = answered.err().or(state.lost.take()),
            }
        }
        self.wake_blocked(&state);
    }

    /// For the writer: the group could not be written. Returns the records, which are tried again. Waiting callers
    /// get the error now, and their changes are dropped.
    pub(in crate::backend) fn postpone(&self, group: Vec<QueueItem>, tell: impl Fn() -> StoreError + Send + 'static) -> Vec<QueueItem> {
        let mut held = Vec::new();
        let mut state = self.lock();
        for mut item in group {
            let Some(reply) = item.reply.take() else {
                held.push(item);
                continue;
            };
            state.weight -= item.weight;
            answer(reply, Err(tell()));
        }
        state.stuck = (!held.is_empty()).then(|| Box::new(tell) as TellFault);
        self.wake_blocked(&state);
        held
    }

    fn wake_blocked(&self, state: &QueueState) {
        if state.blocked > 0 {
            self.space.notify_all();
        }
    }

    /// No more from now on; the writer ends after what is queued.
    pub(in crate::backend) fn close(&self) {
        self.lock().closed = true;
        self.work.notify_all();
        self.space.notify_all();
    }

    pub(in crate::backend) fn is_closed(&self) -> bool {
        self.lock().closed
    }

    /// For the writer, when it ends in any way: drops the queue, so that waiting callers get an error.
    pub(in crate::backend) fn abandon(&self) {
        self.close();
        let items = std::mem::take(&mut self.lock().items);
        drop(items);
    }
}

impl QueueState {
    /// A record that is too large alone must still go through.
    fn is_full(&self, more: usize) -> bool {
        self.weight > 0 && self.weight + more > MAX_QUEUED_BYTES
    }

    /// The items of the next group. A caller that waits for one behind them is still waiting.
    fn take_group(&mut self) -> Vec<QueueItem> {
        let mut bytes = 0;
        let fits = |item: &&QueueItem| {
            let before = bytes;
            bytes += item.bytes;
            before < GROUP_BYTES
        };
        let count = self.items.iter().take_while(fits).count();
        // The list keeps its space: it would grow again with each burst, and move all items each time.
        let group: Vec<QueueItem> = self.items.drain(..count).collect();
        self.bytes -= group.iter().map(|item| item.bytes).sum::<usize>();
        self.urgent &= !self.items.is_empty();
        self.held_up = false;
        group
    }

    /// Whether calls are so far ahead of a writer that works that they should wait for it.
    fn is_ahead(&self) -> bool {
        self.bytes > MOST_AHEAD && self.stuck.is_none() && !self.held_up
    }

    fn is_met(&self, waiting: WriterWait) -> bool {
        match waiting {
            WriterWait::No => false,
            WriterWait::Work => !self.items.is_empty(),
            WriterWait::Group => self.urgent || self.bytes >= WORTH_WRITING,
            WriterWait::Request => self.urgent,
        }
    }

    fn refuse_if_closed(&self) -> Result<(), StoreError> {
        if self.closed { Err(StoreError::Closed("its writer has ended".into())) } else { Ok(()) }
    }

    fn report(&mut self) -> Result<(), StoreError> {
        if let Some(error) = self.lost.take() {
            return Err(error);
        }
        self.stuck.as_ref().map_or(Ok(()), |tell| Err(tell()))
    }
}

#[cfg(test)]
mod tests;
