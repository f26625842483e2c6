//! The network for tools: one client, one address guard.
//!
//! `target` parses a URL once; `guard` checks names and addresses; `resolver` resolves a name once, checks every answer, and connects
//! only to a checked address, so DNS rebinding has no second lookup to use; each hop of a `redirect` is checked by the guard and by
//! the session's policy. Public addresses pass, private ones need `network.allow`, metadata services are always refused. Proxies of
//! the environment are not used; `upstream` is the one that the user may configure.

mod address;
mod client;
mod failure;
mod guard;
mod headers;
mod redirect;
mod resolver;
mod rule;
mod sandbox;
mod slots;
mod target;
mod upstream;

pub use client::{GuardedClient, HttpOptions};
pub use resolver::{Resolve, SystemResolver};
pub use rule::{NetworkRuleError, NetworkRules};
pub use sandbox::SandboxDialer;
pub use upstream::UpstreamProxy;

pub(crate) use guard::{AddressGuard, Refusal};
pub(crate) use resolver::checked_addresses;
