//! What somebody who wants out of the workspace would try, through every parameter of every file tool that takes a path; and
//! what comes of input and disks that are broken. Real folders, a real engine, a real host.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]
#![allow(clippy::print_stdout, reason = "a test that a machine cannot run says why")]

mod bounds;
mod doors;
mod faults;
mod files;
mod mounts;
mod patches;
mod prepared;
mod races;
mod rows;
mod searches;
mod sessions;
mod snapshot;
mod table;
mod texts;
mod world;
