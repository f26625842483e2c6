//! Text for every crate of Haft: one module for each subject, pure, without dependencies.
#![warn(missing_docs)]

pub mod advice;
pub mod arguments;
pub mod base64;
pub mod bm25;
pub mod case;
pub mod display;
pub mod hex;
pub mod json;
pub mod numbers;
pub mod paths;
pub mod percent;
pub mod plain;
pub mod secrets;
pub mod sha256;
pub mod spoken;
#[cfg(feature = "suggest")]
pub mod suggest;
pub mod truncate;
pub mod untrusted;
