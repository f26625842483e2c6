//! What may not be read, told by its name as fast as a walk needs it.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_pattern::NameGlob;

use super::super::protected::{ProtectedRules, is_of_the_kernel};

/// The longest name that a file system has.
const LONGEST_NAME: usize = 255;
/// Those of ASCII.
const ASCII_CHARS: usize = 128;

/// The rules, ready to be asked of every name of a walk.
///
/// The caller has checked the folder before. So a pattern that covers the path ends with the name, and a glance at the
/// name tells nearly always that none does; what is left is checked as any path is.
pub(in crate::files) struct Denied {
    rules: Arc<ProtectedRules>,
    root: PathBuf,
    glances: Glances,
    /// Whether the kernel's folders lie beneath.
    from_the_top: bool,
}

impl Denied {
    pub(in crate::files) fn new(rules: Arc<ProtectedRules>, root: &Path) -> Self {
        let mut glances = Glances::default();
        rules.last_names().for_each(|name| glances.add(name));
        Self { rules, root: root.to_owned(), glances, from_the_top: root == Path::new("/") }
    }

    /// Whether a path may not be read, if its folder may.
    pub(in crate::files) fn covers(&self, path: &Path, name: &OsStr) -> bool {
        (self.glances.could_cover(name.as_bytes()) && self.check(path)) || (self.from_the_top && is_of_the_kernel(path))
    }

    fn check(&self, path: &Path) -> bool {
        self.rules.deny_reading(&self.root, path.strip_prefix(&self.root).unwrap_or(path))
    }
}

/// The last names of all patterns, by the letter that tells most of them apart.
struct Glances {
    /// By the first letter.
    by_first: [Vec<Glance>; ASCII_CHARS],
    /// By the last, for those that may begin with anything.
    by_last: [Vec<Glance>; ASCII_CHARS],
    /// Whether some pattern cannot be told by a letter.
    any: bool,
}

/// The last name of a pattern, in lower case.
struct Glance {
    before: Box<[u8]>,
    after: Box<[u8]>,
    /// Whether anything may stand between the two.
    open: bool,
}

impl Default for Glances {
    fn default() -> Self {
        let empty = || std::array::from_fn(|_| Vec::new());
        Self { by_first: empty(), by_last: empty(), any: false }
    }
}

impl Glances {
    /// A pattern without a name covers everything.
    fn add(&mut self, last_name: Option<&NameGlob>) {
        let Some(glance) = last_name.map(Glance::new) else { return self.any = true };
        let alike = match (glance.before.first(), glance.after.last()) {
            (Some(first), _) => self.by_first.get_mut(usize::from(*first)),
            (None, Some(last)) => self.by_last.get_mut(usize::from(*last)),
            (None, None) => return self.any = true,
        };
        // What is no ASCII covers no name that is, and other names are not told by a glance.
        if let Some(alike) = alike {
            alike.push(glance);
        }
    }

    fn could_cover(&self, name: &[u8]) -> bool {
        let mut folded = [0; LONGEST_NAME];
        let Some(folded) = folded.get_mut(..name.len()).filter(|_| !self.any) else { return true };
        for (to, from) in folded.iter_mut().zip(name) {
            // Another spelling of some name, perhaps: too rare to be fast about.
            if !from.is_ascii() || matches!(from, b':' | b'~') {
                return true;
            }
            *to = from.to_ascii_lowercase();
        }
        let (Some(first), Some(last)) = (folded.first(), folded.last()) else { return true };
        let mut alike = self.by_first[usize::from(*first)].iter().chain(&self.by_last[usize::from(*last)]);
        matches!(last, b'.' | b' ') || alike.any(|glance| glance.could_be(folded))
    }
}

impl Glance {
    fn new(name: &NameGlob) -> Self {
        let bytes = |text: String| text.into_bytes().into_boxed_slice();
        match name.as_literal() {
            Some(literal) => Self { before: bytes(literal.to_owned()), after: Box::default(), open: false },
            None => Self { before: bytes(name.literal_start()), after: bytes(name.literal_end()), open: true },
        }
    }

    fn could_be(&self, name: &[u8]) -> bool {
        if !self.open {
            return *name == *self.before;
        }
        name.starts_with(&self.before) && name.ends_with(&self.after)
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    use proptest::prelude::*;

    use super::*;

    fn denied(patterns: &[&str]) -> Denied {
        let patterns: Vec<String> = patterns.iter().map(|pattern| (*pattern).to_owned()).collect();
        Denied::new(Arc::new(ProtectedRules::new(&patterns, &[], true).unwrap()), Path::new("/ws"))
    }

    fn covers(denied: &Denied, path: &str) -> bool {
        let path = Path::new(path);
        denied.covers(path, path.file_name().unwrap())
    }

    #[test]
    fn names_are_covered_as_paths_are() {
        let rules = denied(&["**/*.key", ".env", "id_?sa*", "a/b", "/ws/x/**", "GEHEIM.txt"]);
        for (path, expected) in [
            ("/ws/a.key", true),
            ("/ws/d/A.KEY", true),
            ("/ws/a.keys", false),
            ("/ws/.env", true),
            ("/ws/.env.", true),
            ("/ws/.env ", true),
            ("/ws/env~1", true),
            ("/ws/.env:stream", true),
            ("/ws/.e\u{200c}nv", true),
            ("/ws/.env2", false),
            ("/ws/id_rsa", true),
            ("/ws/id_DSA.bak", true),
            ("/ws/id_sa", false),
            ("/ws/b", false),
            ("/ws/a/b", true),
            ("/ws/x", true),
            ("/ws/d/x", false),
            ("/ws/geheim.TXT", true),
            ("/ws/proc", false),
        ] {
            assert_eq!(covers(&rules, path), expected, "{path}");
        }
        assert!(covers(&denied(&["**"]), "/ws/anything"));
        assert!(covers(&denied(&["*"]), "/ws/anything"));
        assert!(!covers(&denied(&[]), "/ws/.env"));
    }

    #[test]
    fn from_the_top_the_kernels_folders_are_covered() {
        let rules = Denied::new(Arc::new(ProtectedRules::new(&[], &[], true).unwrap()), Path::new("/"));
        for (path, expected) in [("/proc", true), ("/sys", true), ("/dev", true), ("/home", false), ("/home/proc", false)] {
            assert_eq!(covers(&rules, path), expected, "{path}");
        }
    }

    proptest! {
        /// The glance never passes over what the rules cover.
        #[test]
        fn a_glance_misses_nothing(
            patterns in proptest::collection::vec("[aB.*?]{1,4}(/[aB.*?]{1,3})?", 0..4),
            names in proptest::collection::vec(proptest::collection::vec(prop_oneof![Just(b'a'), Just(b'b'), Just(b'B'), Just(b'.'), Just(b'~'), Just(b' '), Just(0xff)], 1..5), 1..4),
        ) {
            let Ok(rules) = ProtectedRules::new(&patterns, &[], true) else { return Ok(()) };
            let rules = Denied::new(Arc::new(rules), Path::new("/ws"));
            let mut path = PathBuf::from("/ws");
            for name in names.into_iter().map(OsString::from_vec).filter(|name| name != "." && name != "..") {
                path.push(&name);
                let expected = rules.check(&path);
                prop_assert_eq!(rules.covers(&path, &name), expected, "{:?}", path);
                if expected {
                    break;
                }
            }
        }
    }
}
