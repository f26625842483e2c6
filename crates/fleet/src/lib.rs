//! Work of several machines. A server records work in PostgreSQL and puts its id on a queue of NATS JetStream; a worker takes the id,
//! claims the work with a lease and a fencing number, runs it, stores the outcome, and then acknowledges the message.
//!
//! The database decides: a message may come twice, late or out of order, and may be lost, without that any work is done twice or
//! forgotten. Work that is not repeatable is begun at most once. If its worker is gone, its outcome is unknown, and that is what the
//! server is told.

mod control;
mod dispatch;
mod error;
mod events;
mod handling;
mod metrics;
mod queue;
#[cfg(feature = "traces")]
mod traces;
mod wake_up;
mod worker;

pub use self::control::{ControlMessages, ControlReply};
pub use self::dispatch::{Dispatcher, WorkPatience};
pub use self::error::FleetError;
pub use self::events::{FleetEvent, FleetEvents};
pub use self::handling::{TakenWork, WorkEnd, WorkRunner, WorkStep, WorkWatcher};
pub use self::metrics::{CountingWatcher, FleetMetrics};
pub use self::queue::{FleetQueue, subject_of_session, subject_of_tenant, topic_of_call, topic_of_turn};
#[cfg(feature = "traces")]
pub use self::traces::{TraceCollector, TracingWatcher};
pub use self::worker::{FleetWorker, WorkerSettings};
