//! Servers and workers that are killed and frozen at random points while the queue and the database restart, over work of several tenants;
//! and a checker that says what came of it.
//!
//! `HAFT_CHAOS_SECONDS` (15 by default), `HAFT_CHAOS_POINTS` (no bound by default) and `HAFT_CHAOS_SEED` choose the run: it ends with the
//! time or the number of faults, whichever is first. `HAFT_CHAOS_PACE` are the milliseconds between two faults, usually, and
//! `HAFT_CHAOS_WORKERS` the workers. The same seed gives the same work and the same order of faults.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]
#![allow(clippy::print_stdout, reason = "the checker's word is for people")]

mod disorder {
    mod checker;
    mod child;
    mod faults;
    mod random;
    mod run;
    mod server;
}
