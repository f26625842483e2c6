//! Patterns on paths.

mod parse;
mod spelling;

use self::spelling::Spelling;
pub(super) use self::spelling::{Spellings, Touched};
use super::RuleKind;
use super::glob::{Glob, Mark};

/// A path pattern, ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    kind: RuleKind,
    anchor: Anchor,
    /// Without a `**` at the end, and without the one at the beginning of a floating pattern.
    pieces: Vec<Piece>,
    /// Whether a `**` is among the pieces.
    stretches: bool,
    /// Whether it covers everything beneath what it names.
    beneath: bool,
}

/// Where a pattern counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Anchor {
    Workspace,
    Machine,
    /// Anywhere.
    Floating,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Piece {
    AnyNames,
    Name(Glob),
}

impl PathPattern {
    /// Whether the rule speaks of what is touched.
    pub(super) fn matches(&self, touched: &Spellings<'_>) -> bool {
        if self.kind.restricts() {
            return std::iter::once(&touched.folded).chain(&touched.spelled).any(|spelling| self.hits(spelling, touched));
        }
        (self.beneath || !touched.tree) && touched.exact.as_ref().is_some_and(|exact| self.names(exact))
    }

    /// Whether it counts from the top of the machine, and so means the same in every workspace.
    pub(super) fn is_anchored(&self) -> bool {
        self.anchor == Anchor::Machine
    }

    fn hits(&self, spelling: &Spelling<'_>, touched: &Spellings<'_>) -> bool {
        self.names(spelling) || (touched.tree && self.reaches_into(spelling, touched.changes))
    }

    /// Whether it names a path, or a folder above it if it covers what is beneath.
    fn names(&self, spelling: &Spelling<'_>) -> bool {
        match self.anchor {
            Anchor::Floating => self.floats_to(spelling),
            _ => spelling.from(self.anchor).is_some_and(|names| self.leads_to(names)),
        }
    }

    fn leads_to(&self, names: &[&str]) -> bool {
        if !self.stretches {
            let length = self.pieces.len();
            return names.len() >= length && (self.beneath || names.len() == length) && one_by_one(&self.pieces, &names[..length]);
        }
        let shortest = if self.beneath { 0 } else { names.len() };
        (shortest..=names.len()).any(|end| along(&self.pieces, &names[..end]))
    }

    /// The last name must lie in the workspace, for a path there: where the workspace itself lies was the person's choice.
    fn floats_to(&self, spelling: &Spelling<'_>) -> bool {
        let (names, outer) = (spelling.names(), spelling.workspace.unwrap_or(0));
        if self.pieces.is_empty() {
            return true;
        }
        let shortest = if self.beneath { outer + 1 } else { names.len().max(outer + 1) };
        (shortest..=names.len()).any(|end| self.ends(&names[..end]))
    }

    fn ends(&self, names: &[&str]) -> bool {
        if !self.stretches {
            let start = names.len().checked_sub(self.pieces.len());
            return start.is_some_and(|start| one_by_one(&self.pieces, &names[start..]));
        }
        (0..names.len()).any(|start| along(&self.pieces, &names[start..]))
    }

    /// Whether it could name something beneath a path. A floating one could everywhere: the file system leaves out what may
    /// not be read, so that a search need not be refused for it.
    fn reaches_into(&self, spelling: &Spelling<'_>, changes: bool) -> bool {
        if self.anchor == Anchor::Floating {
            return changes || self.kind == RuleKind::Ask;
        }
        let Some(names) = spelling.from(self.anchor) else { return false };
        (0..=self.pieces.len()).any(|end| along(&self.pieces[..end], names))
    }

    /// The pattern as the file system takes it, which counts from nowhere but the top and anywhere, and always covers what
    /// is beneath. What it cannot say is said a little wider.
    pub(super) fn for_file_system(&self) -> Option<String> {
        let start = match self.anchor {
            Anchor::Floating => "**",
            Anchor::Machine if self.beneath => "",
            _ => return None,
        };
        let names: Vec<String> = self.pieces.iter().map(Piece::plain).collect();
        Some(if names.is_empty() { "/**".to_owned() } else { format!("{start}/{}", names.join("/")) })
    }
}

impl Piece {
    fn fits(&self, name: &str) -> bool {
        match self {
            Self::AnyNames => true,
            Self::Name(glob) => glob.fits(name),
        }
    }
    fn plain(&self) -> String {
        let sayable = |c: char| if "*?{}[]\\!".contains(c) { '?' } else { c };
        match self {
            Self::AnyNames => "**".to_owned(),
            Self::Name(Glob::Literal(name)) => name.chars().map(sayable).collect(),
            Self::Name(Glob::Wild(marks)) => marks
                .iter()
                .map(|mark| match mark {
                    Mark::Run => '*',
                    Mark::One => '?',
                    Mark::Letter(c) => sayable(*c),
                })
                .collect(),
        }
    }
}

/// The last name first, because it tells most paths apart.
fn one_by_one(pieces: &[Piece], names: &[&str]) -> bool {
    pieces.iter().zip(names).rev().all(|(piece, name)| piece.fits(name))
}

/// Matches all names. One point to return to: at most `pieces × names` steps, whatever the pattern.
fn along(pieces: &[Piece], names: &[&str]) -> bool {
    let (mut at, mut position) = (0, 0);
    let mut resume: Option<(usize, usize)> = None;
    while let Some(name) = names.get(position) {
        match (pieces.get(at), resume) {
            (Some(Piece::AnyNames), _) => {
                at += 1;
                resume = Some((at, position));
            }
            (Some(piece), _) if piece.fits(name) => {
                at += 1;
                position += 1;
            }
            (_, Some((after, start))) => {
                position = start + 1;
                resume = Some((after, position));
                at = after;
            }
            (_, None) => return false,
        }
    }
    pieces[at..].iter().all(|piece| *piece == Piece::AnyNames)
}

#[cfg(test)]
mod tests;
