//! Conformance of the provider adapters, checked by other people's programs: the message types of the official SDKs validate
//! every request, and the simulator aimock plays the providers. `tests/validators/setup` installs both.
#![allow(clippy::disallowed_methods, clippy::disallowed_types, reason = "the bans are for tools")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "helpers of tests")]

#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "suite/harness.rs"]
mod harness;
#[allow(dead_code, reason = "other tests use the rest of it")]
#[path = "suite/processes.rs"]
mod processes;

mod validators {
    mod aimock;
    mod chaos;
    mod goldens;
    mod installed;
    mod loops;
    mod mcp;
    mod sdks;
    mod simulation;
    mod tap;
}
