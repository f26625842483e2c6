//! Memory: notes in Markdown files that outlast a conversation. The files are the truth; the index is derived from them.
//!
//! [`chunk`](chunks) cuts files, [`words`] splits texts and questions, [`MemoryService`] keeps the index up to date and searches it,
//! [`writers_of_lines`] tells who wrote each line, and [`check_notes`] finds what a user may want to clean up.
#![warn(missing_docs)]

mod blame;
mod check;
mod chunks;
mod citation;
mod dates;
mod embeddings;
mod follow;
mod fuzzy;
#[cfg(feature = "embed-local")]
mod local;
mod question;
mod rank;
mod refresh;
mod search;
mod service;
mod sessions;
mod snippet;
mod update;
mod vectors;
mod view;
mod walk;
mod words;

pub use blame::{FileVersion, WriterSource, writers_of_lines};
pub use check::{MemoryProblem, check_notes};
pub use chunks::{Chunk, chunks};
pub use citation::{LineRange, parse_citation};
pub use embeddings::{Embedder, EmbedderError};
#[cfg(feature = "embed-local")]
pub use local::LocalEmbedder;
pub use refresh::MAX_FILE_BYTES;
pub use service::{Calendar, IndexedNote, MemoryService, MemorySettings, system_calendar};
pub use words::words;
