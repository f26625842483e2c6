//! The names under which a rule meets a path.

use std::borrow::Cow;
use std::path::{Component, Path};

use haft_contract::{Extent, Location, PathEffect};
use haft_pattern::fold_name;
use haft_text::display;

use super::Anchor;

/// How many names fit without asking for memory.
const FEW: usize = 24;

/// A path that an effect touches, in every form in which it is compared.
#[derive(Debug)]
pub(in super::super) struct TouchedPath<'a> {
    /// As it is; nothing if that is no text, because two such paths could look alike.
    exact: Option<&'a str>,
    folded: Cow<'a, str>,
    /// As it was spelled on the way there, if that differs: the name of a link counts too.
    spelled: Vec<(Cow<'a, str>, Option<usize>)>,
    /// How many names lead to the workspace, if the path lies in it.
    workspace: Option<usize>,
    tree: bool,
    changes: bool,
}

impl<'a> TouchedPath<'a> {
    pub(in super::super) fn new(effect: &'a PathEffect, changes: bool) -> Self {
        let location = &effect.location;
        let text = location.path().to_string_lossy();
        let is_inside = Path::new(location.display()).is_relative();
        Self {
            exact: location.path().to_str(),
            workspace: is_inside.then(|| outer(&text, location.display())),
            folded: folded(text),
            spelled: spelled(location),
            tree: effect.extent == Extent::Tree,
            changes,
        }
    }

    /// Takes the forms apart.
    pub(in super::super) fn spellings(&'a self) -> Spellings<'a> {
        let resolved = |text| Spelling { names: PathNames::split(text), workspace: self.workspace, whole: true };
        let spelled = |(text, workspace): &'a (Cow<'a, str>, Option<usize>)| Spelling {
            names: PathNames::split(text),
            workspace: *workspace,
            whole: text.starts_with('/'),
        };
        Spellings {
            exact: self.exact.map(resolved),
            folded: resolved(&self.folded),
            spelled: self.spelled.iter().map(spelled).collect(),
            tree: self.tree,
            changes: self.changes,
        }
    }
}

/// How many names lead to what a relative path counts from.
fn outer(whole: &str, relative: &str) -> usize {
    split(whole).count().saturating_sub(split(relative).count())
}

/// Every way in which a place was spelled. Where its maker says nothing, what was asked for is the one there is.
fn spelled(location: &Location) -> Vec<(Cow<'_, str>, Option<usize>)> {
    let told = location.spellings().iter().map(|spelled| {
        let text = spelled.absolute.to_string_lossy();
        let workspace = spelled.in_workspace.as_deref().map(|inside| outer(&text, inside));
        (folded(text), workspace)
    });
    let requested = location.requested();
    let is_known = requested == location.path() || requested == Path::new(location.display());
    let asked = if is_known || !location.spellings().is_empty() { None } else { lexical(requested) };
    told.chain(asked.map(|asked| {
        let workspace = (!asked.starts_with('/')).then_some(0);
        (Cow::Owned(folded(Cow::Owned(asked)).into_owned()), workspace)
    }))
    .collect()
}

/// A path without `..`, as text; nothing if it leads out of where it counts from.
fn lexical(path: &Path) -> Option<String> {
    let mut names: Vec<Cow<'_, str>> = Vec::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => names.push(name.to_string_lossy()),
            Component::ParentDir if names.pop().is_none() && !path.is_absolute() => return None,
            _ => {}
        }
    }
    Some(format!("{}{}", if path.is_absolute() { "/" } else { "" }, names.join("/")))
}

/// All forms of a touched path.
#[derive(Debug)]
pub(in super::super) struct Spellings<'a> {
    pub(super) exact: Option<Spelling<'a>>,
    pub(super) folded: Spelling<'a>,
    pub(super) spelled: Vec<Spelling<'a>>,
    pub(super) tree: bool,
    pub(super) changes: bool,
}

/// One form of a path.
#[derive(Debug)]
pub(super) struct Spelling<'a> {
    names: PathNames<'a>,
    pub(super) workspace: Option<usize>,
    /// Whether the names begin at the top of the machine.
    whole: bool,
}

impl<'a> Spellings<'a> {
    /// Whether all that is beneath the path is touched.
    pub(in super::super) fn is_tree(&self) -> bool {
        self.tree
    }
    /// The name at a place of each form of the path, counted from there.
    pub(in super::super) fn names_at(&self, anchor: Anchor, place: usize) -> impl Iterator<Item = &'a str> {
        let forms = self.exact.iter().chain([&self.folded]).chain(&self.spelled);
        forms.filter_map(move |form| form.from(anchor)?.get(place).copied())
    }
}

impl<'a> Spelling<'a> {
    pub(super) fn names(&self) -> &[&'a str] {
        self.names.as_slice()
    }
    /// The names from where a pattern counts; nothing if the path does not lie there.
    pub(super) fn from(&self, anchor: Anchor) -> Option<&[&'a str]> {
        match anchor {
            Anchor::Workspace => self.workspace.map(|outer| &self.names()[outer.min(self.names().len())..]),
            Anchor::Machine => self.whole.then(|| self.names()),
            Anchor::Floating => Some(self.names()),
        }
    }
}

/// The names of a path.
#[derive(Debug)]
struct PathNames<'a> {
    few: [&'a str; FEW],
    count: usize,
    /// All of them, if there are too many.
    many: Vec<&'a str>,
}

impl<'a> PathNames<'a> {
    fn split(path: &'a str) -> Self {
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

/// Folds what some volume does not tell apart, and characters that are not visible.
pub(super) fn folded(path: Cow<'_, str>) -> Cow<'_, str> {
    let bytes = path.as_bytes();
    let tailed = bytes.ends_with(b".") || bytes.windows(2).any(|pair| pair == b"./");
    if tailed || !bytes.iter().all(u8::is_ascii_graphic) {
        return Cow::Owned(path.split('/').map(folded_name).collect::<Vec<_>>().join("/"));
    }
    if bytes.iter().any(u8::is_ascii_uppercase) { Cow::Owned(path.to_ascii_lowercase()) } else { path }
}

/// Folds one name; one of dots and blanks alone stays.
pub(super) fn folded_name(name: &str) -> String {
    let visible: String = name.chars().filter(|ch| *ch == ' ' || !display::is_hidden(*ch)).collect();
    match fold_name(&visible) {
        folded if folded.is_empty() => visible,
        folded => folded,
    }
}
