//! Test doubles: a machine in memory, recorders, and scripted tools.
//!
//! [`run_tool`] takes a tool through planning and running on a [`FakeHost`]; [`Trial`] is the same with every part
//! open to choice. [`ScriptedTool`] is the other side: a tool whose plan and body a test of the engine writes. [`ModelServer`]
//! is a scripted model server on loopback.
#![warn(missing_docs)]

mod clock;
mod files;
mod host;
mod http;
mod jobs;
mod journal;
mod model_server;
mod nats;
mod notifier;
mod pdf;
#[cfg(unix)]
mod postgres;
mod processes;
mod progress;
mod request_faults;
mod scripted;
mod sub_agents;
mod sync;
mod trial;
#[cfg(unix)]
mod unprivileged;

pub use clock::FakeClock;
pub use files::{FakeFiles, FileOperation, ReadRecord};
pub use host::{BrowserSlot, FakeHost, FakePageCache, FakeSystem};
pub use http::{FakeHttp, Reply};
pub use jobs::{Script, StartedCommand};
pub use journal::{FakeJournal, KeptImage};
pub use model_server::{Asked, Fault, Hold, ModelServer, Moment, Round};
pub use nats::NatsServer;
pub use notifier::FakeNotifier;
pub use pdf::pdf_document;
#[cfg(unix)]
pub use postgres::{DiskFiller, PostgresServer};
pub use processes::FakeProcesses;
pub use progress::ProgressRecorder;
pub use request_faults::request_faults;
pub use scripted::{RunLog, ScriptedTool};
pub use sub_agents::sub_agent_status;
pub use trial::{AllowAll, DenyAll, Trial, context_for, expect_error, expect_text, run_tool};
#[cfg(unix)]
pub use unprivileged::again_as_an_ordinary_user;
