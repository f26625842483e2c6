//! What the seeds promise of a call, seen by a program that embeds Haft: real files, a real server, the real history.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod calls;
mod complaints;
mod counts;
mod dialects;
mod embedded;
mod files;
mod kinds;
mod limits;
mod network;
mod repl;
mod spellings;
mod support;
