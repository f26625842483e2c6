//! Tools written for other traits, registered unchanged.
//!
//! [`claw`] takes a `ToolExecutor` and its `ToolSpec`s, [`oneclaw`] takes a `Tool` with its `ToolInfo`. Each module has
//! the other system's types under their own names, so that a tool moves here by a change of its `use` line.
//!
//! The other direction, tools of ours for programs that expect those traits, is `Toolbox::into_blocking` of the crate `haft`.
//!
//! # What such a tool may do
//!
//! These traits cannot declare the effects of a call. So each call plans
//! [`Effect::Unknown`](haft_contract::Effect::Unknown), which needs full access and approval. A program that knows its tools
//! can vouch for them with the `adapt_trusted` of each module.
//!
//! # Threads
//!
//! The traits are synchronous: a call runs to its end on the thread that polls it, and may block there. The engine runs
//! tools that are not its own on threads where that does no harm. A call that has begun cannot be stopped; after its
//! timeout the model has its answer, and a later result of the tool is dropped.
#![warn(missing_docs)]

mod adapter;
pub mod claw;
mod claw_specs;
pub mod oneclaw;
