//! Scheduled jobs: when they run, what became of each run, and the scheduler of `haft serve`.
//!
//! The pure part says when a job runs (`schedule`, `occurrences`, `words`), what becomes of runs that were missed (`catch_up`),
//! and what a run changes of its job (`run_effects`). The [`Scheduler`] waits for the earliest time with one timer, and each of its
//! steps is one transaction of the store, so that a kill between two of them neither loses nor doubles a run:
//!
//! - A run that is due is claimed with the new time of its job. Two servers cannot both claim it: the job has another version then.
//! - A claimed run whose process has ended is taken over. It continues in its conversation, which knows what was done.
//! - A delivery is noted before it is sent. One that was cut off is `unknown`, and is not sent again.
#![warn(missing_docs)]

mod catch_up;
mod claims;
mod delivery;
mod duration;
mod job_change;
mod moment;
mod new_runs;
mod occurrences;
mod ports;
mod recovery;
mod run_effects;
mod schedule;
mod scheduler;
mod service;
mod words;

pub use catch_up::{GRACE, MOST_CAUGHT_UP};
pub use delivery::DELIVERY_PAUSES;
pub use duration::{duration_words, parse_duration};
pub use moment::{parse_moment, rfc_3339, show_moment};
pub use occurrences::{latest, next_after, next_three};
pub use ports::{JobExecutor, RunOutcome, WebhookSender};
pub use run_effects::{BACK_OFF, DISABLE_AFTER, NOTICE_PAUSE};
pub use schedule::{SHORTEST_PAUSE, parse_schedule, zone_named};
pub use scheduler::{MOST_ATTEMPTS, Scheduler, SchedulerParts};
pub use service::{CronService, ServiceParts};
pub use words::{describe, run_line};
