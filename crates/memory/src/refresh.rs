//! Keeps the index up to date: reads what changed, cuts it, and writes it in batches.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use haft_contract::ports::MemoryWriter;
use haft_store::{FileStamp, KnownFile, MemoryStore, NewChunk, NewFile, StoreError};
use haft_text::numbers;
use ring::digest::{SHA256, digest};

use crate::blame::{WriterSource, writer_of_chunk, writers_of_lines};
use crate::chunks::chunks;
use crate::walk::may_have_changed;
use crate::words::words;

/// So much of a file is indexed.
pub const MAX_FILE_BYTES: u64 = 8 << 20;
/// A batch is written when it has so many bytes of text.
const BATCH_BYTES: usize = 4 << 20;
/// Or so many files.
const BATCH_FILES: usize = 1_000;
/// What was read and is not written yet: room for a batch that is not full, and for the largest file.
const WAITING_BYTES: usize = 12 << 20;

/// A file that was read, cut and split into words.
#[derive(Debug)]
pub(crate) struct FileReading {
    pub(crate) file: NewFile,
    /// The file and its content, if calls changed it.
    pub(crate) written: Option<(PathBuf, Vec<u8>)>,
    pub(crate) share: BudgetShare,
}

/// Bounds what was read and is not written yet, however large the files are.
#[derive(Debug, Default)]
pub(crate) struct ByteBudget {
    used: Mutex<usize>,
    freed: Condvar,
}

/// A part of a budget, given back when it is dropped.
#[derive(Debug)]
pub(crate) struct BudgetShare {
    budget: Arc<ByteBudget>,
    bytes: usize,
}

impl ByteBudget {
    /// Waits until so many bytes fit. What is too large for the whole budget gets all of it.
    pub(crate) fn take(self: &Arc<Self>, bytes: u64) -> BudgetShare {
        let bytes = usize::try_from(bytes.min(MAX_FILE_BYTES)).unwrap_or(usize::MAX);
        let used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        let is_full = |used: &mut usize| *used > 0 && *used + bytes > WAITING_BYTES;
        *self.freed.wait_while(used, is_full).unwrap_or_else(PoisonError::into_inner) += bytes;
        BudgetShare { budget: Arc::clone(self), bytes }
    }
}

impl Drop for BudgetShare {
    fn drop(&mut self) {
        *self.budget.used.lock().unwrap_or_else(PoisonError::into_inner) -= self.bytes;
        self.budget.freed.notify_all();
    }
}

/// A file to be read.
pub(crate) struct NoteSource<'a> {
    pub(crate) name: &'a str,
    pub(crate) absolute: PathBuf,
    pub(crate) stamp: FileStamp,
    /// When it was opened, in nanoseconds since 1970.
    pub(crate) checked: i64,
    /// Whether calls changed it.
    pub(crate) has_writers: bool,
    pub(crate) share: BudgetShare,
}

/// Reads a file, as much of it as is indexed.
pub(crate) fn read_note(source: NoteSource<'_>, content: impl Read) -> io::Result<FileReading> {
    let NoteSource { name, absolute, stamp, checked, has_writers, share } = source;
    let mut bytes = Vec::new();
    content.take(MAX_FILE_BYTES).read_to_end(&mut bytes)?;
    let hash = short_digest(&bytes);
    let (text, note) = text_of(&bytes, stamp.size);
    let chunks = chunks(&text).into_iter().map(|chunk| {
        let found = [name, chunk.heading.as_str(), chunk.text.as_str()].into_iter().flat_map(words).collect::<Vec<_>>().join(" ");
        let digest = short_digest(chunk.text.as_bytes());
        NewChunk { first: chunk.first, last: chunk.last, heading: chunk.heading, text: chunk.text, words: found, digest, writer: None }
    });
    let known = KnownFile { stamp, checked, digest: hash, note };
    let file = NewFile { path: name.to_owned(), known, chunks: chunks.collect() };
    Ok(FileReading { file, written: has_writers.then_some((absolute, bytes)), share })
}

/// The text of a file, and what of it is left out.
fn text_of(bytes: &[u8], size: u64) -> (String, Option<String>) {
    if bytes.contains(&0) {
        return (String::new(), Some("it is not text, and is not searched".to_owned()));
    }
    let cut = size.max(bytes.len() as u64) > bytes.len() as u64 && bytes.len() as u64 >= MAX_FILE_BYTES;
    let note =
        cut.then(|| format!("it has {}, and the first {} are searched: split it", numbers::size(size), numbers::size(MAX_FILE_BYTES)));
    match std::str::from_utf8(bytes) {
        Ok(text) => (text.to_owned(), note),
        // A cut may fall into a character.
        Err(error) if cut && error.error_len().is_none() => (String::from_utf8_lossy(&bytes[..error.valid_up_to()]).into_owned(), note),
        Err(_) => {
            let wrong = "some of its bytes are not UTF-8, and are searched as \u{fffd}".to_owned();
            (String::from_utf8_lossy(bytes).into_owned(), Some(note.map_or(wrong.clone(), |note| format!("{note}; {wrong}"))))
        }
    }
}

/// A hash that tells texts apart.
fn short_digest(bytes: &[u8]) -> [u8; 16] {
    let whole = digest(&SHA256, bytes);
    let mut short = [0; 16];
    short.copy_from_slice(&whole.as_ref()[..16]);
    short
}

/// Writes what the walk sends, until it has sent all. Runs on a thread of its own. Returns whether the index has changed.
pub(crate) fn write_readings(
    database: &dyn MemoryStore,
    known: &HashMap<String, KnownFile>,
    readings: &Receiver<FileReading>,
    writers: Option<(&Arc<dyn WriterSource>, &tokio::runtime::Handle)>,
) -> Result<bool, StoreError> {
    let mut batch = WriteBatch::default();
    while let Ok(mut reading) = readings.recv() {
        let same = known.get(&reading.file.path).filter(|known| known.digest == reading.file.known.digest);
        if let Some(known) = same {
            // What says nothing new is not written: it would make other processes compare all files.
            if known.stamp != reading.file.known.stamp || may_have_changed(known) {
                batch.touched.push((reading.file.path, reading.file.known));
            }
        } else {
            if let Some(((path, content), (source, runtime))) = reading.written.take().zip(writers) {
                // A history that cannot be read says nothing of the writers; the next change of the file asks again.
                let versions = runtime.block_on(source.versions(&path)).unwrap_or_default();
                set_writers(&mut reading.file.chunks, &writers_of_lines(&versions, &content));
            }
            // A file that is no text takes its share of the budget, too: a batch that waits for more would wait forever.
            batch.bytes += reading.file.chunks.iter().map(|chunk| chunk.text.len()).sum::<usize>().max(reading.share.bytes);
            batch.files.push(reading.file);
            batch.shares.push(reading.share);
        }
        if batch.is_full() {
            batch.write(database)?;
        }
    }
    batch.write(database)?;
    Ok(batch.has_written)
}

/// Files that are written together.
#[derive(Default)]
struct WriteBatch {
    files: Vec<NewFile>,
    /// Files that are as they were.
    touched: Vec<(String, KnownFile)>,
    bytes: usize,
    shares: Vec<BudgetShare>,
    has_written: bool,
}

impl WriteBatch {
    fn is_full(&self) -> bool {
        self.bytes >= BATCH_BYTES || self.files.len() >= BATCH_FILES || self.touched.len() >= BATCH_FILES
    }

    fn write(&mut self, database: &dyn MemoryStore) -> Result<(), StoreError> {
        self.has_written |= !self.files.is_empty() || !self.touched.is_empty();
        if !self.files.is_empty() {
            database.put(&self.files)?;
        }
        if !self.touched.is_empty() {
            database.touch(&self.touched)?;
        }
        self.files.clear();
        self.touched.clear();
        self.shares.clear();
        self.bytes = 0;
        Ok(())
    }
}

fn set_writers(chunks: &mut [NewChunk], lines: &[MemoryWriter]) {
    for chunk in chunks {
        let writer = writer_of_chunk(lines, chunk.first, chunk.last);
        chunk.writer = (writer != MemoryWriter::default()).then(|| serde_json::to_string(&writer).unwrap_or_default());
    }
}
