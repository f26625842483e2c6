//! Tenants: two of them behind one server, and everything that one could try on the other.

mod attacks;
mod commands;
mod quotas;
mod routes;
mod worlds;

#[cfg(feature = "postgres")]
pub(super) use routes::no_route_shows_or_changes_anything_of_another_tenant;
pub(super) use worlds::{CANARY, CONFIG, TwoTenants, processes_of_process, wait_until};
