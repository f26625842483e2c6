//! Patterns on names, paths and hosts. Pure: no I/O.
//!
//! # Globs
//!
//! | written | matches | where |
//! |---|---|---|
//! | `*` | any characters of one name, also none | everywhere |
//! | `?` | one character of a name | paths |
//! | `**` between slashes | any number of names, also none | paths |
//! | `[a-z]`, `[!a-z]` | one character in, or not in, the set | `glob_search` |
//! | `{rs,toml}` | one of the alternatives, which may contain slashes | `glob_search` |
//! | `\*` | the character itself | rules, `glob_search` |
//!
//! A [`NameGlob`] matches one name: of a tool, of a model, a word of a command, a part of a path. A [`Glob`] matches a path
//! name by name. Where a name is compared for protection, both sides are folded first ([`fold_name`]), so that no other
//! spelling of the same file escapes. Matching takes at most `pattern × text` steps.
//!
//! # Hosts
//!
//! A [`HostPattern`] is `example.org`, `*.example.org` (everything beneath it), an address (`10.1.2.3`, `::1`, `[::1]`), a
//! range (`10.1.0.0/16`) or `*`, each with or without a port (`localhost:3000`, `[::1]:80`).
#![warn(missing_docs)]

mod address;
mod domain;
mod fold;
mod glob;
mod host;
mod host_syntax;
mod name;

pub use address::AddressBlock;
pub use domain::registered_domain;
pub use fold::{fold_case, fold_name};
pub use glob::{Glob, GlobError, Segment, match_segments};
pub use host::{HOST_FORMS, HostName, HostPattern, HostPatternError};
pub use name::{CharClass, NameGlob, PatternChar, Token};
