//! Configuration through its public door: real files, an injected environment, flags.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the bans are for tools")]
#![allow(clippy::unwrap_used, reason = "helpers of tests")]

mod suite {
    mod files;
    mod fixture;
    mod keys;
    mod merging;
    mod places;
    mod report;
    mod schema;
    mod variables;
}
