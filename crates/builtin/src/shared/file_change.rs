//! Changing a file that was read: only if no other program changed it meanwhile, and with a diff.

use std::path::Path;
use std::sync::Arc;

use haft_contract::{ErrorKind, FileReader, ToolContext, ToolError, ToolOutput};
use haft_patch::diff::{counts, unified};
use haft_text::truncate::first_bytes;
use serde_json::{Value, json};

use super::binary::mixes_encodings;
use super::read_all::read_all;
use super::seen::{remember, seen_fingerprint};
use super::utf16::Utf16;

/// Larger files are not changed: the old and the new content must be in memory.
const LARGEST: usize = 256 * 1024 * 1024;
/// Larger files get no diff.
const LARGEST_COMPARED: usize = 4 * 1024 * 1024;
/// Lines around a change.
const CONTEXT: usize = 3;
/// How much of a diff the model is shown.
const SHOWN_BYTES: usize = 6 * 1024;

/// Content that can be shared with other threads.
#[derive(Debug, Clone, Default)]
pub(crate) struct SharedContent(Arc<Vec<u8>>);

impl From<Vec<u8>> for SharedContent {
    fn from(bytes: Vec<u8>) -> Self {
        Self(Arc::new(bytes))
    }
}

impl From<Arc<Vec<u8>>> for SharedContent {
    fn from(bytes: Arc<Vec<u8>>) -> Self {
        Self(bytes)
    }
}

impl AsRef<[u8]> for SharedContent {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A file as it was read.
#[derive(Debug)]
pub(crate) struct OriginalFile {
    content: SharedContent,
    /// The encoding of the file, where the content was converted to UTF-8.
    utf16: Option<Utf16>,
    fingerprint: String,
    /// Whether the session had seen other content last.
    changed_since_seen: bool,
}

impl OriginalFile {
    /// Reads all of a planned file. UTF-16 is converted to UTF-8, and its replacement back to UTF-16.
    pub(crate) async fn read(path: &Path, cx: &ToolContext) -> Result<Self, ToolError> {
        let original = Self::from_reader(path, &*cx.fs().open(path).await?, cx).await?;
        match Utf16::decode(original.bytes()) {
            Some((utf16, text)) => Ok(Self { content: text.into_bytes().into(), utf16: Some(utf16), ..original }),
            None if Utf16::from_bom(original.bytes()).is_some() => Err(damaged(path)),
            None => Ok(original),
        }
    }

    /// Reads a file that is about to be replaced, for the diff.
    pub(crate) async fn replaced(path: &Path, cx: &ToolContext) -> Result<Self, ToolError> {
        Self::from_reader(path, &*cx.fs().open_replaced(path).await?, cx).await
    }

    async fn from_reader(path: &Path, reader: &dyn FileReader, cx: &ToolContext) -> Result<Self, ToolError> {
        let bytes = read_all(&path.display().to_string(), "a file", Vec::new(), reader, LARGEST).await?;
        let content = SharedContent::from(bytes);
        let fingerprint = cx.fs().fingerprint_of(content.clone()).await?;
        let changed_since_seen = seen_fingerprint(path, cx).is_some_and(|seen| seen != fingerprint);
        Ok(Self { content, utf16: None, fingerprint, changed_since_seen })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.content.as_ref()
    }

    /// The content, for another thread.
    pub(crate) fn shared(&self) -> SharedContent {
        self.content.clone()
    }

    /// Whether another program changed it since the session saw it.
    pub(crate) fn changed_since_seen(&self) -> bool {
        self.changed_since_seen
    }

    /// Writes new content, unless the file has changed since it was read.
    pub(crate) async fn replace(self, path: &Path, bytes: Vec<u8>, cx: &ToolContext) -> Result<WrittenFile, ToolError> {
        let diff = FileDiff::compute(self.bytes(), &bytes, path);
        let bytes = match self.utf16 {
            Some(utf16) => utf16.encode_bytes(&bytes)?,
            None => bytes,
        };
        let written = cx.fs().replace(path, bytes, Some(&self.fingerprint)).await?;
        remember(path, &written, cx);
        Ok(WrittenFile { diff, created: false, bytes: written.bytes, by_others: self.changed_since_seen })
    }
}

fn damaged(path: &Path) -> ToolError {
    ToolError::new(
        ErrorKind::NotText,
        format!(
            "{} begins as UTF-16 text, but is not UTF-16 to its end, so it was not changed. Write it anew with write_file.",
            path.display()
        ),
    )
}

/// Refuses UTF-8 text in a file of another encoding: the file would have two.
pub(crate) fn refuse_mixed(path: &Path, before: &[u8], after: &[u8]) -> Result<(), ToolError> {
    if !mixes_encodings(before, after) {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorKind::NotText,
        format!(
            "{} is not UTF-8, and the new text has characters that are not ASCII: the file would be in two encodings, so nothing was \
             changed. Use ASCII alone, or read the file with its encoding and write it anew.",
            path.display()
        ),
    ))
}

/// The result of a change.
#[derive(Debug)]
pub(crate) struct WrittenFile {
    diff: FileDiff,
    created: bool,
    bytes: u64,
    by_others: bool,
}

impl WrittenFile {
    /// Creates a file.
    pub(crate) async fn create(path: &Path, bytes: Vec<u8>, cx: &ToolContext) -> Result<Self, ToolError> {
        let diff = FileDiff::compute(b"", &bytes, path);
        let written = cx.fs().replace(path, bytes, None).await?;
        remember(path, &written, cx);
        Ok(Self { diff, created: true, bytes: written.bytes, by_others: false })
    }

    /// The tool output: the action and the diff.
    pub(crate) fn output(self, action: &str, more: Value) -> ToolOutput {
        self.output_with(action, more, true)
    }

    /// The same, with the diff in the details only.
    pub(crate) fn output_without_diff(self, action: &str, more: Value) -> ToolOutput {
        self.output_with(action, more, false)
    }

    fn output_with(self, action: &str, more: Value, with_diff: bool) -> ToolOutput {
        let Self { diff, created, bytes, by_others } = self;
        let others = if by_others { "\n(Another program changed the file since you read it; its changes are kept.)" } else { "" };
        // The model knows the content of a file that it creates.
        let change = match (created, with_diff) {
            (true, _) => String::new(),
            (false, true) => format!("\n({} added, {} removed)\n{}", diff.added, diff.removed, shorten_diff(&diff.text)),
            (false, false) => format!("\n({} added, {} removed)", diff.added, diff.removed),
        };
        let text = format!("{action}{others}{change}");
        let mut details = json!({
            "bytes": bytes, "created": created, "added": diff.added, "removed": diff.removed, "diff": diff.text, "changed_by_others": by_others,
        });
        if let (Some(details), Value::Object(more)) = (details.as_object_mut(), more) {
            details.extend(more);
        }
        ToolOutput::text(text.trim_end()).with_details(details)
    }
}

/// A diff, and its line counts.
#[derive(Debug, Default)]
pub(crate) struct FileDiff {
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) text: String,
}

impl FileDiff {
    pub(crate) fn compute(old: &[u8], new: &[u8], path: &Path) -> Self {
        let (added, removed) = counts(old, new);
        let compared = old.len().max(new.len()) <= LARGEST_COMPARED;
        let text = if compared { unified(old, new, &path.display().to_string(), CONTEXT) } else { String::new() };
        Self { added, removed, text }
    }
}

/// The beginning of a diff, in whole lines.
pub(crate) fn shorten_diff(diff: &str) -> String {
    if diff.len() <= SHOWN_BYTES {
        return diff.to_owned();
    }
    let head = first_bytes(diff, SHOWN_BYTES);
    let head = head.rsplit_once('\n').map_or(head, |(head, _)| head);
    let left = diff.lines().count() - head.lines().count();
    format!("{head}\n({left} more lines of the diff are left out)")
}
