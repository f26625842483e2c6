//! What searches through a tree have in common: how they name what they find, when they stop, and what they say of it.

use std::cmp::Ordering;
use std::collections::BinaryHeap;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use haft_contract::{Effect, Location, ToolContext, ToolError, TreeOptions, Walked, visible};

/// How long a search looks; then it shows what it has. Less than the tool's own time, which would leave nothing to show.
pub(crate) const TIME: Duration = Duration::from_secs(20);
/// How many troubles a note names.
const NAMED_TROUBLES: usize = 3;

/// When a search stops.
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

/// Where a search was planned.
pub(crate) fn planned(cx: &ToolContext) -> Result<&Location, ToolError> {
    let place = cx.plan().effects().iter().find_map(|effect| match effect {
        Effect::Read(effect) => Some(&effect.location),
        _ => None,
    });
    place.ok_or_else(|| ToolError::execution("The search has no place in its plan. This is a fault of the tool; nothing was done."))
}

/// How a path beneath a place is named: in one line, relative to the workspace where the place is.
pub(crate) fn named(place: &str, beneath: &Path) -> String {
    let whole = match place {
        "." => beneath.to_string_lossy(),
        _ => Path::new(place).join(beneath).to_string_lossy().into_owned().into(),
    };
    visible::line(&whole).into_owned()
}

/// A file and when it was changed last. The newest is the least, then the first by name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Dated {
    pub(crate) modified: Option<SystemTime>,
    pub(crate) path: String,
}

impl Ord for Dated {
    fn cmp(&self, other: &Self) -> Ordering {
        other.modified.cmp(&self.modified).then_with(|| self.path.cmp(&other.path))
    }
}

impl PartialOrd for Dated {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The newest of many files: so many are kept, all are counted.
#[derive(Debug)]
pub(crate) struct Newest {
    most: usize,
    kept: BinaryHeap<Dated>,
    total: u64,
}

impl Newest {
    pub(crate) fn new(most: usize) -> Self {
        Self { most, kept: BinaryHeap::new(), total: 0 }
    }
    /// Adds a file; its name is made only if it is needed.
    pub(crate) fn add(&mut self, modified: Option<SystemTime>, path: impl FnOnce() -> String) {
        self.total += 1;
        let is_full = self.kept.len() >= self.most;
        if is_full && self.kept.peek().is_none_or(|oldest| modified < oldest.modified) {
            return;
        }
        self.kept.push(Dated { modified, path: path() });
        if is_full {
            self.kept.pop();
        }
    }
    pub(crate) fn total(&self) -> u64 {
        self.total
    }
    /// The names that were kept, the newest first.
    pub(crate) fn into_names(self) -> Vec<String> {
        self.kept.into_sorted_vec().into_iter().map(|dated| dated.path).collect()
    }
}

/// What a search that found nothing did not look at, and how to look there.
pub(crate) fn left_out(options: &TreeOptions) -> Option<&'static str> {
    match (options.hidden, options.ignored) {
        (true, true) => None,
        (false, true) => Some("Hidden files were left out: hidden=true includes them."),
        (true, false) => Some("What .gitignore names was left out: ignored=true includes it."),
        (false, false) => Some("Hidden files and what .gitignore names were left out: hidden=true and ignored=true include them."),
    }
}

/// What could not be looked into, in words.
pub(crate) fn troubles(walked: &Walked, more: &[(String, String)]) -> Option<String> {
    let all: Vec<_> = walked.troubles.iter().chain(more).collect();
    let named = all.iter().take(NAMED_TROUBLES).map(|(path, why)| format!("{}: {why}", visible::line(path)));
    let named = named.collect::<Vec<_>>().join("; ");
    match all.len() {
        0 => None,
        count if count > NAMED_TROUBLES => Some(format!("({} or more could not be read: {named}; and others.)", count_of(count as u64))),
        _ => Some(format!("(Could not be read: {named}.)")),
    }
}

/// A number for reading: `12,345`.
pub(crate) fn count_of(number: u64) -> String {
    let digits = number.to_string();
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped
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
                let mut newest = Newest::new(most);
                for (path, modified) in files.iter().cycle().skip(turn).take(files.len()) {
                    newest.add(*modified, || (*path).to_owned());
                }
                assert_eq!((newest.total(), newest.into_names()), (6, expected.iter().map(|name| (*name).to_owned()).collect()));
            }
        }
    }

    #[test]
    fn names_are_one_line_each() {
        for (place, beneath, expected) in
            [(".", "a/b", "a/b"), ("src", "a", "src/a"), ("/x", "y\nz\u{1b}", "/x/y\\nz\\u{1b}"), (".", "a\u{202e}b", "a\\u{202e}b")]
        {
            assert_eq!(named(place, Path::new(beneath)), expected);
        }
    }

    #[test]
    fn numbers_are_grouped() {
        for (number, text) in [(0, "0"), (999, "999"), (1000, "1,000"), (1_234_567, "1,234,567")] {
            assert_eq!(count_of(number), text);
        }
    }

    #[test]
    fn troubles_are_named_and_counted() {
        let all: Vec<_> = (0..5).map(|number| (format!("d{number}"), "permission denied".to_owned())).collect();
        let said = |count: usize| troubles(&Walked::default(), &all[..count]);
        assert_eq!(said(0), None);
        assert_eq!(said(2).unwrap(), "(Could not be read: d0: permission denied; d1: permission denied.)");
        let many = "(5 or more could not be read: d0: permission denied; d1: permission denied; d2: permission denied; and others.)";
        assert_eq!(said(5).unwrap(), many);
    }
}
