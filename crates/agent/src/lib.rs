//! The loop: a model asks for tools, gets their results, and goes on until it is done. Nothing is lost on the way.
//!
//! [`Runner::turn`] is the loop. It reads top to bottom: ask, run what is asked for while the answer still arrives, keep the
//! answer, keep the results, ask again.
#![warn(missing_docs)]

mod compaction;
mod cost;
mod demo;
mod events;
mod heard;
mod http;
mod ledger;
mod meter;
mod provider;
mod room;
mod runner;
mod stored;
mod tool_search;

pub use cost::{Micros, Price, Prices};
pub use demo::DemoModel;
pub use events::{EndReason, Nobody, TurnEnd, TurnEvent, Watcher};
pub use http::HttpProvider;
pub use ledger::{Entry, Forgetful, Ledger};
pub use meter::{Budget, Closed, Meter, Purse, StoredMeter, Today, Unmetered};
pub use provider::{Answer, Provider};
pub use runner::{Runner, Steering};
pub use stored::{Resumed, StoredSession};
pub use tool_search::{Revealed, Shelves, offered, shown};
