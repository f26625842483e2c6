//! What each step of a decision does, and what it says.
#![allow(
    clippy::unwrap_used,
    clippy::field_reassign_with_default,
    reason = "a test that cannot continue has failed; specs are made by changing the default"
)]

mod advice;
mod agent_rules;
mod asking;
mod callers;
mod egress;
mod exec;
mod lists;
mod setting;
mod table;
