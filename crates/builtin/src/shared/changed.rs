//! Changing a file that was read: only if nobody else changed it meanwhile, and with a diff to tell of it.

use std::path::Path;
use std::sync::Arc;

use haft_contract::{ErrorKind, Reader, ToolContext, ToolError, ToolOutput, Written};
use haft_patch::diff::{counts, unified};
use serde_json::{Value, json};

use super::binary::mixes_encodings;
use super::wide::Wide;
use super::{place, whole};

/// What is larger is not changed: the old and the new content must be in memory.
const LARGEST: usize = 256 * 1024 * 1024;
/// A diff of larger files is only counted, or not even that.
const LARGEST_COMPARED: usize = 4 * 1024 * 1024;
/// Lines around a change.
const CONTEXT: usize = 3;
/// How much of a diff the model is shown; it knows what it wrote.
const SHOWN_BYTES: usize = 6 * 1024;

/// A file's content, which may be lent to other threads.
#[derive(Debug, Clone, Default)]
pub(crate) struct Content(Arc<Vec<u8>>);

impl AsRef<[u8]> for Content {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// A file as it was read.
#[derive(Debug)]
pub(crate) struct Original {
    content: Content,
    /// What the file is encoded in, where the content was made UTF-8.
    wide: Option<Wide>,
    fingerprint: String,
    /// Whether the session had seen other content last.
    changed_since_seen: bool,
}

impl Original {
    /// Reads all of a planned file. UTF-16 is made UTF-8, and what replaces it is made UTF-16 again.
    pub(crate) async fn read(path: &Path, cx: &ToolContext) -> Result<Self, ToolError> {
        let original = Self::of(path, &*cx.fs().open(path).await?, cx).await?;
        match Wide::narrowed(original.bytes()) {
            Some((wide, text)) => Ok(Self { content: Content(Arc::new(text.into_bytes())), wide: Some(wide), ..original }),
            None if Wide::marked(original.bytes()).is_some() => Err(damaged(path)),
            None => Ok(original),
        }
    }

    /// Looks at a file that is about to be replaced, for people alone.
    pub(crate) async fn replaced(path: &Path, cx: &ToolContext) -> Result<Self, ToolError> {
        Self::of(path, &*cx.fs().open_replaced(path).await?, cx).await
    }

    async fn of(path: &Path, reader: &dyn Reader, cx: &ToolContext) -> Result<Self, ToolError> {
        let bytes = whole::whole(&path.display().to_string(), "a file", Vec::new(), reader, LARGEST).await?;
        let content = Content(Arc::new(bytes));
        let fingerprint = cx.fs().fingerprint_of(content.clone()).await?;
        let seen = place::of(cx, path).and_then(|place| cx.seen().fingerprint(place));
        let changed_since_seen = seen.is_some_and(|seen| seen != fingerprint);
        Ok(Self { content, wide: None, fingerprint, changed_since_seen })
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        self.content.as_ref()
    }

    /// The content for another thread.
    pub(crate) fn shared(&self) -> Content {
        self.content.clone()
    }

    /// Whether someone else changed it since the session saw it.
    pub(crate) fn changed_since_seen(&self) -> bool {
        self.changed_since_seen
    }

    /// Writes new content, unless the file is no longer what was read.
    pub(crate) async fn replace(self, path: &Path, bytes: Vec<u8>, cx: &ToolContext) -> Result<Changed, ToolError> {
        let diff = Diff::of(self.bytes(), &bytes, path);
        let bytes = match self.wide {
            Some(wide) => wide.widened(&bytes)?,
            None => bytes,
        };
        let written = cx.fs().replace(path, bytes, Some(&self.fingerprint)).await?;
        remember(path, &written, cx);
        Ok(Changed { diff, created: false, bytes: written.bytes, by_others: self.changed_since_seen })
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

/// What is added is UTF-8: in a file that is not, nobody could read it.
pub(crate) fn refuse_mixed(path: &Path, before: &[u8], after: &[u8]) -> Result<(), ToolError> {
    if !mixes_encodings(before, after) {
        return Ok(());
    }
    Err(ToolError::new(
        ErrorKind::NotText,
        format!(
            "{} is not UTF-8, and the new text has letters that are not ASCII: the file would be in two encodings, so nothing was \
             changed. Use ASCII alone, or read the file with its encoding and write it anew.",
            path.display()
        ),
    ))
}

/// What a change came to.
#[derive(Debug)]
pub(crate) struct Changed {
    diff: Diff,
    created: bool,
    bytes: u64,
    by_others: bool,
}

impl Changed {
    /// Makes a file that is not there yet.
    pub(crate) async fn create(path: &Path, bytes: Vec<u8>, cx: &ToolContext) -> Result<Self, ToolError> {
        let diff = Diff::of(b"", &bytes, path);
        let written = cx.fs().replace(path, bytes, None).await?;
        remember(path, &written, cx);
        Ok(Self { diff, created: true, bytes: written.bytes, by_others: false })
    }

    /// The result: what was done, and the diff.
    pub(crate) fn told(self, what: &str, more: Value) -> ToolOutput {
        self.told_with(what, more, true)
    }

    /// The same, with the diff for people alone.
    pub(crate) fn counted(self, what: &str, more: Value) -> ToolOutput {
        self.told_with(what, more, false)
    }

    fn told_with(self, what: &str, more: Value, with_diff: bool) -> ToolOutput {
        let Self { diff, created, bytes, by_others } = self;
        let others = if by_others { "\n(Someone else had changed the file since you read it; their changes are kept.)" } else { "" };
        // Whoever made a file knows what is in it.
        let change = match (created, with_diff) {
            (true, _) => String::new(),
            (false, true) => format!("\n({} added, {} removed)\n{}", diff.added, diff.removed, shown(&diff.text)),
            (false, false) => format!("\n({} added, {} removed)", diff.added, diff.removed),
        };
        let text = format!("{what}{others}{change}");
        let mut details = json!({
            "bytes": bytes, "created": created, "added": diff.added, "removed": diff.removed, "diff": diff.text, "changed_by_others": by_others,
        });
        if let (Some(details), Value::Object(more)) = (details.as_object_mut(), more) {
            details.extend(more);
        }
        ToolOutput::text(text.trim_end()).with_details(details)
    }
}

/// Notes what the session has written: that is no change by someone else.
pub(crate) fn remember(path: &Path, written: &Written, cx: &ToolContext) {
    if let Some(place) = place::of(cx, path) {
        cx.seen().note(place, &written.fingerprint);
    }
}

/// What differs.
#[derive(Debug, Default)]
pub(crate) struct Diff {
    pub(crate) added: usize,
    pub(crate) removed: usize,
    pub(crate) text: String,
}

impl Diff {
    pub(crate) fn of(old: &[u8], new: &[u8], path: &Path) -> Self {
        let (added, removed) = counts(old, new);
        let compared = old.len().max(new.len()) <= LARGEST_COMPARED;
        let text = if compared { unified(old, new, &path.display().to_string(), CONTEXT) } else { String::new() };
        Self { added, removed, text }
    }
}

/// As much of a diff as the model needs, in whole lines.
pub(crate) fn shown(diff: &str) -> String {
    if diff.len() <= SHOWN_BYTES {
        return diff.to_owned();
    }
    let head = &diff[..diff.floor_char_boundary(SHOWN_BYTES)];
    let head = head.rsplit_once('\n').map_or(head, |(head, _)| head);
    let left = diff.lines().count() - head.lines().count();
    format!("{head}\n({left} more lines of the diff are left out)")
}
