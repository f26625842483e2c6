//! Definition of a configuration key: its path, the values it takes, and how layers are merged.
//!
//! Parsing, checks, output, variables, flags and the JSON Schema derive from the table of keys. A project's file can tighten and
//! never widen.

use crate::ConfigValue;

/// The kind of entries in a list; decides how they are checked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ListKind {
    /// Tool names, patterns with `*`, and `group:…`.
    Tools,
    /// Matchers of a hook: as [`Tools`](Self::Tools), and `effect:…`.
    Matchers,
    /// Names of profiles.
    Profiles,
    /// Rules that deny.
    RulesDeny,
    /// Rules that deny everything else of their kind.
    RulesOnly,
    /// Rules that need approval.
    RulesAsk,
    /// Rules that allow without approval.
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

/// The kind of value that a key takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValueKind {
    /// An access level.
    Access,
    /// One of these words, loosest first.
    Choice(&'static [&'static str]),
    /// `true` or `false`.
    Flag,
    /// A whole number within these bounds, both included.
    Count(u64, u64),
    /// A whole number within these bounds, both included, which may be negative.
    Signed(i64, i64),
    /// An amount of money, not negative, with at most six decimals.
    Money,
    /// An amount of bytes within these bounds, both included: a number with a unit, or bytes.
    Size(u64, u64),
    /// Any text.
    Text,
    /// The name of a profile.
    Profile,
    /// A list of texts.
    List(ListKind),
    /// A list of folders with their access.
    Roots,
}

/// How values of several layers are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum MergeRule {
    /// Plain value: the later layer wins.
    Replace,
    /// Authority: the user's layers replace each other, a project file can only tighten.
    Strictest,
    /// Authority: entries of all layers count together, because each one only denies.
    Union,
    /// Authority: the user's layers replace each other, the value of a project file must hold as well.
    Intersect,
    /// Authority: any value could widen, so a project file cannot set it.
    UserOnly,
    /// Authority: entries of all the user's layers count together; any could widen, so a project file cannot add one.
    UserUnion,
    /// Authority: it starts something. A project's value counts when the user trusts the folder, and for a name that the user has not.
    Trusted,
}

impl MergeRule {
    /// Whether a project file cannot set the key.
    pub fn is_user_only(self) -> bool {
        matches!(self, Self::UserOnly | Self::UserUnion)
    }
}

/// One key.
#[derive(Debug)]
#[non_exhaustive]
pub struct ConfigKey {
    /// Its path: `tools.deny`. `*` is a name that the user chooses, `[]` each table of an array.
    pub path: &'static str,
    /// The kind of value it takes.
    pub kind: ValueKind,
    /// The value without any file.
    pub default: ConfigValue,
    /// How values of several layers are merged.
    pub merge: MergeRule,
    /// One sentence for the user.
    pub doc: &'static str,
    /// Whether a model may set it: it neither decides what is allowed, nor where data goes, nor what is spent.
    pub model_may_set: bool,
}

impl ConfigKey {
    /// Whether it decides what is allowed.
    pub fn is_authority(&self) -> bool {
        self.merge != MergeRule::Replace
    }
    /// The variable that sets it; keys with chosen names have none.
    pub fn variable(&self) -> Option<String> {
        self.is_fixed().then(|| {
            // Of each key, in each start: copied as a whole.
            let mut name = ["HAFT_", self.path].concat();
            name.make_ascii_uppercase();
            if name.contains('.') { name.replace('.', "_") } else { name }
        })
    }
    /// Whether no part of its path is chosen or repeated.
    pub fn is_fixed(&self) -> bool {
        // Without a look at the parts: this is asked of each key several times in each start.
        !self.path.bytes().any(|byte| byte == b'*' || byte == b'[')
    }
    /// The parts of its path; `[]` is a part of its own.
    pub(crate) fn segments(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.path
            .split('.')
            .flat_map(|part| match part.strip_suffix(EACH) {
                Some(name) => [Some(name), Some(EACH)],
                None => [Some(part), None],
            })
            .flatten()
    }
}

/// The part of a path that matches a chosen name.
pub(crate) const ANY: &str = "*";
/// The part of a path that matches each table of an array.
pub(crate) const EACH: &str = "[]";
