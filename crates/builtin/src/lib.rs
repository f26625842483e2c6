//! The tools that come with Haft: one file each, one line each in the list of their group.
//!
//! A tool reaches the machine through its context alone, and the context reaches what the tool planned; there is no
//! other way to do I/O here, and the lints below see to that.
#![deny(clippy::disallowed_methods, clippy::disallowed_types)]
#![warn(missing_docs)]

// The derive writes `::haft::…`, which is what embedding programs depend on; here it is the contract itself.
extern crate haft_contract as haft;

pub mod stages;

#[macro_use]
mod list;

mod files;
mod messaging;
mod runtime;
mod shared;
mod system;
mod web;

use std::sync::Arc;

use haft_contract::DynTool;

use crate::list::Group;

/// In the order of listings.
const GROUPS: &[Group] = &[files::GROUP, runtime::GROUP, web::GROUP, messaging::GROUP, system::GROUP];

const _: () = assert!(list::all_differ(GROUPS), "two tools share a name");

/// Every tool, in the order of listings.
pub fn all() -> Vec<Arc<dyn DynTool>> {
    let mut tools = Vec::new();
    for group in GROUPS {
        (group.register)(&mut tools);
    }
    tools
}
