//! Patterns on paths.

mod parse;
mod spelling;

use haft_pattern::{NameGlob, Segment, Token, match_segments};

use self::spelling::Spelling;
pub(super) use self::spelling::{Spellings, TouchedPath};
use super::RuleKind;

/// A path pattern, ready to be matched.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PathPattern {
    kind: RuleKind,
    anchor: Anchor,
    /// Without a `**` at the end, and without the one at the beginning of a floating pattern.
    segments: Vec<Segment>,
    /// Whether a `**` is among the segments.
    stretches: bool,
    /// Whether it covers everything beneath what it names.
    beneath: bool,
    /// Whether the file system leaves it out of a search.
    left_out: bool,
}

/// Where a pattern counts from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Anchor {
    Workspace,
    Machine,
    /// Anywhere.
    Floating,
}

impl PathPattern {
    /// Whether the rule speaks of what is touched.
    pub(super) fn matches(&self, touched: &Spellings<'_>) -> bool {
        if self.kind.restricts() {
            return std::iter::once(&touched.folded).chain(&touched.spelled).any(|spelling| self.hits(spelling, touched));
        }
        (self.beneath || !touched.tree) && touched.exact.as_ref().is_some_and(|exact| self.names(exact))
    }

    /// A name that every path has which it names, with its place from where the pattern counts: the last one before the first wildcard,
    /// which tells most paths apart.
    pub(super) fn needed_name(&self) -> Option<(Anchor, usize, &str)> {
        if self.anchor == Anchor::Floating {
            return None;
        }
        let names = self.segments.iter().map_while(|segment| match segment {
            Segment::Name(NameGlob::Literal(name)) => Some(name.as_str()),
            _ => None,
        });
        names.enumerate().last().map(|(place, name)| (self.anchor, place, name))
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
            let length = self.segments.len();
            return names.len() >= length && (self.beneath || names.len() == length) && one_by_one(&self.segments, &names[..length]);
        }
        let shortest = if self.beneath { 0 } else { names.len() };
        (shortest..=names.len()).any(|end| along(&self.segments, &names[..end]))
    }

    /// The last name must lie in the workspace, for a path there: where the workspace itself lies was the user's choice.
    fn floats_to(&self, spelling: &Spelling<'_>) -> bool {
        let (names, outer) = (spelling.names(), spelling.workspace.unwrap_or(0));
        if self.segments.is_empty() {
            return true;
        }
        let shortest = if self.beneath { outer + 1 } else { names.len().max(outer + 1) };
        (shortest..=names.len()).any(|end| self.ends(&names[..end]))
    }

    fn ends(&self, names: &[&str]) -> bool {
        if !self.stretches {
            let start = names.len().checked_sub(self.segments.len());
            return start.is_some_and(|start| one_by_one(&self.segments, &names[start..]));
        }
        (0..names.len()).any(|start| along(&self.segments, &names[start..]))
    }

    /// Whether it could name something beneath a path. What may not be read the file system leaves out of a search, so that the
    /// search need not be refused for it; a floating pattern could be met everywhere.
    fn reaches_into(&self, spelling: &Spelling<'_>, changes: bool) -> bool {
        if self.left_out && !changes {
            return false;
        }
        if self.anchor == Anchor::Floating {
            return changes || self.kind == RuleKind::Ask;
        }
        let Some(names) = spelling.from(self.anchor) else { return false };
        (0..=self.segments.len()).any(|end| along(&self.segments[..end], names))
    }

    /// The path, if the pattern has no wildcards but at its end.
    pub(super) fn plain_path(&self) -> Option<String> {
        let name = |segment: &Segment| match segment {
            Segment::Name(NameGlob::Literal(name)) => Some(name.clone()),
            _ => None,
        };
        let names = self.segments.iter().map(name).collect::<Option<Vec<String>>>()?.join("/");
        match self.anchor {
            Anchor::Floating => None,
            Anchor::Machine => Some(format!("/{names}")),
            Anchor::Workspace if names.is_empty() => Some(".".to_owned()),
            Anchor::Workspace => Some(names),
        }
    }

    /// The pattern as the sandbox of a workspace takes it, from the top of the machine or anywhere.
    pub(super) fn for_sandbox(&self, root: &str) -> String {
        let names: Vec<String> = self.segments.iter().map(file_system_text).collect();
        let start = match self.anchor {
            Anchor::Floating if !names.is_empty() => "**".to_owned(),
            Anchor::Floating | Anchor::Machine => String::new(),
            Anchor::Workspace => root.chars().map(without_wildcard).collect(),
        };
        if names.is_empty() { format!("{start}/**") } else { format!("{start}/{}", names.join("/")) }
    }

    /// The pattern as globs that are compared exactly; none if a glob would say more.
    pub(super) fn exact_texts(&self, root: &str) -> Vec<String> {
        let text = self.for_sandbox(root);
        let stars = text.matches('?').count();
        let is_said = self.anchor != Anchor::Floating && stars == 0 && !root.contains(['*', '?', '[', '{', '\\']);
        match (is_said, self.beneath) {
            (false, _) => Vec::new(),
            (true, true) => vec![format!("{}/**", text.trim_end_matches("/**")), text],
            (true, false) => vec![text],
        }
    }

    /// The pattern as the file system takes it, which counts from nowhere but the top and anywhere, and always covers what
    /// is beneath. What it cannot say is said a little wider.
    pub(super) fn for_file_system(&self, root: &str) -> Option<String> {
        self.left_out.then(|| self.for_sandbox(root))
    }

    /// A rule with exceptions does not let a search leave out everything that it names.
    pub(super) fn search_into(&mut self) {
        self.left_out = false;
    }
}

/// What the file system cannot say is said a little wider.
fn without_wildcard(ch: char) -> char {
    if "*?{}[]\\!\u{fffd}".contains(ch) { '?' } else { ch }
}

fn file_system_text(segment: &Segment) -> String {
    let plain = without_wildcard;
    match segment {
        Segment::AnyNames => "**".to_owned(),
        Segment::Name(NameGlob::Literal(name)) => name.chars().map(plain).collect(),
        Segment::Name(NameGlob::Wild(tokens)) => tokens
            .iter()
            .map(|token| match token {
                Token::AnyRun => '*',
                Token::Char(ch) => plain(*ch),
                Token::AnyChar | Token::Class(_) => '?',
            })
            .collect(),
    }
}

fn along(segments: &[Segment], names: &[&str]) -> bool {
    match_segments(segments, names, |glob, name| glob.matches(name))
}

/// The last name first, because it tells most paths apart.
fn one_by_one(segments: &[Segment], names: &[&str]) -> bool {
    segments.iter().zip(names).rev().all(|(segment, name)| matches!(segment, Segment::Name(glob) if glob.matches(name)))
}

#[cfg(test)]
mod tests;
