//! The terminal: conversations, approvals, tables and all other output of the `haft` binary.
//!
//! It builds nothing: the binary passes in the conversation, the stores and a [`chat::ChatBackend`].

mod background_jobs;
pub mod calls;
pub mod chat;
pub mod conversation;
pub mod diff;
pub mod effects;
pub mod failure;
#[cfg(test)]
mod golden;
pub mod interrupt;
pub mod irreversible;
pub(crate) mod markdown;
pub mod output;
pub mod sessions;
pub mod signals;
pub mod table;
pub mod terminal;
pub mod text_builder;
pub mod time;

/// Sets how this process reports a panic, and what ends its commands when a second signal ends it at once.
pub fn prepare(end_commands: fn()) {
    output::install_panic_message();
    interrupt::on_leave(end_commands);
}
