//! The sandbox: a command goes in, a confined command comes out, and whoever has it spawns that instead.
//!
//! ```text
//! Command + Policy ─▶ Sandbox::wrap ─▶ Wrapped { command, guard }
//! ```
//!
//! - [`pick`] finds the sandbox that works here, and says what it does not hold.
//! - [`launcher::main_if_asked`] must be the first call in the host's `main`: the confined command begins with the host's own
//!   program, which takes its rights away step by step and then becomes the command.
//! - Killing the spawned process ends all that the command has started, however it hid: its namespace goes with it.
//!   [`Guard::kill`] also waits for that. The run dies with the *thread* that spawned it too, so spawn it from one that lives
//!   as long as the run.
//! - A command that was ended by a signal is seen as one that exited with 128 and the number of the signal, as in shells.
//! - [`probe::run`] tries for real to break out.
//!
//! On Linux a command sees the host's file system read-only, with its own `/tmp`, `/var/tmp`, `/run`, `/dev` and `/proc`; no
//! other process; no network but what the policy names; no Unix socket; no capability; and no system call that leads to any
//! of these.

pub mod launcher;
#[cfg(target_os = "linux")]
pub mod limits;
#[cfg(target_os = "linux")]
pub mod probe;
pub mod seatbelt;

#[cfg(target_os = "linux")]
mod bubblewrap;
mod command;
mod container;
#[cfg(target_os = "linux")]
mod ending;
mod environment;
mod error;
mod ladder;
#[cfg(target_os = "linux")]
mod landlock;
mod mounts;
mod overlay;
mod placeholder;
mod policy;
mod sandbox;
#[cfg(target_os = "linux")]
mod seccomp;
mod unconfined;

#[cfg(target_os = "linux")]
pub use bubblewrap::Bubblewrap;
pub use command::Command;
pub use container::{Container, ContainerOptions, Engine, Image};
pub use environment::scrub;
pub use error::SandboxError;
pub use ladder::{Choice, Picked, Request, judge, pick};
#[cfg(target_os = "linux")]
pub use landlock::Landlock;
pub use launcher::Launcher;
pub use overlay::{Layer, Overlay};
pub use policy::{Limits, Network, Policy, usual_secrets};
pub use sandbox::{Guard, Sandbox, Wrapped};
pub use seatbelt::Seatbelt;
pub use unconfined::Unconfined;
