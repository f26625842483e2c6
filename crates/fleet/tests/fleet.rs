//! Work on a real queue and a real database, and workers that are really killed.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]
#![allow(clippy::print_stdout, reason = "a child tells its parent")]

mod suite {
    mod child;
    mod clocks;
    mod cluster;
    mod compose;
    mod events;
    mod killed;
    mod leases;
    mod logins;
    mod messages;
    mod metrics;
    mod names;
    mod partition;
    mod restarts;
    mod slow;
    mod tenants;
    #[cfg(feature = "traces")]
    mod traces;
    mod versions;

    mod world;
}
