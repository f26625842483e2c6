//! The two protocols of OpenAI: requests as golden files, answers as streams, and what must hold for all of them.
#![allow(clippy::unwrap_used)] // helpers of a test stop at the first surprise, as the test itself does

mod chat;
mod faults;
mod properties;
mod replay;
mod requests;
mod responses;
mod support;
