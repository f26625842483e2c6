//! The header of a file in a unified diff.

use super::hunks::PatchCursor;
use super::{FilePatch, Hunk, LineKind, ParseError, PatchAction};

const NOWHERE: &str = "/dev/null";

/// Whether a unified diff of a file begins here.
pub(super) fn begins(cursor: &PatchCursor<'_>) -> bool {
    cursor.at_file_header() || cursor.ahead(0).starts_with("diff --git ")
}

/// The lines before the first hunk.
#[derive(Debug, Default)]
pub(super) struct DiffHeader<'a> {
    git: Option<(&'a str, &'a str)>,
    old: Option<&'a str>,
    new: Option<&'a str>,
    renamed: (Option<&'a str>, Option<&'a str>),
    created: bool,
    deleted: bool,
    last: (usize, &'a str),
}

impl<'a> DiffHeader<'a> {
    pub(super) fn read(cursor: &mut PatchCursor<'a>) -> Result<Self, ParseError> {
        let mut head = Self::default();
        while let Some((line, text)) = cursor.peek() {
            if head.is_complete(text) || !head.line(line, text)? {
                break;
            }
            head.last = (line, text);
            cursor.skip(1);
        }
        Ok(head)
    }

    /// Whether the next file begins here.
    fn is_complete(&self, text: &str) -> bool {
        let begun = self.last.0 > 0;
        self.new.is_some() || begun && text.starts_with("diff --git ")
    }

    /// Reads a line, if it belongs to the header.
    fn line(&mut self, line: usize, text: &'a str) -> Result<bool, ParseError> {
        let name = |rest: &'a str| file_name(line, text, rest).map(Some);
        if let Some(names) = text.strip_prefix("diff --git ") {
            self.git = both_names(names);
        } else if let Some(rest) = text.strip_prefix("--- ") {
            self.old = name(rest)?;
        } else if let Some(rest) = text.strip_prefix("+++ ") {
            self.new = name(rest)?;
        } else if let Some(rest) = text.strip_prefix("rename from ") {
            self.renamed.0 = name(rest)?;
        } else if let Some(rest) = text.strip_prefix("rename to ") {
            self.renamed.1 = name(rest)?;
        } else if text.starts_with("copy ") || text.starts_with("Binary files ") || text.starts_with("GIT binary patch") {
            return Err(ParseError::new(line, text, "changes to text: copies and binary files cannot be patched"));
        } else {
            self.created |= text.starts_with("new file mode ");
            self.deleted |= text.starts_with("deleted file mode ");
            return Ok([
                "index ",
                "old mode ",
                "new mode ",
                "new file mode ",
                "deleted file mode ",
                "similarity index ",
                "dissimilarity index ",
            ]
            .iter()
            .any(|start| text.starts_with(start)));
        }
        Ok(true)
    }

    /// The action on the file; `None` if only its mode changes.
    pub(super) fn action(&self, hunks: Vec<Hunk>, line: usize) -> Result<Option<FilePatch>, ParseError> {
        let (old, new) = self.names();
        let file = |path: &str, action| Ok(Some(FilePatch { path: path.to_owned(), action, line }));
        match (old, new) {
            (None, Some(path)) => file(path, PatchAction::Add { text: added(&hunks) }),
            (Some(path), None) => file(path, PatchAction::Delete),
            (Some(from), Some(to)) if hunks.is_empty() && from == to => Ok(None),
            (Some(from), Some(to)) => file(from, PatchAction::Update { move_to: (from != to).then(|| to.to_owned()), hunks }),
            (None, None) => Err(ParseError::new(self.last.0, self.last.1, "the names of a file after `---` and `+++`")),
        }
    }

    /// The names before and after; `None` where there is no file.
    fn names(&self) -> (Option<&'a str>, Option<&'a str>) {
        if let (Some(from), Some(to)) = self.renamed {
            return (Some(from), Some(to));
        }
        let (old, new) = match (self.old, self.new, self.git) {
            (None, None, Some((old, new))) => (old, new),
            (old, new, _) => (old.unwrap_or(NOWHERE), new.unwrap_or(NOWHERE)),
        };
        let there = |name: &'a str, gone: bool| Some(name).filter(|name| *name != NOWHERE && !gone);
        without_sides(there(old, self.created), there(new, self.deleted))
    }
}

/// Names without `a/` and `b/`, if they have both.
fn without_sides<'a>(old: Option<&'a str>, new: Option<&'a str>) -> (Option<&'a str>, Option<&'a str>) {
    let stripped = |name: Option<&'a str>, side| name.map(|name| name.strip_prefix(side)).map_or(Some(None), |name| name.map(Some));
    match (stripped(old, "a/"), stripped(new, "b/")) {
        (Some(old), Some(new)) => (old, new),
        _ => (old, new),
    }
}

/// `a/NAME b/NAME`, where the name is the same.
fn both_names(names: &str) -> Option<(&str, &str)> {
    let middle = names.len() / 2;
    let (old, new) = (names.get(..middle)?, names.get(middle + 1..)?);
    (old.strip_prefix("a/")? == new.strip_prefix("b/")?).then_some((old, new))
}

/// A name without the time after it.
fn file_name<'a>(line: usize, text: &str, rest: &'a str) -> Result<&'a str, ParseError> {
    let name = rest.split('\t').next().unwrap_or_default().trim_end();
    if name.is_empty() || name.starts_with('"') {
        return Err(ParseError::new(line, text, "the name of a file without quotes: name others in `*** Update File: PATH`"));
    }
    Ok(name)
}

/// The content of a new file.
fn added(hunks: &[Hunk]) -> String {
    let lines = hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == LineKind::Add);
    lines.fold(String::new(), |text, line| text + &line.text + if line.unended { "" } else { "\n" })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sides_are_taken_off_in_pairs() {
        for (old, new, expected) in [
            (Some("a/x"), Some("b/x"), (Some("x"), Some("x"))),
            (Some("a/x"), None, (Some("x"), None)),
            (None, Some("b/x"), (None, Some("x"))),
            (Some("a/x"), Some("x"), (Some("a/x"), Some("x"))),
            (Some("x"), Some("x"), (Some("x"), Some("x"))),
        ] {
            assert_eq!(without_sides(old, new), expected);
        }
        assert_eq!(both_names("a/x y b/x y"), Some(("a/x y", "b/x y")));
        assert_eq!(both_names("a/x b/y"), None);
    }
}
