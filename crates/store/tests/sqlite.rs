//! What is SQLite's own: files, versions, damage, locks, crashes.
#![allow(clippy::unwrap_used, reason = "helpers are part of the tests")]

mod common;
mod sqlite_suite;
