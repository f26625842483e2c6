//! The agent loop: a model calls tools, gets their results, and continues until it is done.
//!
//! [`Runner::turn`] is the loop. It reads top to bottom: ask the model, run its calls while the answer still arrives, write the
//! answer and the results to the ledger, ask again.
#![warn(missing_docs)]

mod carried;
mod compaction;
mod context_budget;
mod context_parts;
mod cost;
mod demo;
mod events;
mod ledger;
mod memory_saving;
mod meter;
mod notice;
mod partial_answer;
mod provider;
mod runner;
mod small_model;
mod stored_session;
mod structured_output;
mod sub_agents;
#[cfg(test)]
#[path = "../tests/stores/mod.rs"]
mod test_stores;
mod todos;
mod tool_search;
mod turn;
mod user_messages;

pub use carried::{CarriedState, LoadedSkills};
pub use context_parts::{ContextPart, SystemPart};
pub use cost::{Micros, Price, Prices};
pub use demo::DemoModel;
pub use events::{EndReason, NullWatcher, TurnEnd, TurnEndRecord, TurnEvent, TurnEventRecord, TurnWatcher};
pub use ledger::{Ledger, LedgerEntry, NullLedger};
pub use memory_saving::MemorySaving;
pub use meter::{DenySpending, Meter, NullMeter, SpendingApprover, SpendingBudget, StoredMeter, Today};
pub use notice::{Notice, NoticeMoment, NoticeSource};
#[cfg(feature = "http")]
pub use provider::HttpProvider;
pub use provider::Provider;
pub use runner::Runner;
pub use small_model::{FindProvider, SideModel};
pub use stored_session::{ResumedConversation, StoredSession};
pub use structured_output::OutputSchema;
pub use sub_agents::{
    ChildConversation, ChildOffer, ConversationAgents, ConversationSessions, GENERAL_PURPOSE, InheritedMeter, LaneLimits, Lanes,
    ResumedAgent, SubAgentFactory, built_in_types, find_type,
};
pub use todos::StoredTodos;
pub use tool_search::{DeferredTools, DisclosedTools, offered_tools, text_tokens, tool_tokens, visible_tools};
pub use turn::Steering;
pub use user_messages::MessageEvents;
