//! Tenants: two of them behind one server, and everything that one could try on the other.

mod attacks;
mod commands;
mod quotas;
mod routes;
mod worlds;

use worlds::{CANARY, TwoTenants};
