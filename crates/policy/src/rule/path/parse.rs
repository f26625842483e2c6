//! Reading path patterns.

use std::path::{Component, Path};

use haft_pattern::{NameGlob, PatternChar, Segment};

use super::super::RuleKind;
use super::super::problem::RuleProblem;
use super::super::text::{behind, plain};
use super::spelling::folded_name;
use super::{Anchor, PathPattern};

impl PathPattern {
    /// Reads a pattern. `home` is what `~` stands for.
    pub(in super::super) fn parse(kind: RuleKind, chars: &[PatternChar], home: Option<&Path>) -> Result<Self, RuleProblem> {
        check(chars)?;
        let (mut anchor, mut segments, rest) = start(kind, chars, home)?;
        for name in names(rest)? {
            segments.push(segment(kind, name)?);
        }
        if anchor == Anchor::Workspace && segments.first() == Some(&Segment::AnyNames) && behind(chars, "./").is_none() {
            anchor = Anchor::Floating;
            segments.remove(0);
        }
        let open = strip_open_end(&mut segments) || (anchor == Anchor::Floating && segments.is_empty());
        let folder = kind.restricts() && matches!(segments.last(), None | Some(Segment::Name(NameGlob::Literal(_))));
        let beneath = open || folder;
        let left_out = kind == RuleKind::Deny && (beneath || anchor == Anchor::Floating);
        Ok(Self { kind, anchor, stretches: segments.contains(&Segment::AnyNames), segments, beneath, left_out })
    }
}

fn check(chars: &[PatternChar]) -> Result<(), RuleProblem> {
    if let Some(mark) = chars.iter().find(|ch| "{}[]".chars().any(|mark| ch.is(mark))) {
        let help = format!("write one rule for each case; '\\{}' is one that means itself", mark.ch);
        return Err(RuleProblem::new(format!("'{}' has no meaning in a path pattern", mark.ch), help));
    }
    if behind(chars, "$").is_some() {
        return Err(RuleProblem::new(
            "variables are not replaced in a rule",
            "write '~/…' for your home, or the whole path; '\\$' means itself",
        ));
    }
    if behind(chars, "file:").is_some() {
        return Err(RuleProblem::new("a rule names a path, not a URL", "leave out 'file://'"));
    }
    Ok(())
}

/// Where the pattern counts from, the names that lead there, and what is left to read.
fn start<'a>(
    kind: RuleKind,
    chars: &'a [PatternChar],
    home: Option<&Path>,
) -> Result<(Anchor, Vec<Segment>, &'a [PatternChar]), RuleProblem> {
    if let Some(rest) = behind(chars, "/") {
        return Ok((Anchor::Machine, Vec::new(), rest));
    }
    let Some(rest) = behind(chars, "~") else { return Ok((Anchor::Workspace, Vec::new(), chars)) };
    let beneath = behind(rest, "/").or_else(|| rest.is_empty().then_some(rest));
    let Some(beneath) = beneath else {
        return Err(RuleProblem::new(format!("'{}' is nobody's home here", plain(chars)), "write '~/…' for your own, or the whole path"));
    };
    let Some(home) = home else {
        return Err(RuleProblem::new("it is not known what '~' stands for", "set HOME, or write the whole path"));
    };
    Ok((Anchor::Machine, home_names(kind, home), beneath))
}

fn home_names(kind: RuleKind, home: &Path) -> Vec<Segment> {
    let named = home.components().filter(|part| matches!(part, Component::Normal(_)));
    named.map(|part| literal(kind, &part.as_os_str().to_string_lossy())).collect()
}

fn literal(kind: RuleKind, name: &str) -> Segment {
    Segment::Name(NameGlob::Literal(if kind.restricts() { folded_name(name) } else { name.to_owned() }))
}

/// The names between the slashes; `.` is none.
fn names(rest: &[PatternChar]) -> Result<Vec<&[PatternChar]>, RuleProblem> {
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&[PatternChar]> = rest.split(|ch| ch.ch == '/').collect();
    if let [.., before, last] = names.as_slice()
        && last.is_empty()
        && !before.is_empty()
    {
        return Err(RuleProblem::new(
            "the pattern ends with '/'",
            "write '/**' at the end for everything in the folder, or leave out the '/'",
        ));
    }
    if names.iter().any(|name| name.is_empty()) {
        return Err(RuleProblem::new("the pattern holds '//'", "write one '/' between two names"));
    }
    Ok(names.into_iter().filter(|name| !matches!(name, [dot] if dot.ch == '.')).collect())
}

fn segment(kind: RuleKind, name: &[PatternChar]) -> Result<Segment, RuleProblem> {
    let text = plain(name);
    if text == ".." {
        return Err(RuleProblem::new("the pattern holds '..'", "write the path without it"));
    }
    if matches!(name, [a, b] if a.is('*') && b.is('*')) {
        return Ok(Segment::AnyNames);
    }
    if name.windows(2).any(|pair| pair[0].is('*') && pair[1].is('*')) {
        return Err(RuleProblem::new(
            format!("'**' stands for whole names, and '{text}' is one"),
            "write '*' within a name, or '**/' before it",
        ));
    }
    Ok(match NameGlob::with_wildcards(name) {
        NameGlob::Literal(name) => literal(kind, &name),
        wild @ NameGlob::Wild(_) => Segment::Name(if kind.restricts() { wild.fold_name() } else { wild }),
    })
}

/// `docs/**` is `docs` and everything beneath.
fn strip_open_end(segments: &mut Vec<Segment>) -> bool {
    let length = segments.len();
    while segments.last() == Some(&Segment::AnyNames) {
        segments.pop();
    }
    segments.len() < length
}
