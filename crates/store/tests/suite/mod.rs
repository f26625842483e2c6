//! What every backend must do. Each case gets an empty store of its own.

mod blobs;
mod calls;
mod claims;
mod lookup;
mod messages;
mod session_lookup;
mod sessions;
mod sub_agents;
mod taint;
mod todos;
mod undo;
mod usage;

pub(crate) use blobs::*;
pub(crate) use calls::*;
pub(crate) use claims::*;
pub(crate) use lookup::*;
pub(crate) use messages::*;
pub(crate) use session_lookup::*;
pub(crate) use sessions::*;
pub(crate) use sub_agents::*;
pub(crate) use taint::*;
pub(crate) use todos::*;
pub(crate) use undo::*;
pub(crate) use usage::*;
