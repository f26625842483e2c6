//! The transport against real sockets on loopback, with a protocol as small as one can be.
#![allow(clippy::unwrap_used)] // helpers of a test stop at the first surprise, as the test itself does

mod audio;
mod cancel;
mod content;
mod cuts;
mod listing;
mod network;
mod plain;
mod secrets;
mod secure;
mod server;
mod statuses;
mod support;
mod time;
