//! Text in any encoding, read by pages: memory does not depend on the file's size.

use std::borrow::Cow;

use encoding_rs::{Decoder, DecoderResult, Encoding, UTF_8, UTF_16BE, UTF_16LE};
use haft_contract::{ErrorKind, FileReader, ToolError};
use haft_text::numbers;

use super::binary;
use super::pager::{TextPage, TextPager, TextWindow, newlines};

/// How much of a file decides what it is, and how much is read at once of its beginning: pages there need no more, and so little is
/// read without a hop to another thread.
pub(crate) const HEAD: usize = 64 * 1024;
/// How much is read at once of the rest.
pub(crate) const CHUNK: usize = 256 * 1024;
/// How much is decoded at once: most pages are shorter than what is read.
const DECODED: usize = 32 * 1024;

/// A text file, read by pages.
pub(crate) struct TextFile<'a> {
    name: &'a str,
    chunks: FileChunks<'a>,
    encoding: &'static Encoding,
    decoder: Decoder,
    /// Whether the decoder was used: only then can it have seen a part of a character.
    is_decoding: bool,
    has_bom: bool,
    format: Option<&'static str>,
    invalid: InvalidBytes,
}

/// Byte sequences of a page that are not in the encoding.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct InvalidBytes {
    pub(crate) count: u64,
    /// Where the first is in the file.
    pub(crate) first: u64,
    /// How many bytes were decoded in all.
    decoded: u64,
}

impl InvalidBytes {
    /// One invalid byte in this many is a fault in a text; more of them are another encoding, or no text.
    const RATIO: u64 = 20;

    fn add(&mut self, at: u64) {
        if self.count == 0 {
            self.first = at;
        }
        self.count += 1;
    }

    fn are_too_many(&self) -> bool {
        self.count > 1 && self.count * Self::RATIO > self.decoded
    }
}

impl<'a> TextFile<'a> {
    /// Checks the first [`HEAD`] of a file for a byte order mark, and whether it is text. A byte order mark overrides a
    /// declared Unicode encoding; `name` is for messages.
    pub(crate) fn begin(
        name: &'a str,
        reader: &'a dyn FileReader,
        head: Vec<u8>,
        declared: Option<&'static Encoding>,
    ) -> Result<Self, ToolError> {
        let unicode = declared.is_none_or(|encoding| [UTF_8, UTF_16LE, UTF_16BE].contains(&encoding));
        let bom = if unicode { Encoding::for_bom(&head) } else { None };
        let (encoding, skipped) = bom.unwrap_or((declared.unwrap_or(UTF_8), 0));
        let format = binary::format_of(&head);
        if encoding.is_ascii_compatible() && binary::has_nul(&head) {
            return Err(not_text(name, reader.size(), format, &head));
        }
        let mut chunks = FileChunks { reader, position: head.len() as u64, ready: None, drained: head.len() < HEAD };
        chunks.put_back(head, skipped);
        let decoder = encoding.new_decoder_without_bom_handling();
        Ok(Self { name, chunks, encoding, decoder, is_decoding: false, has_bom: bom.is_some(), format, invalid: InvalidBytes::default() })
    }

    /// The size in bytes.
    pub(crate) fn size(&self) -> u64 {
        self.chunks.reader.size()
    }

    /// The encoding, declared or detected.
    pub(crate) fn encoding(&self) -> &'static Encoding {
        self.encoding
    }

    /// Whether it begins with a byte order mark, which is not part of the text.
    pub(crate) fn has_bom(&self) -> bool {
        self.has_bom
    }

    /// What of the pages so far was not in the encoding: it is shown as U+FFFD.
    pub(crate) fn invalid(&self) -> InvalidBytes {
        self.invalid
    }

    /// One page of it.
    pub(crate) async fn page(&mut self, window: TextWindow) -> Result<TextPage, ToolError> {
        let mut pager = self.pager_at(window).await?;
        while !pager.is_full() {
            let mut chunk = self.chunks.next().await?;
            if chunk.len() > DECODED {
                let rest = chunk.split_off(DECODED);
                self.chunks.put_back(rest, 0);
            }
            let text = self.decode(&chunk);
            pager.feed(&text);
            if self.chunks.ended() {
                break;
            }
        }
        if self.invalid.are_too_many() || (self.invalid.count > 0 && self.format.is_some()) {
            return Err(self.malformed(self.invalid.first));
        }
        let more = pager.has_rest() || !self.chunks.is_exhausted().await?;
        Ok(pager.finish(more))
    }

    /// Skips lines without decoding them where a line feed is one byte; elsewhere the pager skips them.
    async fn pager_at(&mut self, window: TextWindow) -> Result<TextPager, ToolError> {
        if !self.encoding.is_ascii_compatible() {
            return Ok(TextPager::new(window));
        }
        let (lines, begun) = self.chunks.skip_lines(window.line - 1).await?;
        Ok(TextPager::after(window, lines, begun))
    }

    fn decode<'b>(&mut self, bytes: &'b [u8]) -> Cow<'b, str> {
        self.invalid.decoded += bytes.len() as u64;
        match str::from_utf8(bytes) {
            Ok(text) if self.encoding == UTF_8 && !self.is_decoding => Cow::Borrowed(text),
            _ => Cow::Owned(self.decode_slowly(bytes)),
        }
    }

    fn decode_slowly(&mut self, bytes: &[u8]) -> String {
        self.is_decoding = true;
        let capacity = self.decoder.max_utf8_buffer_length_without_replacement(bytes.len()).unwrap_or(CHUNK * 3);
        let (mut text, mut rest) = (String::with_capacity(capacity), bytes);
        let last = self.chunks.ended();
        loop {
            let (result, read) = self.decoder.decode_to_string_without_replacement(rest, &mut text, last);
            rest = &rest[read..];
            match result {
                DecoderResult::Malformed(length, after) => {
                    let behind = rest.len() + usize::from(length) + usize::from(after);
                    self.invalid.add(self.chunks.position - behind as u64);
                    text.push(char::REPLACEMENT_CHARACTER);
                }
                DecoderResult::OutputFull => text.reserve(rest.len() + CHUNK),
                DecoderResult::InputEmpty => return text,
            }
        }
    }

    fn malformed(&self, position: u64) -> ToolError {
        let (name, encoding, size) = (self.name, self.encoding.name(), numbers::size(self.size()));
        let looks = self.format.map(|format| format!(" It looks like {format}.")).unwrap_or_default();
        let other = if self.encoding == UTF_8 { "ISO-8859-1" } else { "UTF-8" };
        ToolError::new(
            ErrorKind::NotText,
            format!(
                "Not {encoding} text: {name} ({size}) has an invalid byte sequence at byte {position}.{looks} \
                 If it is text in another encoding, name that, e.g. encoding='{other}'; otherwise use another tool."
            ),
        )
    }
}

fn not_text(name: &str, size: u64, format: Option<&str>, head: &[u8]) -> ToolError {
    let size = numbers::size(size);
    let message = match (format, binary::utf_16_order(head)) {
        (Some(format), _) => format!("Not a text file: {name} ({size}) looks like {format}. Use a tool that is made for such files."),
        (None, Some(order)) => {
            format!("Not UTF-8 text: {name} ({size}) looks like text in UTF-16 without a byte order mark. Try encoding='{order}'.")
        }
        (None, None) => format!(
            "Not a text file: {name} ({size}) contains NUL bytes and is most likely binary. \
             If it is text in another encoding, name that, e.g. encoding='UTF-16LE'; otherwise use another tool."
        ),
    };
    ToolError::new(ErrorKind::NotText, message)
}

/// A file, chunk by chunk.
struct FileChunks<'a> {
    reader: &'a dyn FileReader,
    /// The position after the last chunk.
    position: u64,
    /// A chunk to return next.
    ready: Option<Vec<u8>>,
    /// Whether the reader has no more.
    drained: bool,
}

impl FileChunks<'_> {
    /// The next chunk; empty at the end.
    async fn next(&mut self) -> Result<Vec<u8>, ToolError> {
        let chunk = match self.ready.take() {
            Some(chunk) => chunk,
            None if self.drained => Vec::new(),
            None => self.read().await?,
        };
        self.position += chunk.len() as u64;
        Ok(chunk)
    }

    async fn read(&mut self) -> Result<Vec<u8>, ToolError> {
        let length = if self.position < CHUNK as u64 { HEAD } else { CHUNK };
        let chunk = self.reader.read_at(self.position, length).await?;
        self.drained = chunk.len() < length;
        Ok(chunk)
    }

    /// Puts the rest of the last chunk back.
    fn put_back(&mut self, mut chunk: Vec<u8>, used: usize) {
        chunk.drain(..used);
        self.position -= chunk.len() as u64;
        self.ready = (!chunk.is_empty()).then_some(chunk);
    }

    /// Whether the last chunk was the end, as far as is known without reading.
    fn ended(&self) -> bool {
        self.drained && self.ready.is_none()
    }

    async fn is_exhausted(&mut self) -> Result<bool, ToolError> {
        if self.ready.is_none() && !self.drained {
            self.ready = Some(self.read().await?).filter(|chunk| !chunk.is_empty());
        }
        Ok(self.ready.is_none())
    }

    /// Skips lines. Returns how many there were, and whether text follows the last of them at an early end.
    async fn skip_lines(&mut self, lines: usize) -> Result<(usize, bool), ToolError> {
        let (mut passed, mut begun) = (0, false);
        while passed < lines && !self.is_exhausted().await? {
            let chunk = self.next().await?;
            let remaining = lines - passed;
            let found = newlines(&chunk);
            if found >= remaining {
                let end = memchr::memchr_iter(b'\n', &chunk).nth(remaining - 1).map_or(chunk.len(), |at| at + 1);
                self.put_back(chunk, end);
                return Ok((lines, false));
            }
            passed += found;
            begun = chunk.last() != Some(&b'\n');
        }
        Ok((passed, begun))
    }
}
