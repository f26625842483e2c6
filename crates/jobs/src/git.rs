//! Repositories: their Git folders are overlays while a command runs, and only what Git neither runs nor trusts is applied.
//!
//! A command may do in `.git` what it likes. When it has ended, objects are added, refs, index and the state of operations are
//! applied together if nobody else changed them meanwhile, harmless settings are merged, and everything else goes to quarantine.

mod apply;
mod config;
mod content;
mod evaluate;
mod foreign_owners;
mod hidden_entries;
mod index;
mod layer;
mod log;
mod new;
mod place;
mod pointer;
mod refname;
mod report;
mod rules;
mod settle;
mod submodules;
mod tree;
mod upper;
mod worktree;

pub(crate) use self::config::normalize;
pub(crate) use self::foreign_owners::is_foreign;
pub(crate) use self::layer::{GitOverlays, RemovedRepository};
pub(crate) use self::new::{NewRepository, sanitize_new};
pub(crate) use self::place::place_repository;
pub(crate) use self::pointer::find_git_folders;
pub(crate) use self::submodules::is_harmless_list;
pub(crate) use self::tree::Tree;

#[cfg(test)]
pub(crate) mod tests;
