//! Outsiders judge the models' side of haft: the message types of the official SDKs judge every request that is sent, and a
//! simulator that somebody else wrote, aimock, plays the providers. `tests/judges/setup` installs both.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the bans are for tools")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "suite/harness.rs"]
mod harness;

mod judges {
    mod aimock;
    mod chaos;
    mod goldens;
    mod installed;
    mod loops;
    mod sdks;
    mod stand;
    mod tap;
}
