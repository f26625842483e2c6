//! The sub-agents that this process runs, side by side within limits.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_contract::{SubAgentState, SubAgentStatus, ToolError};
use haft_store::{SessionStore, StoreError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, watch};
use tokio_util::sync::CancellationToken;

use crate::turn::Steering;

/// How many sub-agents there may be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LaneLimits {
    /// How deep agents may start agents; 0 means not at all.
    pub max_depth: u32,
    /// How many sub-agents of one conversation may run or wait at a time.
    pub max_children: usize,
    /// How many sub-agents of the same depth work at a time; the others wait. Counted for each depth: an agent that waits for one
    /// that it started keeps its lane, and must not keep the other from getting one.
    pub concurrency: usize,
    /// How long a sub-agent may take, if nothing shorter is requested.
    pub timeout: Option<Duration>,
}

impl Default for LaneLimits {
    fn default() -> Self {
        Self { max_depth: 1, max_children: 5, concurrency: 8, timeout: None }
    }
}

/// The sub-agents of a conversation and of all beneath it, as far as this process runs them.
pub struct Lanes {
    pub(super) store: Arc<dyn SessionStore>,
    pub(super) limits: LaneLimits,
    /// The lanes of each depth.
    by_depth: Mutex<HashMap<u32, Arc<Semaphore>>>,
    /// By session.
    live: Mutex<BTreeMap<String, Arc<LiveAgent>>>,
    /// Background sub-agents that have ended and whose parent was not told yet, by the parent.
    unreported: Mutex<HashMap<String, Vec<SubAgentStatus>>>,
    /// Sessions that are removed when their parent was told of their end.
    forgotten: Mutex<HashSet<String>>,
    /// Changes with every end.
    ends: watch::Sender<u64>,
    /// The conversation with the user.
    root: Mutex<Option<(String, Steering)>>,
}

haft_contract::opaque_debug!(Lanes: limits = limits);

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Lanes {
    /// Without sub-agents.
    pub fn new(store: Arc<dyn SessionStore>, limits: LaneLimits) -> Self {
        Self {
            store,
            limits,
            by_depth: Mutex::default(),
            live: Mutex::default(),
            unreported: Mutex::default(),
            forgotten: Mutex::default(),
            ends: watch::Sender::new(0),
            root: Mutex::default(),
        }
    }

    /// Ends every sub-agent, and waits until their last states are stored.
    pub async fn shut_down(&self, why: &str) {
        let live: Vec<Arc<LiveAgent>> = lock(&self.live).values().cloned().collect();
        for agent in &live {
            agent.stop(SubAgentState::Killed, why);
        }
        for agent in live {
            agent.ended().await;
        }
    }

    pub(super) fn set_root(&self, id: &str, steering: Steering) {
        lock(&self.root).get_or_insert_with(|| (id.to_owned(), steering));
    }

    /// Where the conversation with the user takes messages, if it has this id.
    pub(super) fn root_steering(&self, id: &str) -> Option<Steering> {
        lock(&self.root).as_ref().filter(|(root, _)| root == id).map(|(_, steering)| steering.clone())
    }

    /// A lane for an agent of this depth, as soon as one is free.
    pub(super) async fn lane(&self, depth: u32) -> Option<OwnedSemaphorePermit> {
        let lane = Arc::clone(lock(&self.by_depth).entry(depth).or_insert_with(|| Arc::new(Semaphore::new(self.limits.concurrency))));
        // Closed by nobody.
        lane.acquire_owned().await.ok()
    }

    /// Adds a sub-agent, unless its parent has as many as it may have.
    pub(super) fn add(&self, status: SubAgentStatus, stop: CancellationToken) -> Result<Arc<LiveAgent>, ToolError> {
        let mut live = lock(&self.live);
        let children = live.values().filter(|agent| agent.status.borrow().parent == status.parent).count();
        self.refuse_children(children)?;
        let id = status.id.clone();
        let agent = Arc::new(LiveAgent {
            status: watch::Sender::new(status),
            steering: Steering::default(),
            stop,
            why: Mutex::default(),
            takes_messages: Mutex::new(true),
        });
        live.insert(id, Arc::clone(&agent));
        Ok(agent)
    }

    pub(super) fn refuse_children(&self, children: usize) -> Result<(), ToolError> {
        let most = self.limits.max_children;
        if children < most {
            return Ok(());
        }
        Err(ToolError::validation(format!(
            "{children} sub-agents of this conversation have not ended, and {most} are the most (subagents.max_children). Wait for one to \
             end, or end one, then start this one."
        )))
    }

    pub(super) fn find(&self, id: &str) -> Option<Arc<LiveAgent>> {
        lock(&self.live).get(id).cloned()
    }

    /// The sub-agents that a conversation started itself.
    pub(super) fn children(&self, parent: &str) -> Vec<Arc<LiveAgent>> {
        lock(&self.live).values().filter(|agent| agent.status.borrow().parent == parent).cloned().collect()
    }

    /// A sub-agent and all beneath it.
    pub(super) fn tree(&self, id: &str) -> Vec<Arc<LiveAgent>> {
        let live = lock(&self.live);
        let parent = |id: &String| live.get(id).map(|agent| agent.status.borrow().parent.clone());
        let is_beneath = |agent: &String| std::iter::successors(Some(agent.clone()), parent).any(|above| above == id);
        live.iter().filter(|(agent, _)| is_beneath(agent)).map(|(_, agent)| Arc::clone(agent)).collect()
    }

    /// Removes a sub-agent that has ended and is stored. One in the background is reported to its parent.
    pub(super) fn remove(&self, status: SubAgentStatus) {
        lock(&self.live).remove(&status.id);
        if status.background && !status.reported {
            self.report_later(status);
        }
        self.ends.send_modify(|count| *count += 1);
    }

    /// Reports an end to the parent when it asks for such next.
    pub(super) fn report_later(&self, status: SubAgentStatus) {
        let mut unreported = lock(&self.unreported);
        let of_parent = unreported.entry(status.parent.clone()).or_default();
        // An open one may end twice before its parent is told.
        of_parent.retain(|known| known.id != status.id || known.ended != status.ended);
        of_parent.push(status);
    }

    /// What is to be reported to a conversation, each once.
    pub(super) fn take_unreported(&self, parent: &str) -> Vec<SubAgentStatus> {
        lock(&self.unreported).remove(parent).unwrap_or_default()
    }

    /// Removes the session of a sub-agent when its end was reported, and not before: a process that is killed loses no answer.
    pub(super) fn forget_after_report(&self, id: &str) {
        lock(&self.forgotten).insert(id.to_owned());
    }

    /// Stores that the end of a sub-agent was reported.
    pub(super) async fn store_reported(&self, status: SubAgentStatus) -> Result<(), StoreError> {
        let is_forgotten = lock(&self.forgotten).remove(&status.id);
        if is_forgotten { self.store.delete(&status.id).await.map(drop) } else { self.store.put_sub_agent(status).await }
    }

    /// What was asked for needs no report.
    pub(super) fn forget_unreported(&self, parent: &str, id: &str) {
        if let Some(unreported) = lock(&self.unreported).get_mut(parent) {
            unreported.retain(|status| status.id != id);
        }
    }

    pub(super) fn has_unreported(&self, parent: &str) -> bool {
        lock(&self.unreported).get(parent).is_some_and(|unreported| !unreported.is_empty())
    }

    /// The one that ended first of those that are to be reported; it stays among them.
    pub(super) fn first_unreported(&self, parent: &str) -> Option<SubAgentStatus> {
        lock(&self.unreported).get(parent)?.first().cloned()
    }

    pub(super) fn ends(&self) -> watch::Receiver<u64> {
        self.ends.subscribe()
    }
}

/// A sub-agent that has not ended.
pub(super) struct LiveAgent {
    status: watch::Sender<SubAgentStatus>,
    pub(super) steering: Steering,
    stop: CancellationToken,
    /// The state that it ends in when it is stopped, and why.
    why: Mutex<Option<(SubAgentState, String)>>,
    /// Whether a message would still be read.
    takes_messages: Mutex<bool>,
}

impl LiveAgent {
    pub(super) fn status(&self) -> SubAgentStatus {
        self.status.borrow().clone()
    }

    pub(super) fn watch(&self) -> watch::Receiver<SubAgentStatus> {
        self.status.subscribe()
    }

    pub(super) fn change(&self, change: impl FnOnce(&mut SubAgentStatus)) {
        self.status.send_modify(change);
    }

    pub(super) fn stop_token(&self) -> &CancellationToken {
        &self.stop
    }

    /// Stops it; the first reason counts.
    pub(super) fn stop(&self, state: SubAgentState, why: &str) {
        lock(&self.why).get_or_insert_with(|| (state, why.to_owned()));
        self.stop.cancel();
    }

    /// The state that it was stopped in. Without a reason of its own it was stopped with its parent.
    pub(super) fn stop_reason(&self) -> (SubAgentState, String) {
        lock(&self.why).clone().unwrap_or_else(|| (SubAgentState::Killed, "its parent was stopped".to_owned()))
    }

    /// Waits until its last state is stored.
    pub(super) async fn ended(&self) {
        let mut status = self.watch();
        // Dropped: it has ended as well.
        status.wait_for(|status| !status.state.is_active()).await.ok();
    }

    /// Queues a message; `false` if nobody would read it.
    pub(super) fn say(&self, message: &str) -> bool {
        let takes_messages = lock(&self.takes_messages);
        if *takes_messages {
            self.steering.say(message);
        }
        *takes_messages
    }

    /// Messages that arrived after the last answer; none are taken from now on if there are none.
    pub(super) fn unread(&self) -> Option<String> {
        let mut takes_messages = lock(&self.takes_messages);
        let unread = self.steering.texts();
        *takes_messages = !unread.is_empty();
        takes_messages.then(|| unread.join("\n\n"))
    }

    pub(super) fn close(&self) {
        *lock(&self.takes_messages) = false;
    }
}

#[cfg(test)]
mod tests {
    use haft_testkit::sub_agent_status;

    use super::*;
    use crate::test_stores::session_store;

    fn status(id: &str, parent: &str) -> SubAgentStatus {
        SubAgentStatus { parent: parent.into(), ..sub_agent_status(id, SubAgentState::Running) }
    }

    fn lanes(limits: LaneLimits) -> Lanes {
        Lanes::new(session_store(), limits)
    }

    #[tokio::test]
    async fn lanes_of_a_depth_are_bounded_and_other_depths_are_free() {
        let lanes = lanes(LaneLimits { concurrency: 2, ..LaneLimits::default() });
        let (first, second) = (lanes.lane(1).await, lanes.lane(1).await);
        let waits = tokio::time::timeout(Duration::from_millis(20), lanes.lane(1)).await;
        assert!(first.is_some() && second.is_some() && waits.is_err());
        assert!(lanes.lane(2).await.is_some(), "an agent that waits for a deeper one must not keep it from its lane");
        drop(first);
        assert!(lanes.lane(1).await.is_some());
    }

    #[test]
    fn children_are_counted_for_each_parent() {
        let lanes = lanes(LaneLimits { max_children: 2, ..LaneLimits::default() });
        for (id, parent, is_added) in [("a", "p", true), ("b", "p", true), ("c", "p", false), ("d", "a", true)] {
            assert_eq!(lanes.add(status(id, parent), CancellationToken::new()).is_ok(), is_added, "{id}");
        }
        lanes.remove(status("a", "p"));
        assert!(lanes.add(status("c", "p"), CancellationToken::new()).is_ok(), "one has ended");
        let reported: Vec<String> = lanes.take_unreported("p").into_iter().map(|status| status.id).collect();
        assert_eq!((reported, lanes.take_unreported("p").len()), (vec!["a".to_owned()], 0), "each end is reported once");
    }

    #[test]
    fn tree_has_everything_beneath() {
        let lanes = lanes(LaneLimits::default());
        for (id, parent) in [("a", "root"), ("b", "a"), ("c", "b"), ("x", "root")] {
            lanes.add(status(id, parent), CancellationToken::new()).unwrap();
        }
        let ids = |root: &str| lanes.tree(root).iter().map(|agent| agent.status().id).collect::<Vec<_>>();
        assert_eq!(
            (ids("a"), ids("x"), ids("root")),
            (vec!["a".into(), "b".into(), "c".into()], vec!["x".into()], vec!["a".into(), "b".into(), "c".into(), "x".into()])
        );
    }

    #[test]
    fn message_after_the_last_answer_is_read_or_refused_and_never_lost() {
        let lanes = lanes(LaneLimits::default());
        let agent = lanes.add(status("a", "p"), CancellationToken::new()).unwrap();
        assert!(agent.say("one") && agent.say("two"));
        assert_eq!(agent.unread().as_deref(), Some("one\n\ntwo"));
        assert!(agent.say("three"));
        assert_eq!(agent.unread().as_deref(), Some("three"));
        assert_eq!(agent.unread(), None);
        assert!(!agent.say("late"), "nobody would read it");
    }

    #[test]
    fn first_reason_to_stop_counts_and_without_one_it_was_the_parent() {
        let lanes = lanes(LaneLimits::default());
        let parent = CancellationToken::new();
        let agent = lanes.add(status("a", "p"), parent.child_token()).unwrap();
        parent.cancel();
        assert!(agent.stop_token().is_cancelled());
        assert_eq!(agent.stop_reason(), (SubAgentState::Killed, "its parent was stopped".to_owned()));
        agent.stop(SubAgentState::TimedOut, "slow");
        agent.stop(SubAgentState::Killed, "late");
        assert_eq!(agent.stop_reason(), (SubAgentState::TimedOut, "slow".to_owned()));
    }
}
