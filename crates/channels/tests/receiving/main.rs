//! Messages that come in: who is let in, what is taken once, floods, codes that are guessed, and approvals.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod approvals;
#[path = "../common/mod.rs"]
mod common;
mod restart;
mod senders;
mod services;
mod setup;
mod voice;
