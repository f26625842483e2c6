//! The `haft` binary, seen from outside: every test has a home, a configuration and a workspace of its own.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the bans are for tools")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod suite {
    mod calls;
    mod config;
    mod doctor;
    mod explain;
    mod flags;
    mod harness;
    mod help;
    mod history;
    mod interrupt;
    mod policy;
    mod run;
    mod state;
    mod terminal;
    mod tools;
    mod undo;
    mod verdicts;
}
