//! Sub-agents: conversations that a conversation starts.
//!
//! Each is a [`Runner`](crate::Runner) on a stored session of its own, started by the session of its parent, so that it has at most
//! the rights of its parent. [`Lanes`] runs them side by side within limits and knows those of this process; the store knows all.
//! [`ConversationAgents`] is what one conversation sees of it: its own sub-agents.

mod conversation;
mod directory;
mod lanes;
mod meter;
mod notice;
mod pace;
mod resumed;
mod run;
mod start;
mod transcript;
mod types;
mod watcher;

pub use self::conversation::ConversationAgents;
pub use self::directory::ConversationSessions;
pub use self::lanes::{LaneLimits, Lanes};
pub use self::meter::InheritedMeter;
pub(crate) use self::notice::{AnswerTrust, end_notice};
pub use self::resumed::ResumedAgent;
pub use self::run::{ChildConversation, ChildOffer, SubAgentFactory};
pub use self::types::{GENERAL_PURPOSE, built_in_types, find_type};
