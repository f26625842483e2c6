//! Who may use what, and why. Pure: no I/O, no runtime.
//!
//! [`StandardPolicy`] is the one decision function. It is compiled once from a [`PolicySpec`] and then asked by whoever
//! lists tools, answers calls or explains: all of them get the same [`Decision`], with its reasons.
#![warn(missing_docs)]

mod caller;
mod candidate;
pub mod catalog;
mod change;
mod decision;
mod effects;
mod exec;
mod list;
mod name;
mod rule;
mod spec;
mod standard;
mod steps;

pub use caller::{Caller, Sender};
pub use candidate::{Candidate, names};
pub use change::{Change, Owner};
pub use decision::{About, Decision, Outcome, Place, Refusal, TraceEntry, Verdict};
pub use exec::{ExecAsk, ExecSecurity, ExecSpec};
pub use haft_contract::AskMode;
pub use list::ToolMatcher;
pub use name::{folded, nearest};
pub use rule::{Hit, Rule, RuleFault, RuleKind, RuleSet, StandingRules, canonical};
pub use spec::{AgentSpec, AllowList, ChannelSpec, Listed, PolicySpec, RuleLists, ToolLists};
pub use standard::{Policy, StandardPolicy};
pub use steps::STEPS;
