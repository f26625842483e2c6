//! The network for tools: one client, one address guard.

mod address;
mod client;
mod failure;
mod guard;
mod headers;
mod redirect;
mod resolver;
mod rule;
mod target;

pub use client::{GuardedClient, HttpOptions};
pub use resolver::{Resolve, SystemResolver};
pub use rule::{NetworkRule, NetworkRuleError, NetworkRules};

pub(crate) use guard::Guard;
pub(crate) use resolver::judged_addresses;
