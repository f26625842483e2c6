//! The stages of a call, one file each, in the order in which they run.

pub(crate) mod resolve;

pub(crate) mod arguments;
mod json;
pub(crate) mod parameters;

pub(crate) mod rewrite;

pub(crate) mod plan;

pub(crate) mod guard;
pub(crate) mod taint;

pub(crate) mod permit;

pub(crate) mod run;

pub(crate) mod bound;

pub(crate) mod settle;
