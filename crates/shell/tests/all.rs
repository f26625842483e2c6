//! The tests of this crate, in one program.
#![allow(clippy::expect_used, clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod suite;
