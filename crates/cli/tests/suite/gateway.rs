//! `haft serve`: real requests against the real server.

mod attacks;
mod client;
mod owner;
mod places;
mod scopes;
mod secure;
mod staged;
mod turns;

pub(super) use client::{EventReader, HttpAnswer, PageClient, Served};
