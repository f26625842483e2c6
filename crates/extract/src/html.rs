//! HTML as a tree: tokens, character references, and the elements that they nest to.

pub(crate) mod attributes;
mod builder;
pub(crate) mod entities;
pub(crate) mod names;
pub(crate) mod tokens;
pub(crate) mod tree;
