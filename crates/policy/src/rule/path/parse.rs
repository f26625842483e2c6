//! Reading path patterns.

use std::path::{Component, Path};

use super::super::RuleKind;
use super::super::fault::Fault;
use super::super::glob::Glob;
use super::super::text::{Letter, behind, plain};
use super::spelling::folded_name;
use super::{Anchor, PathPattern, Piece};

impl PathPattern {
    /// Reads a pattern. `home` is what `~` stands for.
    pub(in super::super) fn parse(kind: RuleKind, letters: &[Letter], home: Option<&Path>) -> Result<Self, Fault> {
        check(letters)?;
        let (mut anchor, mut pieces, rest) = start(kind, letters, home)?;
        for name in names(rest)? {
            pieces.push(piece(kind, name)?);
        }
        if anchor == Anchor::Workspace && pieces.first() == Some(&Piece::AnyNames) && behind(letters, "./").is_none() {
            anchor = Anchor::Floating;
            pieces.remove(0);
        }
        let open = strip_open_end(&mut pieces) || (anchor == Anchor::Floating && pieces.is_empty());
        let folder = kind.restricts() && matches!(pieces.last(), None | Some(Piece::Name(Glob::Literal(_))));
        Ok(Self { kind, anchor, stretches: pieces.contains(&Piece::AnyNames), pieces, beneath: open || folder })
    }
}

fn check(letters: &[Letter]) -> Result<(), Fault> {
    if let Some(mark) = letters.iter().find(|letter| "{}[]".chars().any(|mark| letter.is(mark))) {
        let help = format!("write one rule for each case; '\\{}' is one that means itself", mark.c);
        return Err(Fault::new(format!("'{}' has no meaning in a path pattern", mark.c), help));
    }
    if behind(letters, "$").is_some() {
        return Err(Fault::new("variables are not replaced in a rule", "write '~/…' for your home, or the whole path; '\\$' means itself"));
    }
    if behind(letters, "file:").is_some() {
        return Err(Fault::new("a rule names a path, not a URL", "leave out 'file://'"));
    }
    Ok(())
}

/// Where the pattern counts from, the names that lead there, and what is left to read.
fn start<'a>(kind: RuleKind, letters: &'a [Letter], home: Option<&Path>) -> Result<(Anchor, Vec<Piece>, &'a [Letter]), Fault> {
    if let Some(rest) = behind(letters, "/") {
        return Ok((Anchor::Machine, Vec::new(), rest));
    }
    let Some(rest) = behind(letters, "~") else { return Ok((Anchor::Workspace, Vec::new(), letters)) };
    let beneath = behind(rest, "/").or_else(|| rest.is_empty().then_some(rest));
    let Some(beneath) = beneath else {
        return Err(Fault::new(format!("'{}' is nobody's home here", plain(letters)), "write '~/…' for your own, or the whole path"));
    };
    let Some(home) = home else {
        return Err(Fault::new("it is not known what '~' stands for", "set HOME, or write the whole path"));
    };
    Ok((Anchor::Machine, home_names(kind, home), beneath))
}

fn home_names(kind: RuleKind, home: &Path) -> Vec<Piece> {
    let named = home.components().filter(|part| matches!(part, Component::Normal(_)));
    named.map(|part| literal(kind, &part.as_os_str().to_string_lossy())).collect()
}

fn literal(kind: RuleKind, name: &str) -> Piece {
    Piece::Name(Glob::Literal(if kind.restricts() { folded_name(name) } else { name.to_owned() }))
}

/// The names between the slashes; `.` is none.
fn names(rest: &[Letter]) -> Result<Vec<&[Letter]>, Fault> {
    if rest.is_empty() {
        return Ok(Vec::new());
    }
    let names: Vec<&[Letter]> = rest.split(|letter| letter.c == '/').collect();
    if let [.., before, last] = names.as_slice()
        && last.is_empty()
        && !before.is_empty()
    {
        return Err(Fault::new("the pattern ends with '/'", "write '/**' at the end for everything in the folder, or leave out the '/'"));
    }
    if names.iter().any(|name| name.is_empty()) {
        return Err(Fault::new("the pattern holds '//'", "write one '/' between two names"));
    }
    Ok(names.into_iter().filter(|name| !matches!(name, [dot] if dot.c == '.')).collect())
}

fn piece(kind: RuleKind, name: &[Letter]) -> Result<Piece, Fault> {
    let text = plain(name);
    if text == ".." {
        return Err(Fault::new("the pattern holds '..'", "write the path without it"));
    }
    if matches!(name, [a, b] if a.is('*') && b.is('*')) {
        return Ok(Piece::AnyNames);
    }
    if name.windows(2).any(|pair| pair[0].is('*') && pair[1].is('*')) {
        return Err(Fault::new(format!("'**' stands for whole names, and '{text}' is one"), "write '*' within a name, or '**/' before it"));
    }
    Ok(match Glob::with_runs_and_ones(name) {
        Glob::Literal(name) => literal(kind, &name),
        wild @ Glob::Wild(_) => Piece::Name(if kind.restricts() { wild.lower() } else { wild }),
    })
}

/// `docs/**` is `docs` and everything beneath.
fn strip_open_end(pieces: &mut Vec<Piece>) -> bool {
    let length = pieces.len();
    while pieces.last() == Some(&Piece::AnyNames) {
        pieces.pop();
    }
    pieces.len() < length
}
