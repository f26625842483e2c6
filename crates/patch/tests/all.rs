//! Everything that is tested from outside, in one binary.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]
#![allow(clippy::format_collect, reason = "plain to read, and nobody waits for it")]

mod suite;
