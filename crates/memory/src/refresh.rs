//! Keeps the index up to date: reads what changed, cuts it, and writes it in batches.

use std::collections::HashMap;
use std::io::{self, Read};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

use haft_contract::ports::MemoryWriter;
use haft_store::{FileStamp, KnownFile, MemoryDatabase, NewChunk, NewFile, StoreError};
use haft_text::numbers;
use ring::digest::{SHA256, digest};

use crate::blame::{WriterSource, writer_of_chunk, writers_of_lines};
use crate::chunks::chunks;
use crate::words::words;

/// So much of a file is indexed.
pub const MAX_FILE_BYTES: u64 = 8 << 20;
/// A batch is written when it has so many bytes of text.
const BATCH_BYTES: usize = 4 << 20;
/// Or so many files.
const BATCH_FILES: usize = 1_000;

/// A file that was read, cut and split into words.
#[derive(Debug)]
pub(crate) struct FileReading {
    pub(crate) file: NewFile,
    /// The file and its content, if calls changed it.
    pub(crate) written: Option<(PathBuf, Vec<u8>)>,
}

/// Reads a file, as much of it as is indexed.
pub(crate) fn read_note(
    name: &str,
    absolute: PathBuf,
    stamp: FileStamp,
    checked: i64,
    content: impl Read,
    has_writers: bool,
) -> io::Result<FileReading> {
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
    Ok(FileReading { file, written: has_writers.then_some((absolute, bytes)) })
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

/// Writes what the walk sends, until it has sent all. Runs on a thread of its own.
pub(crate) fn write_readings(
    database: &MemoryDatabase,
    known: &HashMap<String, KnownFile>,
    readings: &Receiver<FileReading>,
    writers: Option<(&Arc<dyn WriterSource>, &tokio::runtime::Handle)>,
) -> Result<usize, StoreError> {
    let (mut batch, mut bytes, mut written) = (Vec::new(), 0, 0);
    while let Ok(mut reading) = readings.recv() {
        let same = known.get(&reading.file.path).is_some_and(|known| known.digest == reading.file.known.digest);
        if same {
            database.touch(&reading.file.path, &reading.file.known)?;
            continue;
        }
        if let Some(((path, content), (source, runtime))) = reading.written.take().zip(writers) {
            // A history that cannot be read says nothing of the writers; the next change of the file asks again.
            let versions = runtime.block_on(source.versions(&path)).unwrap_or_default();
            set_writers(&mut reading.file.chunks, &writers_of_lines(&versions, &content));
        }
        bytes += reading.file.chunks.iter().map(|chunk| chunk.text.len()).sum::<usize>();
        batch.push(reading.file);
        if bytes >= BATCH_BYTES || batch.len() >= BATCH_FILES {
            written += batch.len();
            database.put(&batch)?;
            (batch, bytes) = (Vec::new(), 0);
        }
    }
    written += batch.len();
    if !batch.is_empty() {
        database.put(&batch)?;
    }
    Ok(written)
}

fn set_writers(chunks: &mut [NewChunk], lines: &[MemoryWriter]) {
    for chunk in chunks {
        let writer = writer_of_chunk(lines, chunk.first, chunk.last);
        chunk.writer = (writer != MemoryWriter::default()).then(|| serde_json::to_string(&writer).unwrap_or_default());
    }
}
