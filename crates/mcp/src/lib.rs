//! The Model Context Protocol, both ways: our tools for any client ([`server`]), and any server's tools for us ([`client`]).
//!
//! Only this crate names `rmcp`, which moves fast.

pub mod client;
mod convert;
mod lines;
pub mod server;
