//! What tests run tools on: a machine that exists in memory only, recorders, and tools that do as they are told.
//!
//! [`run_tool`] takes a tool through planning and running on a [`FakeHost`]; [`Trial`] is the same with every part
//! open to choice. [`ScriptedTool`] is the other side: a tool whose plan and body a test of the engine writes. [`ModelServer`]
//! is a model that says what it was told to, over loopback.
#![warn(missing_docs)]

mod clock;
mod files;
mod host;
mod http;
mod jobs;
mod journal;
mod model_server;
mod notifier;
#[cfg(unix)]
mod ordinary;
mod pdf;
mod processes;
mod progress;
mod scripted;
mod sync;
mod trial;

pub use clock::FakeClock;
pub use files::{FakeFiles, FileOperation, ReadRecord};
pub use host::{FakeHost, FakeSystem};
pub use http::{FakeHttp, Reply};
pub use jobs::{Script, StartedLine};
pub use journal::{FakeJournal, KeptImage};
pub use model_server::{Asked, Fault, Hold, ModelServer, Moment, Round};
pub use notifier::FakeNotifier;
#[cfg(unix)]
pub use ordinary::again_as_an_ordinary_person;
pub use pdf::pdf_document;
pub use processes::FakeProcesses;
pub use progress::ProgressRecorder;
pub use scripted::{RunLog, ScriptedTool};
pub use trial::{AllowAll, DenyAll, Trial, context_for, expect_error, expect_text, run_tool};
