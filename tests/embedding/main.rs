//! Haft as another program uses it: its examples, the code of the specifications, its features, and a crate outside the workspace.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod agents;
mod api;
mod cost;
mod examples;
mod outside;
mod specifications;
mod toolboxes;
