//! The browser of a session: Chromium in the sandbox of commands, driven over the debugging pipe.
//!
//! ```text
//! BrowserService ─▶ Browser (one for each session) ─▶ DevTools (messages over two pipes)
//!                     │                                   │
//!                     ├─ BrowserState: tabs, frames, logs ◀ events
//!                     └─ page script: snapshots and elements, in an isolated world of every frame
//! ```
//!
//! There is no debugging port: nothing else on the machine can drive the browser. It sees no file of the user, its profile is in memory
//! and ends with it, and its only network is that of the session, whose only egress is the proxy of commands: each connection of a page
//! is decided on by the gate of the call that runs, under the address guard.
#![warn(missing_docs)]

mod acts;
mod browser;
mod chromium;
mod control;
mod devtools;
mod events;
mod failure;
mod files;
mod gate;
mod keyboard;
mod keys;
mod logs;
mod navigation;
mod page;
mod pictures;
mod pointer;
mod recording;
mod recordings;
mod screen;
mod service;
mod shadow;
mod snapshot;
mod state;
mod waiting;

pub use self::chromium::{BrowserSettings, find_chromium};
pub use self::recordings::{RecordedSession, RecordedStep, Recordings};
pub use self::service::BrowserService;
