//! What every backend must do. Each case gets an empty store of its own.

mod blobs;
mod calls;
mod lookup;
mod undo;

pub(crate) use blobs::*;
pub(crate) use calls::*;
pub(crate) use lookup::*;
pub(crate) use undo::*;
