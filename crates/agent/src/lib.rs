//! The agent loop: a model calls tools, gets their results, and continues until it is done.
//!
//! [`Runner::turn`] is the loop. It reads top to bottom: ask the model, run its calls while the answer still arrives, write the
//! answer and the results to the ledger, ask again.
#![warn(missing_docs)]

mod compaction;
mod context_budget;
mod cost;
mod demo;
mod events;
mod ledger;
mod meter;
mod partial_answer;
mod provider;
mod runner;
mod stored_session;
mod tool_search;
mod turn;

pub use cost::{Micros, Price, Prices};
pub use demo::DemoModel;
pub use events::{EndReason, NullWatcher, TurnEnd, TurnEvent, TurnWatcher};
pub use ledger::{Ledger, LedgerEntry, NullLedger};
pub use meter::{DenySpending, Meter, NullMeter, SpendingApprover, SpendingBudget, StoredMeter, Today};
pub use provider::{HttpProvider, Provider};
pub use runner::Runner;
pub use stored_session::{ResumedConversation, StoredSession};
pub use tool_search::{DeferredTools, DisclosedTools, offered_tools, visible_tools};
pub use turn::Steering;
