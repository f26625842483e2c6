//! When two names mean the same file on some volume.
//!
//! A rule that protects `.git` must also hold for `.GIT` where case does not count, for `.g<U+200C>it` where the
//! volume ignores that character, and for `.git.` or `git~1` where a Windows volume is mounted. Names are folded to one form
//! before they are compared.

use std::ffi::OsStr;
use std::path::{Component, Path};

use haft_pattern::{Glob, NameGlob, fold_name};

/// How much of a name its 8.3 form keeps.
const SHORT_STEM: usize = 6;

/// A name in the form in which it is compared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Name {
    folded: String,
    /// Whether it could be another name for a file; hardly any is, and the question is asked for every rule.
    is_odd: bool,
}

impl Name {
    /// Folds a name.
    pub(super) fn fold(name: &OsStr) -> Self {
        let folded = fold_name(&name.to_string_lossy());
        Self { is_odd: folded.contains([':', '~']), folded }
    }
    /// The folded name.
    pub(super) fn as_str(&self) -> &str {
        &self.folded
    }
    /// Whether it is the wanted one, under its own name or one that some volume gives it.
    pub(super) fn is(&self, wanted: &str) -> bool {
        self.folded == wanted || (self.is_odd && (is_stream_of(wanted, &self.folded) || is_short_form_of(wanted, &self.folded)))
    }
}

/// The names of a path, and how many of them belong to the root.
#[derive(Debug)]
pub(super) struct Names {
    all: Vec<Name>,
    root: usize,
    /// A bit for each name; all of them if one of the names could stand for another.
    bits: u64,
}

impl Names {
    /// The names of `beneath`, which lies in `root`.
    pub(super) fn fold(root: &Path, beneath: &Path) -> Self {
        let mut all = fold_all(root);
        let root = all.len();
        all.extend(fold_all(beneath));
        let bits = all.iter().fold(0, |bits, name| bits | if name.is_odd { u64::MAX } else { bit(&name.folded) });
        Self { all, root, bits }
    }
    /// All names, from the top of the machine.
    pub(super) fn whole(&self) -> &[Name] {
        &self.all
    }
    /// The names beneath the root: where the root itself lies was the user's choice.
    pub(super) fn beneath(&self) -> &[Name] {
        &self.all[self.root..]
    }
}

/// One of 64 bits for a name.
fn bit(folded: &str) -> u64 {
    let sum = folded.bytes().fold(folded.len(), |sum, byte| sum.wrapping_mul(31).wrapping_add(usize::from(byte)));
    1 << (sum % 64)
}

/// A glob for paths to protect. Every path is compared with a hundred of them, so nearly all are ruled out by one bit: a path that one
/// covers has the glob's last name among its own.
#[derive(Debug, Clone)]
pub(super) struct ProtectedGlob {
    glob: Glob,
    last: u64,
}

impl ProtectedGlob {
    /// A glob that was parsed for this.
    pub(super) fn new(glob: Glob) -> Self {
        let last = glob.last_name().and_then(NameGlob::as_literal).map_or(u64::MAX, bit);
        Self { glob, last }
    }
    /// The glob itself.
    pub(super) fn glob(&self) -> &Glob {
        &self.glob
    }
    /// Whether it names the path or a folder above it.
    pub(super) fn covers(&self, names: &Names) -> bool {
        if self.last & names.bits == 0 && !names.all.is_empty() {
            return false;
        }
        let names = if self.glob.is_absolute() { names.whole() } else { names.beneath() };
        let fits = |glob: &NameGlob, name: &Name| glob.as_literal().map_or_else(|| glob.matches(name.as_str()), |literal| name.is(literal));
        self.glob.matches_by(names, fits)
    }
}

/// The names of a path; `.` and `/` are none.
pub(super) fn fold_all(path: &Path) -> Vec<Name> {
    let named = path.components().filter(|part| !matches!(part, Component::RootDir | Component::CurDir));
    named.map(|part| Name::fold(part.as_os_str())).collect()
}

/// `.git::$INDEX_ALLOCATION` is `.git`.
fn is_stream_of(wanted: &str, folded: &str) -> bool {
    folded.split_once(':').is_some_and(|(file, _)| without_tail(file) == wanted)
}

/// `git~1` is `.git`, `gitmod~1` is `.gitmodules`.
fn is_short_form_of(wanted: &str, folded: &str) -> bool {
    let Some((stem, number)) = folded.split_once('~') else { return false };
    let kept: String = wanted.chars().filter(|ch| *ch != '.').take(SHORT_STEM).collect();
    stem == kept && number.starts_with(|digit: char| digit.is_ascii_digit())
}

/// Windows drops dots and spaces at the end of a name.
fn without_tail(name: &str) -> &str {
    name.trim_end_matches(['.', ' '])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a17_streams_and_short_names_are_the_file_they_stand_for() {
        for (wanted, name, same) in [
            (".git", ".git", true),
            (".git", ".git::$index_allocation", true),
            (".git", ".git.:x", true),
            (".git", "git~1", true),
            (".git", "git~12", true),
            (".gitmodules", "gitmod~1", true),
            (".haft", "haft~2", true),
            (".git", "git~", false),
            (".git", "git~x", false),
            (".git", "gitx~1", false),
            (".git", ".gitignore", false),
            (".git", "git", false),
        ] {
            assert_eq!(Name::fold(OsStr::new(name)).is(wanted), same, "{name} for {wanted}");
        }
    }

    #[test]
    fn glob_covers_the_same_with_and_without_the_first_look() {
        let globs = [".git", "/etc/cron*", "*.pem", ".config/git", "**", "**/a/**", "a/**/b", ".env.*.local", "/etc", ".S\u{17f}h", "x."];
        let paths = ["", "a", "a/b", "a/x/b", ".git", ".GIT/x", "git~1", ".git::x", "x", "etc/cron.d", "k.pem", ".ssh", "b/.config/Git/c"];
        let mut covered = 0;
        for glob in globs {
            let quick = ProtectedGlob::new(Glob::parse_protected(glob).unwrap());
            let slow = ProtectedGlob { last: u64::MAX, ..quick.clone() };
            for (root, path) in ["/", "/etc", "/home/me"].iter().flat_map(|root| paths.map(|path| (root, path))) {
                let names = Names::fold(Path::new(root), Path::new(path));
                assert_eq!(quick.covers(&names), slow.covers(&names), "{glob} {root} {path}");
                covered += usize::from(quick.covers(&names));
            }
        }
        assert!(covered > 50, "{covered}");
    }

    #[test]
    fn the_root_counts_only_whole() {
        let names = Names::fold(Path::new("/Home/.claude/Work"), Path::new("./a/../B"));
        let texts = |names: &[Name]| names.iter().map(|name| name.as_str().to_owned()).collect::<Vec<_>>();
        assert_eq!(texts(names.whole()), ["home", ".claude", "work", "a", "", "b"]);
        assert_eq!(texts(names.beneath()), ["a", "", "b"]);
    }
}
