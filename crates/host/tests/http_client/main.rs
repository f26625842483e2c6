//! The guarded client against real sockets on loopback.
#![allow(clippy::unwrap_used)] // helpers of a test stop at the first surprise, as the test itself does

mod addresses;
mod bounds;
mod exchange;
mod failures;
mod redirects;
mod sandbox;
mod support;
mod tls;
mod upstream;
mod urls;
