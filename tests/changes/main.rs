//! Changes of files by several tools: at once and one after the other, and all the way back. The real tools and the real engine
//! on a real disk.
//!
//! That an edit changes only the places it found, and that a patch and its reverse leave a file as it was, holds for any
//! text and is tested where it is worked out: `an_edit_changes_only_its_places` and
//! `a_patch_made_of_two_texts_turns_one_into_the_other_and_back` in `crates/patch/tests/suite/properties.rs`.
#![allow(clippy::unwrap_used, reason = "a test that cannot continue has failed")]

mod changing;
mod meeting;
mod order;
mod together;
mod undoing;
mod world;
