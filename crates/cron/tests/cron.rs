//! The scheduler on a real store, with a clock that the tests set.
#![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

mod suite;
