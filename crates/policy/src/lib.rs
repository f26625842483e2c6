//! Who may use what, and why. Pure: no I/O, no runtime.
//!
//! [`StandardPolicy`] is the one decision function. It is compiled once from a [`PolicySpec`] and then asked by every caller that
//! lists tools, answers calls or explains: all of them get the same [`Decision`], with its reasons.
#![warn(missing_docs)]

mod advice;
mod apply;
mod caller;
mod candidate;
pub mod catalog;
mod decision;
mod edit;
mod effects;
mod exec;
mod list;
mod name;
mod name_map;
mod outside;
mod policy;
mod rule;
mod spec;
mod standard;
mod steps;
mod turn_limits;

pub use advice::{Advice, Trial};
pub use apply::to_caller as edit_caller;
pub use caller::{AccessLevel, AccessLimit, Caller, Sender};
pub use candidate::{Candidate, names};
pub use decision::{AskSubject, Decision, Denial, SourceSpan, StepOutcome, TraceEntry, Verdict};
pub use edit::{ConfigEdit, EditValue, Owner};
pub use exec::ExecSpec;
pub use list::ToolMatcher;
pub use name::folded;
pub use policy::Policy;
pub use rule::{ChangeRules, GuardedChanges, Rule, RuleFault, RuleKind, RuleSet, SessionGrants, canonical};
pub use spec::{AgentSpec, AllowList, ChannelSpec, ListEntry, PolicySpec, RuleLists, SettingPlace, SettingWord, ToolLists};
pub use standard::StandardPolicy;
pub use steps::{STEPS, WITHOUT};
