//! The names under which a rule meets a path.

use std::borrow::Cow;
use std::path::{Component, Path};

use haft_contract::{Extent, PathEffect, visible};

use super::super::glob::lower_letter;
use super::Anchor;

/// How many names fit without asking for memory.
const FEW: usize = 24;

/// A path that an effect touches, in every form in which it is compared.
#[derive(Debug)]
pub(in super::super) struct Touched<'a> {
    /// As it is; nothing if that is no text, because two such paths could look alike.
    exact: Option<&'a str>,
    folded: Cow<'a, str>,
    /// As it was asked for, if that differs: a link's name counts too.
    asked: Option<Cow<'a, str>>,
    /// How many names lead to the workspace, if the path lies in it.
    workspace: Option<usize>,
    tree: bool,
    changes: bool,
}

impl<'a> Touched<'a> {
    pub(in super::super) fn new(effect: &'a PathEffect, changes: bool) -> Self {
        let location = &effect.location;
        let (path, display) = (location.path(), Path::new(location.display()));
        let text = path.to_string_lossy();
        let workspace = display.is_relative().then(|| split(&text).count().saturating_sub(split(location.display()).count()));
        let known = location.requested() == path || location.requested() == display;
        let settled = known || location.requested().components().any(|part| part == Component::ParentDir);
        Self {
            exact: path.to_str(),
            folded: folded(text),
            asked: (!settled).then(|| folded(location.requested().to_string_lossy())),
            workspace,
            tree: effect.extent == Extent::Tree,
            changes,
        }
    }

    /// Takes the forms apart.
    pub(in super::super) fn spellings(&'a self) -> Spellings<'a> {
        let asked = self.asked.as_deref().map(|asked| {
            let workspace = (!asked.starts_with('/')).then_some(0);
            Spelling { names: Names::of(asked), workspace, whole: workspace.is_none() }
        });
        let resolved = |text| Spelling { names: Names::of(text), workspace: self.workspace, whole: true };
        Spellings { exact: self.exact.map(resolved), folded: resolved(&self.folded), asked, tree: self.tree, changes: self.changes }
    }
}

/// All forms of a touched path.
#[derive(Debug)]
pub(in super::super) struct Spellings<'a> {
    pub(super) exact: Option<Spelling<'a>>,
    pub(super) folded: Spelling<'a>,
    pub(super) asked: Option<Spelling<'a>>,
    pub(super) tree: bool,
    pub(super) changes: bool,
}

/// One form of a path.
#[derive(Debug)]
pub(super) struct Spelling<'a> {
    names: Names<'a>,
    pub(super) workspace: Option<usize>,
    /// Whether the names begin at the top of the machine.
    whole: bool,
}

impl Spelling<'_> {
    pub(super) fn names(&self) -> &[&str] {
        self.names.as_slice()
    }
    /// The names from where a pattern counts; nothing if the path does not lie there.
    pub(super) fn from(&self, anchor: Anchor) -> Option<&[&str]> {
        match anchor {
            Anchor::Workspace => self.workspace.map(|outer| &self.names()[outer.min(self.names().len())..]),
            Anchor::Machine => self.whole.then(|| self.names()),
            Anchor::Floating => Some(self.names()),
        }
    }
}

/// The names of a path.
#[derive(Debug)]
struct Names<'a> {
    few: [&'a str; FEW],
    count: usize,
    /// All of them, if there are too many.
    many: Vec<&'a str>,
}

impl<'a> Names<'a> {
    fn of(path: &'a str) -> Self {
        let mut names = Self { few: [""; FEW], count: 0, many: Vec::new() };
        for name in split(path) {
            match names.few.get_mut(names.count) {
                Some(slot) => *slot = name,
                None => return Self { many: split(path).collect(), ..names },
            }
            names.count += 1;
        }
        names
    }
    fn as_slice(&self) -> &[&'a str] {
        if self.many.is_empty() { &self.few[..self.count] } else { &self.many }
    }
}

fn split(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|name| !name.is_empty() && *name != ".")
}

/// Folds what some volume does not tell apart: case, hidden characters, dots and blanks at the end of a name. Folding too
/// much refuses too much, which is the safe side.
pub(super) fn folded(path: Cow<'_, str>) -> Cow<'_, str> {
    let bytes = path.as_bytes();
    let tailed = bytes.ends_with(b".") || bytes.windows(2).any(|pair| pair == b"./");
    if tailed || !bytes.iter().all(u8::is_ascii_graphic) {
        return Cow::Owned(path.split('/').map(folded_name).collect::<Vec<_>>().join("/"));
    }
    if bytes.iter().any(u8::is_ascii_uppercase) { Cow::Owned(path.to_ascii_lowercase()) } else { path }
}

/// Folds one name.
pub(super) fn folded_name(name: &str) -> String {
    let folded: String = name.chars().filter(|letter| *letter == ' ' || !visible::is_hidden(*letter)).flat_map(lower_letter).collect();
    match folded.trim_end_matches(['.', ' ']) {
        "" => folded,
        kept => kept.to_owned(),
    }
}
