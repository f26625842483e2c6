//! Settings of memory.

use std::path::PathBuf;

use crate::config::{number, word};
use crate::provenance::Provenance;

/// How memory behaves.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct MemoryConfig {
    /// Folders and files besides those of the workspace.
    pub paths: Vec<PathBuf>,
    /// The model of the embeddings, as `provider/model`.
    pub embeddings: Option<String>,
    /// Whether conversations are searched too.
    pub sessions: bool,
    /// After how many days a note counts half; 0 is never.
    pub half_life_days: u32,
    /// How much repeats are put back, in percent.
    pub diversity_percent: u32,
    /// Bytes of `MEMORY.md` in the system prompt.
    pub prompt_bytes: usize,
    /// Whether the model may write to memory before a conversation is summed up.
    pub save_before_compaction: bool,
}

impl From<&Provenance> for MemoryConfig {
    fn from(settings: &Provenance) -> Self {
        Self {
            paths: settings.value("memory.paths").entries().iter().map(|entry| PathBuf::from(&entry.value)).collect(),
            embeddings: word(settings, "memory.embeddings").map(str::to_owned),
            sessions: settings.value("memory.sessions").is_true(),
            half_life_days: number(settings, "memory.half_life_days"),
            diversity_percent: number(settings, "memory.diversity_percent"),
            prompt_bytes: number(settings, "memory.prompt_bytes"),
            save_before_compaction: settings.value("memory.save_before_compaction").is_true(),
        }
    }
}
