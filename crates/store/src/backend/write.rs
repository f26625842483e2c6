//! What is queued to be written, and the queue between the calls and the one thread that writes; both databases use it.

mod change;
mod item;
mod queue;

pub(super) use self::change::{AutomationWrite, ChannelChange, ClaimRequest, JobChange, RIGHT, SessionChange, WRONG};
pub(super) use self::item::{ChangeAnswer, QueueItem, StoreChange};
pub(super) use self::queue::WriteQueue;
