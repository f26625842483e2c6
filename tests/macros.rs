//! The macros: what they make, compared whole. What they refuse is tested beside them, in their own crate.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

#[path = "macros/pass/derived.rs"]
mod derived;
#[path = "macros/pass/function.rs"]
mod function;
#[path = "macros/pass/planned.rs"]
mod planned;
#[path = "macros/pass/variants.rs"]
mod variants;
