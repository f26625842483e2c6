//! The three web tools against real servers on this machine: attacks D01 to D12, bad servers, and the shapes of search providers.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod attacks;
mod bad_servers;
mod dns;
mod manners;
mod providers;
mod server;
mod world;
