//! Lines of shell: what they are planned as, and what becomes of them when they run.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot go on has failed")]

mod jobs;
mod planned;
mod running;
mod support;
