//! The first results by path, as many as can be shown.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A line of a result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ResultRow {
    pub(super) text: String,
    /// Whether it was longer.
    pub(super) is_cut: bool,
    /// Whether it is valid UTF-8.
    pub(super) is_text: bool,
}

impl ResultRow {
    /// A complete line.
    pub(super) fn plain(text: String) -> Self {
        Self { text, is_cut: false, is_text: true }
    }
}

/// Lines of the first files by path, whatever the order in which files are added.
#[derive(Debug)]
pub(super) struct FileRows {
    most: usize,
    files: BTreeMap<PathBuf, Vec<ResultRow>>,
    lines: usize,
}

impl FileRows {
    /// Keeps so many lines, and the rest of the last file.
    pub(super) fn new(most: usize) -> Self {
        Self { most, files: BTreeMap::new(), lines: 0 }
    }

    /// Whether lines of this file would be kept.
    pub(super) fn wants(&self, path: &Path) -> bool {
        self.lines < self.most || self.files.last_key_value().is_some_and(|(last, _)| path < last)
    }

    /// Adds the lines of a file.
    pub(super) fn add(&mut self, path: &Path, lines: Vec<ResultRow>) {
        if lines.is_empty() || !self.wants(path) {
            return;
        }
        self.lines += lines.len();
        self.files.insert(path.to_owned(), lines);
        while let Some(last) = self.files.last_entry()
            && self.lines - last.get().len() >= self.most
        {
            self.lines -= last.remove().len();
        }
    }

    /// The lines of each file, in the order of paths.
    pub(super) fn into_files(self) -> impl Iterator<Item = Vec<ResultRow>> {
        self.files.into_values()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_by_path_are_kept_in_whatever_order_they_come() {
        let files = [("a", 2), ("b", 3), ("c", 1), ("d", 4), ("e", 1)];
        for (most, expected) in [(0, ""), (1, "a"), (2, "a"), (3, "ab"), (5, "ab"), (6, "abc"), (7, "abcd"), (99, "abcde")] {
            for turn in 0..files.len() {
                let mut kept = FileRows::new(most);
                for (path, lines) in files.iter().cycle().skip(turn).take(files.len()) {
                    kept.add(Path::new(path), vec![ResultRow::plain((*path).to_owned()); *lines]);
                }
                let names: String = kept.into_files().map(|lines| lines[0].text.clone()).collect();
                assert_eq!(names, expected, "{most} from {turn}");
            }
        }
    }
}
