//! The index of memory files, whatever keeps it. It is derived from the files alone, so it can be lost. Its methods block: they are called
//! on threads that may wait.

use std::collections::HashMap;
use std::ops::RangeInclusive;
use std::sync::Arc;
use std::time::SystemTime;

use crate::StoreError;

/// A word is counted up to here: a more common one says nothing.
pub(crate) const COUNTED: u64 = 4096;
/// So many of the newest chunks are compared by their values where nearly all match.
pub(crate) const NEWEST: i64 = 2048;
/// A text that many chunks repeat is found in so many of them.
pub(crate) const MOST_REPEATS: i64 = 8;
/// Words longer than this are no words.
const LONGEST_TERM: usize = 40;

/// What of a file tells that it has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileStamp {
    /// Its bytes.
    pub size: u64,
    /// When its content was changed last.
    pub modified: Option<SystemTime>,
    /// When anything of it was changed last, as the system says.
    pub changed: Option<SystemTime>,
}

/// A file as the index knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KnownFile {
    /// Its stamp when it was read.
    pub stamp: FileStamp,
    /// When it was read, in nanoseconds since 1970. A change within the same tick of the clock may have left the stamp as it was.
    pub checked: i64,
    /// A hash of what was read.
    pub digest: [u8; 16],
    /// What of it was left out, in words.
    pub note: Option<String>,
}

/// A part of a file, to be indexed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewChunk {
    /// Its first line, counted from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// The headings that it stands under.
    pub heading: String,
    /// Its text.
    pub text: String,
    /// The words that find it, separated by blanks.
    pub words: String,
    /// A hash of the text, by which its vector is known.
    pub digest: [u8; 16],
    /// Who wrote it, as JSON; absent means the user.
    pub writer: Option<String>,
}

/// A file, to be indexed in place of what the index has of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewFile {
    /// Its name.
    pub path: String,
    /// What tells that it has changed.
    pub known: KnownFile,
    /// Its parts.
    pub chunks: Vec<NewChunk>,
}

/// A part of a file that a search found.
#[derive(Debug, Clone, PartialEq)]
pub struct ChunkRow {
    /// Its number in the index.
    pub id: i64,
    /// The name of its file.
    pub path: String,
    /// When the file was changed last.
    pub modified: Option<SystemTime>,
    /// Its first line, counted from 1.
    pub first: usize,
    /// Its last line.
    pub last: usize,
    /// The headings that it stands under.
    pub heading: String,
    /// Its text.
    pub text: String,
    /// Who wrote it, as JSON.
    pub writer: Option<String>,
}

/// A text that has no vector of a model yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VectorTask {
    /// The hash of the text.
    pub digest: [u8; 16],
    /// The text.
    pub text: String,
}

/// Texts without a vector, and what has vectors once these have theirs.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct MissingVectors {
    /// The texts, each once.
    pub tasks: Vec<VectorTask>,
    /// Up to this number every chunk has a vector then.
    pub up_to: i64,
    /// Whether there are no others.
    pub is_last: bool,
}

/// A vector in the index.
#[derive(Debug)]
pub struct VectorRow<'a> {
    /// Its number: later ones are greater.
    pub id: i64,
    /// The numbers, little-endian.
    pub bytes: &'a [u8],
}

/// The vector of a text.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct StoredVector {
    /// Its numbers.
    pub numbers: Vec<f32>,
    /// The chunks that have the text.
    pub chunks: Vec<i64>,
}

/// Words that are searched, in groups: any word of a group meets it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WordQuery {
    /// Chunks that meet every group.
    Every(Vec<Vec<String>>),
    /// Chunks that meet any group.
    Any(Vec<Vec<String>>),
}

/// Trigrams of words: a word has all trigrams of one of the lists.
pub type GramQuery = Vec<Vec<String>>;

/// An index that was opened, and what had to be done for it.
pub struct OpenedMemory {
    /// The index.
    pub database: Arc<dyn MemoryStore>,
    /// That it is a new one in place of one that could not be used.
    pub notice: Option<String>,
}

haft_contract::opaque_debug!(OpenedMemory: notice = notice);

/// What the index holds of files.
pub trait MemoryFiles: Send + Sync {
    /// A number that changes whenever another process has changed the index.
    fn data_version(&self) -> Result<i64, StoreError>;
    /// A number that changes whenever the index has changed, by this process or another.
    fn changes(&self) -> Result<i64, StoreError>;
    /// Every file that the index has.
    fn files(&self) -> Result<HashMap<String, KnownFile>, StoreError>;
    /// How many chunks the index has.
    fn count(&self) -> Result<u64, StoreError>;
    /// Indexes files in place of what the index has of them, all or none. A chunk that did not change keeps its writer.
    fn put(&self, files: &[NewFile]) -> Result<(), StoreError>;
    /// Records that files were read again and are as they were.
    fn touch(&self, files: &[(String, KnownFile)]) -> Result<(), StoreError>;
    /// Removes files that are gone.
    fn remove(&self, paths: &[String]) -> Result<(), StoreError>;
}

/// Searches of the index.
pub trait MemorySearch: Send + Sync {
    /// The chunks that have the words, each with its BM25 value, where more is better; the best first.
    fn find(&self, query: &WordQuery, limit: usize) -> Result<Vec<(i64, f64)>, StoreError>;
    /// As [`find`](Self::find), among the chunks that were indexed last: for words that nearly all chunks have, of which the best are not
    /// much better.
    fn find_newest(&self, query: &WordQuery, limit: usize) -> Result<Vec<(i64, f64)>, StoreError>;
    /// About how many chunks have a word: exact below [`counted`](Self::counted).
    fn frequency(&self, word: &str) -> Result<u64, StoreError>;
    /// A word is counted up to here: a more common one says nothing.
    fn counted(&self) -> u64 {
        COUNTED
    }
    /// Words of the index that have the trigrams and so many characters.
    fn terms(&self, grams: &GramQuery, characters: RangeInclusive<usize>, limit: usize) -> Result<Vec<String>, StoreError>;
    /// Words of the index with this first character that have so many characters: a short word may share no trigram with its correction.
    fn terms_like(&self, first: char, characters: RangeInclusive<usize>, limit: usize) -> Result<Vec<String>, StoreError>;
    /// A chunk by its number.
    fn chunk(&self, id: i64) -> Result<Option<ChunkRow>, StoreError>;
    /// Calls `each` with every chunk, file by file, from the first line to the last.
    fn each_chunk(&self, each: &mut dyn FnMut(ChunkRow)) -> Result<(), StoreError>;
}

/// Vectors of texts: 32-bit numbers, known by the model and by the hash of the text, so that a text that moved keeps its own.
pub trait MemoryVectors: Send + Sync {
    /// The next texts without a vector of this model; `None` if it is known that there are none.
    fn missing_vectors(&self, model: &str, limit: usize) -> Result<Option<MissingVectors>, StoreError>;
    /// How many chunks have no vector of this model.
    fn count_missing(&self, model: &str) -> Result<u64, StoreError>;
    /// Stores vectors of a model, with which every chunk up to a number has one.
    fn put_vectors(&self, model: &str, vectors: &[([u8; 16], Vec<f32>)], up_to: i64) -> Result<(), StoreError>;
    /// Removes vectors of other models and of texts that are gone, if they have become more than those of the texts that are there.
    /// Returns whether it did.
    fn prune_vectors(&self, model: &str) -> Result<bool, StoreError>;
    /// Removes all vectors of a model: they are of another dimension than those that it gives now.
    fn remove_vectors(&self, model: &str) -> Result<(), StoreError>;
    /// How many vectors of this model there are.
    fn count_vectors(&self, model: &str) -> Result<usize, StoreError>;
    /// Calls `each` with every vector of this model whose number is greater than one, in order.
    fn each_vector(&self, model: &str, after: i64, each: &mut dyn FnMut(VectorRow<'_>)) -> Result<(), StoreError>;
    /// A vector, and the chunks that have its text; `None` if it is gone.
    fn vector(&self, id: i64) -> Result<Option<StoredVector>, StoreError>;
}

/// An open index.
pub trait MemoryStore: MemoryFiles + MemorySearch + MemoryVectors {
    /// Removes an index that turned out to be damaged. It is derived, so nothing is lost.
    fn discard(&self);
}

/// The words of a file that are looked for when a word is misspelt.
pub(crate) fn terms_of(file: &NewFile) -> impl Iterator<Item = &str> {
    let words = file.chunks.iter().flat_map(|chunk| chunk.words.split(' '));
    words.filter(|word| !word.is_empty() && word.len() <= LONGEST_TERM)
}

/// The numbers of a vector as it is stored.
pub(crate) fn numbers(bytes: &[u8]) -> impl Iterator<Item = f32> {
    bytes.as_chunks().0.iter().map(|part| f32::from_le_bytes(*part))
}

/// The bytes of a vector.
pub(crate) fn vector_bytes(vector: &[f32]) -> Vec<u8> {
    vector.iter().flat_map(|number| number.to_le_bytes()).collect()
}

/// Whether so many vectors are more than so many chunks need.
pub(crate) fn is_worth_pruning(vectors: u64, chunks: u64) -> bool {
    vectors > chunks.saturating_mul(2).saturating_add(1_000)
}
