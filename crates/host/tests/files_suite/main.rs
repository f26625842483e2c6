//! The disk: escapes, races, atomic changes and bounds, on real files. Tests bear the number of the attack they repeat.
#![allow(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, clippy::disallowed_types, reason = "tests")]

mod adopting;
mod bounds;
mod entries;
mod escapes;
mod faults;
mod ignoring;
mod interrupted;
mod killed;
mod links;
mod property;
mod protected;
mod races;
mod reading;
mod support;
mod undoing;
mod walking;
mod writing;
