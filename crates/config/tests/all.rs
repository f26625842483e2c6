//! Configuration through its public door: real files, an injected environment, flags.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the bans are for tools")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod suite {
    mod exec;
    mod files;
    mod fixture;
    mod groups;
    mod hooks;
    mod instances;
    mod keys;
    mod lint;
    mod merging;
    mod models;
    mod names;
    mod places;
    mod presets;
    mod report;
    mod save;
    mod save_agents;
    mod schema;
    mod trust;
    mod variables;
    mod widening;
}
