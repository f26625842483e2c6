//! Fingerprints of the files that a session has seen.
//!
//! A write over other content is refused (`FileSystem::replace` compares and swaps), so changes of others are not lost, and a page
//! that was shown already is answered briefly.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// Beyond this many, all are forgotten: the next write needs another read.
const MAX_FILES: usize = 4096;

/// Fingerprints of the files that a session has seen.
#[derive(Debug, Default)]
pub struct SeenFiles(Mutex<HashMap<PathBuf, SeenFile>>);

#[derive(Debug, Default)]
struct SeenFile {
    fingerprint: String,
    /// The parts that the model was shown, each with the id of the call.
    parts: HashMap<String, String>,
}

impl SeenFiles {
    fn files(&self) -> MutexGuard<'_, HashMap<PathBuf, SeenFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Notes what a file is now, by its fingerprint: it was read or written.
    pub fn note(&self, path: &Path, fingerprint: &str) {
        let mut files = self.files();
        if files.len() >= MAX_FILES && !files.contains_key(path) {
            files.clear();
        }
        let seen = files.entry(path.to_owned()).or_default();
        if seen.fingerprint != fingerprint {
            *seen = SeenFile { fingerprint: fingerprint.to_owned(), parts: HashMap::new() };
        }
    }

    /// The files, by path.
    pub fn paths(&self) -> Vec<PathBuf> {
        let mut paths: Vec<PathBuf> = self.files().keys().cloned().collect();
        paths.sort();
        paths
    }

    /// What the file was when the session saw it last.
    pub fn fingerprint(&self, path: &Path) -> Option<String> {
        self.files().get(path).map(|seen| seen.fingerprint.clone())
    }

    /// Notes that the model was shown a part of a file that was noted before.
    pub fn show(&self, path: &Path, part: &str, call: &str) {
        if let Some(seen) = self.files().get_mut(path) {
            seen.parts.insert(part.to_owned(), call.to_owned());
        }
    }

    /// The call that showed this part of the file as it still is, if one did.
    pub fn find_call(&self, path: &Path, part: &str, fingerprint: &str) -> Option<String> {
        let files = self.files();
        files.get(path).filter(|seen| seen.fingerprint == fingerprint)?.parts.get(part).cloned()
    }

    /// Forgets a file that is no more.
    pub fn forget(&self, path: &Path) {
        self.files().remove(path);
    }

    /// Forgets what the model was shown, because the conversation no longer holds it; what the files were stays known.
    pub fn forget_parts(&self) {
        self.files().values_mut().for_each(|seen| seen.parts.clear());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_shown_counts_until_the_file_changes_or_the_conversation_forgets() {
        let (seen, path) = (SeenFiles::default(), Path::new("/w/a"));
        assert_eq!(seen.fingerprint(path), None);
        seen.show(path, "1-10", "never noted");
        seen.note(path, "abc");
        seen.show(path, "1-10", "call_1");
        assert_eq!(seen.find_call(path, "1-10", "abc").as_deref(), Some("call_1"));
        assert_eq!((seen.find_call(path, "11-20", "abc"), seen.find_call(path, "1-10", "other")), (None, None));
        seen.note(path, "abc");
        assert!(seen.find_call(path, "1-10", "abc").is_some(), "noted again, it is still the same");
        seen.forget_parts();
        assert_eq!((seen.find_call(path, "1-10", "abc"), seen.fingerprint(path).as_deref()), (None, Some("abc")));
        seen.show(path, "1-10", "call_2");
        seen.note(path, "def");
        assert_eq!((seen.find_call(path, "1-10", "def"), seen.fingerprint(path).as_deref()), (None, Some("def")));
        seen.forget(path);
        assert_eq!(seen.fingerprint(path), None);
    }

    #[test]
    fn memory_is_bounded() {
        let seen = SeenFiles::default();
        for number in 0..3 * MAX_FILES {
            seen.note(Path::new(&format!("/w/{number}")), "abc");
        }
        assert!(seen.files().len() <= MAX_FILES);
    }
}
