//! What is wrong with edits, in words for whoever wrote them.

use std::fmt;
use std::ops::Range;

use super::cause;
use super::ladder::{COUNTED, Located};
use super::splice::Matches;
use super::{Edit, FORGIVING_LIMIT, MAX_EDITS, MAX_MATCHES, MAX_RESULT};
use crate::text::Counter;
use crate::visible::{grouped, line_range};
use crate::{Nearest, Rule};

/// How many line numbers are listed.
const LISTED: usize = 10;

/// For how many edits the nearest place is searched, and for how many any reason is.
const SEARCHED: usize = 3;
const EXPLAINED: usize = 50;

/// How many faults are told.
const TOLD: usize = 20;

/// Why no edit was made: every fault of every edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditError {
    /// The faults, in the order of the edits.
    pub faults: Vec<EditFault>,
    /// How many edits were asked for.
    pub edits: usize,
}

/// What is wrong with an edit. Edits are counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum EditFault {
    /// There is no edit at all.
    Nothing,
    /// There are too many.
    TooManyEdits {
        /// How many.
        count: usize,
    },
    /// There is no old text.
    EmptyOld {
        /// The edit.
        edit: usize,
    },
    /// Old and new text are the same.
    SameText {
        /// The edit.
        edit: usize,
    },
    /// The file says already what the new text says.
    Unchanged {
        /// The edit.
        edit: usize,
        /// The lines of its first place.
        lines: (usize, usize),
    },
    /// The old text is not in the file.
    NotFound {
        /// The edit.
        edit: usize,
        /// What is known of why.
        why: Box<Missing>,
        /// Whether the file is so large that only the exact text was looked for.
        exact_only: bool,
    },
    /// The old text is in the file several times.
    Several {
        /// The edit.
        edit: usize,
        /// The rule that finds it.
        rule: Rule,
        /// The lines where the first of them start.
        lines: Vec<usize>,
        /// How many there are; at least so many, if it is more than can be listed.
        count: usize,
    },
    /// The old text is in the file too often to be replaced.
    TooMany {
        /// The edit.
        edit: usize,
        /// The rule that finds it.
        rule: Rule,
    },
    /// Two edits are about the same text.
    Overlap {
        /// The edit whose place is first in the file, and its lines.
        first: (usize, (usize, usize)),
        /// The other one, and its lines.
        second: (usize, (usize, usize)),
    },
    /// The file would become too large.
    TooLarge {
        /// How large, in bytes.
        size: usize,
    },
}

/// What is known of why a text is not there.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Missing {
    /// The edit that would bring the text about.
    pub only_after: Option<usize>,
    /// The lines where the new text stands already.
    pub already: Option<(usize, usize)>,
    /// Whether the text starts with line numbers.
    pub numbered: bool,
    /// Whether the place that is most like it was looked for.
    pub searched: bool,
    /// That place, if there is one.
    pub nearest: Option<Nearest>,
}

impl EditError {
    pub(super) fn new(faults: Vec<EditFault>, edits: usize) -> Self {
        Self { faults, edits }
    }

    fn unless_empty(faults: Vec<EditFault>, edits: usize) -> Result<(), Self> {
        if faults.is_empty() { Ok(()) } else { Err(Self::new(faults, edits)) }
    }
}

/// Edits that can be seen to be wrong without the file.
pub(super) fn refuse_senseless(edits: &[Edit]) -> Result<(), EditError> {
    if edits.is_empty() {
        return Err(EditError::new(vec![EditFault::Nothing], 0));
    }
    if edits.len() > MAX_EDITS {
        return Err(EditError::new(vec![EditFault::TooManyEdits { count: edits.len() }], edits.len()));
    }
    let faults = edits.iter().enumerate().filter_map(|(edit, Edit { old, new, .. })| match old {
        old if old.is_empty() => Some(EditFault::EmptyOld { edit }),
        old if old == new => Some(EditFault::SameText { edit }),
        _ => None,
    });
    EditError::unless_empty(faults.collect(), edits.len())
}

/// The places of all edits, if every one was found.
pub(super) fn refuse_unfound(original: &[u8], edits: &[Edit], located: Vec<Located>) -> Result<Matches, EditError> {
    let mut searched = 0;
    let faults = located.iter().enumerate().filter_map(|(edit, found)| match found {
        Located::Found(..) => None,
        Located::TooMany(rule) => Some(EditFault::TooMany { edit, rule: *rule }),
        Located::Several(rule, places) => Some(several(original, edit, *rule, places)),
        Located::Missing => {
            searched += 1;
            let why = || cause::explain(original, edits, &located, edit, searched <= SEARCHED);
            let why = Box::new(if searched <= EXPLAINED { why() } else { Missing::default() });
            Some(EditFault::NotFound { edit, why, exact_only: original.len() > FORGIVING_LIMIT })
        }
    });
    EditError::unless_empty(faults.collect(), edits.len())?;
    let found = located.into_iter().filter_map(|located| match located {
        Located::Found(rule, matches) => Some((rule, matches)),
        _ => None,
    });
    Ok(Matches::new(found))
}

fn several(original: &[u8], edit: usize, rule: Rule, places: &[Range<usize>]) -> EditFault {
    let mut counter = Counter::new(original);
    let lines = places.iter().take(LISTED).map(|place| counter.line(place.start)).collect();
    EditFault::Several { edit, rule, lines, count: places.len() }
}

/// Edits that are about the same text.
pub(super) fn refuse_overlaps(original: &[u8], matches: &Matches) -> Result<(), EditError> {
    let mut counter = Counter::new(original);
    let overlapping = matches.places.windows(2).filter_map(|two| match two {
        [one, other] if other.1.range.start < one.1.range.end => Some((one, other)),
        _ => None,
    });
    let mut at = |(edit, found): &(usize, super::ladder::Match)| (*edit, counter.lines(&found.range));
    let faults = overlapping.take(LISTED).map(|(one, other)| EditFault::Overlap { first: at(one), second: at(other) });
    EditError::unless_empty(faults.collect(), matches.rules.len())
}

/// Edits that leave the file as it is.
pub(super) fn refuse_unchanged(original: &[u8], edits: &[Edit], matches: &Matches) -> Result<(), EditError> {
    let mut changed = vec![false; edits.len()];
    for (edit, found) in &matches.places {
        changed[*edit] |= found.changes.iter().any(|change| original[change.range.clone()] != *change.text);
    }
    let unchanged = changed.iter().enumerate().filter(|(_, changed)| !**changed).map(|(edit, _)| edit);
    let first = |edit: usize| matches.places.iter().find(|(other, _)| *other == edit).map(|(_, found)| found.range.clone());
    let faults = unchanged.filter_map(|edit| {
        let lines = Counter::new(original).lines(&first(edit)?);
        Some(EditFault::Unchanged { edit, lines })
    });
    EditError::unless_empty(faults.collect(), edits.len())
}

impl fmt::Display for EditError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.faults.iter().take(TOLD).enumerate() {
            if number > 0 {
                writeln!(f)?;
            }
            if let Some(edit) = fault.edit().filter(|_| self.edits > 1) {
                write!(f, "Edit {}: ", edit + 1)?;
            }
            write!(f, "{fault}")?;
        }
        let untold = self.faults.len().saturating_sub(TOLD);
        if untold > 0 {
            write!(f, "\nAnd {untold} more.")?;
        }
        if self.edits > 1 { write!(f, "\nNo edit was made.") } else { Ok(()) }
    }
}

impl std::error::Error for EditError {}

impl EditFault {
    /// The edit that this is about, if it is about one.
    pub fn edit(&self) -> Option<usize> {
        match self {
            Self::EmptyOld { edit }
            | Self::SameText { edit }
            | Self::Unchanged { edit, .. }
            | Self::NotFound { edit, .. }
            | Self::Several { edit, .. }
            | Self::TooMany { edit, .. } => Some(*edit),
            Self::Nothing | Self::TooManyEdits { .. } | Self::Overlap { .. } | Self::TooLarge { .. } => None,
        }
    }
}

impl fmt::Display for EditFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Nothing => f.write_str("There is no edit: give the old text and the new text."),
            Self::TooManyEdits { count } => {
                write!(f, "{} edits are too many: make at most {} at once.", grouped(*count), grouped(MAX_EDITS))
            }
            Self::EmptyOld { .. } => f.write_str("The old text is empty: give the text that is to be replaced."),
            Self::SameText { .. } => f.write_str("The old and the new text are the same, so nothing would change."),
            Self::Unchanged { lines, .. } => {
                write!(f, "The file already says what the new text says, at {}, so nothing would change.", line_range(*lines))
            }
            Self::NotFound { edit, why, exact_only } => not_found(f, *edit, why, *exact_only),
            Self::Several { rule, lines, count, .. } => several_places(f, *rule, lines, *count),
            Self::TooMany { rule, .. } => {
                let limit = grouped(MAX_MATCHES);
                write!(f, "The old text is found in too many places ({rule}; {limit} at most). Give a longer text.")
            }
            Self::Overlap { first, second } => overlap(f, *first, *second),
            Self::TooLarge { size } => {
                let (size, limit) = (grouped(*size), grouped(MAX_RESULT));
                write!(f, "The file would have {size} bytes, and {limit} is the most. Replace less.")
            }
        }
    }
}

fn overlap(f: &mut fmt::Formatter<'_>, first: (usize, (usize, usize)), second: (usize, (usize, usize))) -> fmt::Result {
    let (one, other) = (first.0 + 1, second.0 + 1);
    let (lines, other_lines) = (line_range(first.1), line_range(second.1));
    write!(f, "Edits {one} ({lines}) and {other} ({other_lines}) overlap: make one edit of them.")
}

fn several_places(f: &mut fmt::Formatter<'_>, rule: Rule, lines: &[usize], count: usize) -> fmt::Result {
    let listed: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let rest = count - lines.len();
    let more = if rest == 0 { String::new() } else { format!(" and {} more", grouped(rest)) };
    let at_least = if count > COUNTED { "at least " } else { "" };
    let how = if rule == Rule::Exact { String::new() } else { format!(" ({rule})") };
    write!(f, "The old text is found in {at_least}{} places{how}: lines {}{more}. ", grouped(count), listed.join(", "))?;
    f.write_str("Add lines around it so that one place alone is meant, or replace all of them.")
}

fn not_found(f: &mut fmt::Formatter<'_>, edit: usize, why: &Missing, exact_only: bool) -> fmt::Result {
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
    if exact_only {
        let limit = FORGIVING_LIMIT >> 20;
        write!(f, "In a file above {limit} MB it must be given exactly. ")?;
    }
    match &why.nearest {
        Some(nearest) => write!(f, "{nearest}Give the text as the file has it."),
        None if why.searched => f.write_str("Nothing in the file looks like it: read the file again."),
        None => f.write_str("Read the file again."),
    }
}
