//! The guarded client against real sockets on loopback.

mod addresses;
mod bounds;
mod exchange;
mod failures;
mod redirects;
mod support;
mod tls;
