//! Code that searches through a tree share: names, deadlines and notes.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use haft_contract::{Effect, Location, ToolContext, ToolError, TreeOptions, WalkSummary};
use haft_text::display;
use haft_text::numbers::group_digits;

/// Deadline of a search; then it shows its results. Less than the tool's timeout, which would leave nothing to show.
pub(crate) const TIME: Duration = Duration::from_secs(20);
/// How many errors a note lists.
const LISTED_ERRORS: usize = 3;

/// The deadline of a search.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Deadline(Instant);

impl Deadline {
    /// So long from now.
    pub(crate) fn after(time: Duration) -> Self {
        Self(Instant::now() + time)
    }
    pub(crate) fn is_past(self) -> bool {
        Instant::now() >= self.0
    }
}

/// The planned location of a search.
pub(crate) fn planned_location(cx: &ToolContext) -> Result<&Location, ToolError> {
    let location = cx.plan().effects().iter().find_map(|effect| match effect {
        Effect::Read(effect) => Some(&effect.location),
        _ => None,
    });
    location.ok_or_else(|| ToolError::execution("The search has no location in its plan. This is a fault of the tool; nothing was done."))
}

/// The name of a path beneath a location: in one line, relative to the workspace if the location is.
pub(crate) fn display_path(location: &str, beneath: &Path) -> String {
    let whole = match location {
        "." => beneath.to_string_lossy(),
        _ => Path::new(location).join(beneath).to_string_lossy().into_owned().into(),
    };
    display::escape_line(&whole).into_owned()
}

/// A file and its modification time, ordered from the newest, then by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DatedFile {
    pub(crate) modified: Option<SystemTime>,
    pub(crate) path: String,
}

impl Ord for DatedFile {
    fn cmp(&self, other: &Self) -> Ordering {
        other.modified.cmp(&self.modified).then_with(|| self.path.cmp(&other.path))
    }
}

impl PartialOrd for DatedFile {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The newest of many files: some are kept, all are counted.
#[derive(Debug)]
pub(crate) struct NewestFiles {
    most: usize,
    kept: BinaryHeap<DatedFile>,
    total: u64,
}

impl NewestFiles {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: BinaryHeap::new(), total: 0 }
    }
    /// Adds a file; its name is made only if needed.
    pub(crate) fn add(&mut self, modified: Option<SystemTime>, path: impl FnOnce() -> String) {
        self.total += 1;
        let is_full = self.kept.len() >= self.most;
        if is_full && self.kept.peek().is_none_or(|oldest| modified < oldest.modified) {
            return;
        }
        self.kept.push(DatedFile { modified, path: path() });
        if is_full {
            self.kept.pop();
        }
    }
    pub(crate) fn total(&self) -> u64 {
        self.total
    }
    /// The kept names, the newest first.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.kept.into_sorted_vec().into_iter().map(|dated| dated.path).collect()
    }
}

/// A note on files that a search without results excluded.
pub(crate) fn excluded_note(options: &TreeOptions) -> Option<&'static str> {
    match (options.hidden, options.ignored) {
        (true, true) => None,
        (false, true) => Some("Hidden files were left out: hidden=true includes them."),
        (true, false) => Some("Files in .gitignore were left out: ignored=true includes them."),
        (false, false) => Some("Hidden files and files in .gitignore were left out: hidden=true and ignored=true include them."),
    }
}

/// A note on files that could not be read.
pub(crate) fn errors_note(walked: &WalkSummary, more: &[(String, String)]) -> Option<String> {
    let all: Vec<_> = walked.troubles.iter().chain(more).collect();
    let named = all.iter().take(LISTED_ERRORS).map(|(path, why)| format!("{}: {why}", display::escape_line(path)));
    let named = named.collect::<Vec<_>>().join("; ");
    match all.len() {
        0 => None,
        count if count > LISTED_ERRORS => Some(format!("({} or more could not be read: {named}; and others.)", group_digits(count))),
        _ => Some(format!("(Could not be read: {named}.)")),
    }
}

/// A result and its notes.
pub(crate) fn with_notes(lines: &[String], notes: &[String]) -> String {
    let mut text = lines.join("\n");
    if !lines.is_empty() && !notes.is_empty() {
        text.push_str("\n\n");
    }
    text.push_str(&notes.join("\n"));
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_are_kept_and_all_are_counted() {
        let at = |seconds| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        let files = [("old", at(1)), ("b", at(5)), ("a", at(5)), ("undated", None), ("new", at(9)), ("c", at(5))];
        for (most, expected) in [(0, &[][..]), (1, &["new"]), (3, &["new", "a", "b"]), (9, &["new", "a", "b", "c", "old", "undated"])] {
            // In whatever order they come.
            for turn in 0..files.len() {
                let mut newest = NewestFiles::new(most);
                for (path, modified) in files.iter().cycle().skip(turn).take(files.len()) {
                    newest.add(*modified, || (*path).to_owned());
                }
                assert_eq!((newest.total(), newest.into_names()), (6, expected.iter().map(|name| (*name).to_owned()).collect()));
            }
        }
    }

    #[test]
    fn names_are_one_line_each() {
        for (location, beneath, expected) in
            [(".", "a/b", "a/b"), ("src", "a", "src/a"), ("/x", "y\nz\u{1b}", "/x/y\\nz\\u{1b}"), (".", "a\u{202e}b", "a\\u{202e}b")]
        {
            assert_eq!(display_path(location, Path::new(beneath)), expected);
        }
    }

    #[test]
    fn troubles_are_named_and_counted() {
        let all: Vec<_> = (0..5).map(|number| (format!("d{number}"), "permission denied".to_owned())).collect();
        let note = |count: usize| errors_note(&WalkSummary::default(), &all[..count]);
        assert_eq!(note(0), None);
        assert_eq!(note(2).unwrap(), "(Could not be read: d0: permission denied; d1: permission denied.)");
        let many = "(5 or more could not be read: d0: permission denied; d1: permission denied; d2: permission denied; and others.)";
        assert_eq!(note(5).unwrap(), many);
    }
}
