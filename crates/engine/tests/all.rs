//! The engine, driven from outside: scripted tools on a machine in memory, real blobs in a temporary folder.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]
#![allow(clippy::format_collect, reason = "texts for tests")]

#[path = "suite/harness.rs"]
mod harness;

#[path = "suite/agreement.rs"]
mod agreement;
#[path = "suite/approvals.rs"]
mod approvals;
#[path = "suite/approvals_broker.rs"]
mod approvals_broker;
#[path = "suite/approvals_edited.rs"]
mod approvals_edited;
#[path = "suite/approvals_order.rs"]
mod approvals_order;
#[path = "suite/approvals_recorded.rs"]
mod approvals_recorded;
#[path = "suite/asking.rs"]
mod asking;
#[path = "suite/batch.rs"]
mod batch;
#[path = "suite/bounds.rs"]
mod bounds;
#[path = "suite/capabilities.rs"]
mod capabilities;
#[path = "suite/decisions.rs"]
mod decisions;
#[path = "suite/dialects.rs"]
mod dialects;
#[path = "suite/egress.rs"]
mod egress;
#[path = "suite/hooks.rs"]
mod hooks;
#[path = "suite/hooks_cancelled.rs"]
mod hooks_cancelled;
#[path = "suite/hooks_command.rs"]
mod hooks_command;
#[path = "suite/host_permissions.rs"]
mod host_permissions;
#[path = "suite/inputs.rs"]
mod inputs;
#[path = "suite/isolation.rs"]
mod isolation;
#[path = "suite/loops_and_taint.rs"]
mod loops_and_taint;
#[path = "suite/registry.rs"]
mod registry;
#[path = "suite/running.rs"]
mod running;
#[path = "suite/undo.rs"]
mod undo;
#[path = "suite/undo_commands.rs"]
mod undo_commands;
#[path = "suite/undo_or_nothing.rs"]
mod undo_or_nothing;
#[path = "suite/undo_session.rs"]
mod undo_session;
