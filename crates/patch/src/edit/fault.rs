//! Errors of edits, in words for their author.

use std::fmt;
use std::ops::Range;

use haft_text::numbers::{group_digits, line_range};

use super::cause;
use super::matching::{COUNTED, EditMatch, MatchedSite};
use super::splice::Matches;
use super::{Edit, FORGIVING_LIMIT, MAX_EDITS, MAX_MATCHES, MAX_RESULT};
use crate::text::LineCounter;
use crate::{FuzzyLevel, Nearest};

/// How many line numbers are listed.
const LISTED: usize = 10;

/// For how many edits the nearest text is searched, and for how many any reason is.
const SEARCHED: usize = 3;
const EXPLAINED: usize = 50;

/// How many faults a message lists.
const LISTED_FAULTS: usize = 20;

/// Why no edit was made: every fault of every edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditError {
    /// The faults, each with its edit, counted from 0, if it is of a single one.
    pub faults: Vec<(Option<usize>, EditFault)>,
    /// How many edits there were.
    pub edits: usize,
}

/// An error of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditFault {
    /// There is no edit at all.
    Nothing,
    /// There are too many: so many.
    TooManyEdits(usize),
    /// There is no old text.
    EmptyOld,
    /// Old and new text are the same.
    SameText,
    /// The file already has the new text; the lines of the first match.
    Unchanged((usize, usize)),
    /// The old text is not in the file.
    NotFound(Box<NotFoundCause>),
    /// The old text is in the file several times.
    Several {
        /// The level of the matches.
        level: FuzzyLevel,
        /// The lines where the first of them start.
        lines: Vec<usize>,
        /// How many there are; at least so many, if it is more than can be listed.
        count: usize,
    },
    /// The old text is in the file too often to be replaced, at this level.
    TooMany(FuzzyLevel),
    /// Two edits of the same text, each with its lines, in the order of the file.
    Overlap([(usize, (usize, usize)); 2]),
    /// The file would become too large: so many bytes.
    TooLarge(usize),
}

/// Why a text is not in the file, as far as it is known.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct NotFoundCause {
    /// The edit that creates the text.
    pub only_after: Option<usize>,
    /// The lines that have the new text already.
    pub already: Option<(usize, usize)>,
    /// Whether the text starts with line numbers.
    pub numbered: bool,
    /// Whether the file is too large for any search but an exact one.
    pub exact_only: bool,
    /// Whether the nearest text was searched.
    pub searched: bool,
    /// The nearest text, if there is one.
    pub nearest: Option<Nearest>,
}

impl EditError {
    pub(super) fn whole(fault: EditFault, edits: usize) -> Self {
        Self { faults: vec![(None, fault)], edits }
    }

    fn unless_empty(faults: Vec<(Option<usize>, EditFault)>, edits: usize) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self { faults, edits }) }
    }
}

/// Refuses edits that are wrong whatever the file is.
pub(super) fn refuse_senseless(edits: &[Edit]) -> Result<(), EditError> {
    if edits.is_empty() {
        return Err(EditError::whole(EditFault::Nothing, 0));
    }
    if edits.len() > MAX_EDITS {
        return Err(EditError::whole(EditFault::TooManyEdits(edits.len()), edits.len()));
    }
    let faults = edits.iter().enumerate().filter_map(|(edit, Edit { old, new, .. })| match old {
        old if old.is_empty() => Some((Some(edit), EditFault::EmptyOld)),
        old if old == new => Some((Some(edit), EditFault::SameText)),
        _ => None,
    });
    EditError::unless_empty(faults.collect(), edits.len())
}

/// The matches of all edits; refuses edits that were not found.
pub(super) fn refuse_unfound(original: &[u8], edits: &[Edit], located: Vec<EditMatch>) -> Result<Matches, EditError> {
    let mut missing = 0;
    let mut fault = |edit: usize| match &located[edit] {
        EditMatch::Found(..) => None,
        EditMatch::TooMany(level) => Some(EditFault::TooMany(*level)),
        EditMatch::Several(level, ranges) => Some(several(original, *level, ranges)),
        EditMatch::Missing => {
            missing += 1;
            let cause = || cause::explain(original, edits, &located, edit, missing <= SEARCHED);
            let cause = if missing <= EXPLAINED { cause() } else { NotFoundCause::default() };
            Some(EditFault::NotFound(Box::new(NotFoundCause { exact_only: original.len() > FORGIVING_LIMIT, ..cause })))
        }
    };
    let faults = (0..edits.len()).filter_map(|edit| Some((Some(edit), fault(edit)?)));
    EditError::unless_empty(faults.collect(), edits.len())?;
    let found = located.into_iter().filter_map(|located| match located {
        EditMatch::Found(level, matches) => Some((level, matches)),
        _ => None,
    });
    Ok(Matches::new(found))
}

fn several(original: &[u8], level: FuzzyLevel, ranges: &[Range<usize>]) -> EditFault {
    let mut counter = LineCounter::new(original);
    let lines = ranges.iter().take(LISTED).map(|range| counter.line(range.start)).collect();
    EditFault::Several { level, lines, count: ranges.len() }
}

/// Refuses edits of the same text.
pub(super) fn refuse_overlaps(original: &[u8], matches: &Matches) -> Result<(), EditError> {
    let mut counter = LineCounter::new(original);
    let mut at = |(edit, found): &(usize, MatchedSite)| (*edit, counter.lines(&found.range));
    let overlapping = matches.places.windows(2).filter_map(|two| match two {
        [one, other] if other.1.range.start < one.1.range.end => Some((None, EditFault::Overlap([at(one), at(other)]))),
        _ => None,
    });
    EditError::unless_empty(overlapping.take(LISTED).collect(), matches.levels.len())
}

/// Refuses edits that leave the file as it is.
pub(super) fn refuse_unchanged(original: &[u8], edits: &[Edit], matches: &Matches) -> Result<(), EditError> {
    let mut changed = vec![false; edits.len()];
    for (edit, found) in &matches.places {
        changed[*edit] |= found.changes.iter().any(|change| original[change.range.clone()] != *change.text);
    }
    let unchanged = changed.iter().enumerate().filter(|(_, changed)| !**changed).map(|(edit, _)| edit);
    let faults = unchanged.filter_map(|edit| {
        let (_, first) = matches.places.iter().find(|(other, _)| *other == edit)?;
        Some((Some(edit), EditFault::Unchanged(LineCounter::new(original).lines(&first.range))))
    });
    EditError::unless_empty(faults.collect(), edits.len())
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, (edit, fault)) in self.faults.iter().take(LISTED_FAULTS).enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            if let Some(edit) = edit.filter(|_| self.edits > 1) {
                write!(f, "Edit {}: ", edit + 1)?;
            }
            match fault {
                EditFault::NotFound(cause) => not_found(f, edit.unwrap_or_default(), cause)?,
                fault => write!(f, "{fault}")?,
            }
        }
        let rest = self.faults.len().saturating_sub(LISTED_FAULTS);
        if rest > 0 {
            write!(f, "\nAnd {rest} more.")?;
        }
        if self.edits > 1 { write!(f, "\nNo edit was made.") } else { Ok(()) }
    }
}

impl std::error::Error for EditError {}

impl fmt::Display for EditFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("There is no edit: give the old text and the new text."),
            Self::TooManyEdits(count) => {
                write!(f, "{} edits are too many: make at most {} at once.", group_digits(*count), group_digits(MAX_EDITS))
            }
            Self::EmptyOld => f.write_str("The old text is empty: give the text that is to be replaced."),
            Self::SameText => f.write_str("The old and the new text are the same, so nothing would change."),
            Self::Unchanged(lines) => {
                write!(f, "The file already has the new text, at {}, so nothing would change.", line_range(*lines))
            }
            Self::NotFound(cause) => not_found(f, 0, cause),
            Self::Several { level, lines, count } => several_places(f, *level, lines, *count),
            Self::TooMany(level) => {
                let limit = group_digits(MAX_MATCHES);
                write!(f, "The old text is found in too many places ({level}; {limit} at most). Give a longer text.")
            }
            Self::Overlap([(one, lines), (other, other_lines)]) => {
                let (one, other, lines, other_lines) = (one + 1, other + 1, line_range(*lines), line_range(*other_lines));
                write!(f, "Edits {one} ({lines}) and {other} ({other_lines}) overlap: make one edit of them.")
            }
            Self::TooLarge(size) => {
                let (size, limit) = (group_digits(*size), group_digits(MAX_RESULT));
                write!(f, "The file would have {size} bytes, and {limit} is the most. Replace less.")
            }
        }
    }
}

fn several_places(f: &mut fmt::Formatter<'_>, level: FuzzyLevel, lines: &[usize], count: usize) -> fmt::Result {
    let listed: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let rest = count - lines.len();
    let more = if rest == 0 { String::new() } else { format!(" and {} more", group_digits(rest)) };
    let at_least = if count > COUNTED { "at least " } else { "" };
    let how = if level == FuzzyLevel::Exact { String::new() } else { format!(" ({level})") };
    write!(f, "The old text is found in {at_least}{} places{how}: lines {}{more}. ", group_digits(count), listed.join(", "))?;
    f.write_str("Add lines around it so that one place alone is meant, or replace all of them.")
}

fn not_found(f: &mut fmt::Formatter<'_>, edit: usize, why: &NotFoundCause) -> fmt::Result {
    f.write_str("The old text is not in the file. ")?;
    if let Some(other) = why.only_after {
        let (this, other) = (edit + 1, other + 1);
        return write!(f, "Edit {this} matches only after edit {other}; combine them: all edits are made on the original.");
    }
    if let Some(lines) = why.already {
        write!(f, "The new text is there already, at {}: the edit may have been made before. ", line_range(lines))?;
    }
    if why.numbered {
        f.write_str("It starts with line numbers: leave them out. ")?;
    }
    if why.exact_only {
        let limit = FORGIVING_LIMIT >> 20;
        write!(f, "In a file above {limit} MB it must be given exactly. ")?;
    }
    match &why.nearest {
        Some(nearest) => write!(f, "{nearest}Give the text as the file has it."),
        None if why.searched => f.write_str("Nothing in the file looks like it: read the file again."),
        None => f.write_str("Read the file again."),
    }
}
