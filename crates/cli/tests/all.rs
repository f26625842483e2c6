//! The `haft` binary, seen from outside: every test has a home, a configuration and a workspace of its own.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the bans are for tools")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

mod suite {
    mod advice;
    mod agents;
    mod attacks;
    mod backends;
    mod bad_commands;
    mod bypass;
    mod calls;
    mod cancel;
    mod changes;
    mod chat;
    mod chatting;
    mod config;
    mod config_check;
    mod container;
    mod corpus;
    mod crash;
    mod dialects;
    mod disk;
    mod doctor;
    mod editor;
    mod effects;
    mod exec;
    mod explain;
    mod explain_past;
    mod faults;
    mod flags;
    mod flows;
    mod git_attacks;
    mod harness;
    mod help;
    mod history;
    mod hooks;
    mod interpreters;
    mod interrupt;
    mod jobs;
    mod later_calls;
    mod leftovers;
    mod memory;
    mod model;
    mod models;
    mod network;
    mod odd_calls;
    mod ordinary;
    #[cfg(feature = "pdf")]
    mod pdf;
    mod planning;
    mod policy;
    mod processes;
    mod projects;
    mod prompts;
    mod pty;
    mod recipes;
    mod repair;
    mod retention;
    mod rule_language;
    mod run;
    mod sent;
    mod shells;
    mod skills;
    mod small_model;
    mod state;
    mod structured;
    mod sub_agents;
    mod terminal;
    mod terminals;
    mod tools;
    mod turns;
    mod undo;
    mod undo_commands;
    mod verdicts;
}
