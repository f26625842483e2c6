//! What a key is: where it stands, what it takes, how the layers meet.

use crate::Value;

/// What a list holds; decides how its entries are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListOf {
    /// Tool names, patterns with `*`, and `group:…`.
    Tools,
    /// What a hook runs for: as [`Tools`](Self::Tools), and `effect:…`.
    Matchers,
    /// Names of profiles.
    Profiles,
    /// Rules on what never happens.
    RulesDeny,
    /// Rules on what needs a person's word.
    RulesAsk,
    /// Rules on what needs nobody's word.
    RulesAllow,
    /// Hosts, addresses and networks.
    Hosts,
    /// Path globs.
    Globs,
    /// Folders that tools may use.
    Folders,
    /// Anything else.
    Text,
}

/// What a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Kind {
    /// An access level.
    Access,
    /// One of these words, loosest first.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A whole number within these bounds, both included.
    Count(u64, u64),
    /// A whole number within these bounds, both included, which may be below zero.
    Signed(i64, i64),
    /// An amount of money, not below zero, with at most six decimals.
    Money,
    /// An amount of bytes within these bounds, both included: a number with a unit, or bytes.
    Size(u64, u64),
    /// Any text.
    Text,
    /// The name of a profile.
    Profile,
    /// A list of texts.
    List(ListOf),
    /// A list of folders with their access.
    Roots,
}

/// How the layers meet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Merge {
    /// Plain value: the later layer wins.
    Replace,
    /// Authority: the person's layers replace each other, a project file can only tighten.
    Strictest,
    /// Authority: entries of all layers count together, because each one only takes away.
    Union,
    /// Authority: the person's layers replace each other, what a project file says must hold as well.
    Intersect,
    /// Authority: any value could widen, so a project file has no say.
    PersonOnly,
    /// Authority: entries of all the person's layers count together; any could widen, so a project file has no say.
    PersonUnion,
}

impl Merge {
    /// Whether a project file has no say.
    pub fn is_persons(self) -> bool {
        matches!(self, Self::PersonOnly | Self::PersonUnion)
    }
}

/// Whether this version acts on a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// It does.
    Now,
    /// It knows the name only. Authority that is not enforced is an error, anything else a warning.
    Later,
}

/// One key.
#[derive(Debug)]
#[non_exhaustive]
pub struct Key {
    /// Where it stands: `tools.deny`. `*` is a name that people choose, `[]` each table of an array.
    pub path: &'static str,
    /// What it takes.
    pub kind: Kind,
    /// What holds without any file.
    pub default: Value,
    /// How the layers meet.
    pub merge: Merge,
    /// Whether this version acts on it.
    pub status: Status,
    /// What it is, in one sentence.
    pub doc: &'static str,
}

impl Key {
    /// Whether it decides what may be done.
    pub fn is_authority(&self) -> bool {
        self.merge != Merge::Replace
    }
    /// The variable that sets it; keys with chosen names have none.
    pub fn variable(&self) -> Option<String> {
        self.is_fixed().then(|| format!("HAFT_{}", self.path.replace('.', "_").to_ascii_uppercase()))
    }
    /// Whether it stands in one place alone: no part of its path is chosen or repeated.
    pub fn is_fixed(&self) -> bool {
        self.segments().all(|segment| segment != ANY && segment != EACH)
    }
    /// The parts of its path; `[]` is a part of its own.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &'static str> {
        self.path
            .split('.')
            .flat_map(|part| match part.strip_suffix(EACH) {
                Some(name) => [Some(name), Some(EACH)],
                None => [Some(part), None],
            })
            .flatten()
    }
}

/// The part of a path that stands for a name people choose.
pub(crate) const ANY: &str = "*";
/// The part of a path that stands for each table of an array.
pub(crate) const EACH: &str = "[]";
