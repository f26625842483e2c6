//! The sandbox: turns a command into a confined command, which the caller spawns instead.
//!
//! ```text
//! ProcessSpec + SandboxPolicy ─▶ Sandbox::wrap ─▶ ConfinedCommand { command, guard }
//! ```
//!
//! - [`select`] finds the backend that works here, and reports what it does not enforce.
//! - [`launcher::main_if_asked`] must be the first call in the host's `main`: the confined command starts with the host's own
//!   program, which drops its privileges step by step and then executes the command.
//! - Killing the spawned process ends every process that the command has started, because the PID namespace ends with it;
//!   [`SandboxGuard::kill`] also waits for that. The run also ends with the *thread* that spawned it, so spawn it from a thread
//!   that lives as long as the run.
//! - A command ended by a signal exits with 128 plus the signal number, as in shells.
//! - [`probe::run`] makes real escape attempts.
//!
//! On Linux a command sees the folders of the system read-only, the paths that the policy names, and its own `/tmp`, `/var/tmp`,
//! `/run`, `/dev` and `/proc`; no other file; no other process; no network access that the policy does not name; no Unix socket;
//! no capability; and no system call that leads to any of these.

pub mod launcher;
#[cfg(target_os = "linux")]
pub mod limits;
#[cfg(target_os = "linux")]
pub mod probe;
pub mod seatbelt;

#[cfg(target_os = "linux")]
mod activity;
#[cfg(target_os = "linux")]
mod bubblewrap;
mod command;
mod container;
mod environment;
mod error;
#[cfg(target_os = "linux")]
mod landlock;
mod mounts;
mod overlay;
mod policy;
mod removals;
mod sandbox;
#[cfg(target_os = "linux")]
mod seccomp;
mod selection;
mod session_network;
#[cfg(target_os = "linux")]
mod termination;

#[cfg(target_os = "linux")]
pub use activity::RunActivity;
#[cfg(target_os = "linux")]
pub use bubblewrap::Bubblewrap;
pub use command::ProcessSpec;
pub use container::{Container, ContainerImage, ContainerOptions};
pub use environment::scrub;
pub use error::SandboxError;
#[cfg(target_os = "linux")]
pub use landlock::Landlock;
pub use launcher::Launcher;
pub use mounts::is_system_path;
pub use overlay::{Overlay, OverlayLayer};
pub use policy::{Bind, NetworkAccess, SandboxPolicy, SandboxView, SocketAccess, usual_secrets};
pub use removals::RemovalServer;
#[cfg(not(target_os = "linux"))]
pub use sandbox::RunActivity;
pub use sandbox::{ConfinedCommand, Sandbox, SandboxGuard, Unconfined};
pub use seatbelt::Seatbelt;
pub use selection::{Selection, SelectionRequest, check_gaps, select};
pub use session_network::{NetworkNamespace, SessionNetwork};
