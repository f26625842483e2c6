//! Why a line failed at a protected path, where its own words show that it did.
//!
//! A missing name such as `.git` is held by an empty folder while a line runs. It cannot be left free and looked at afterwards:
//! Git, an editor or a prompt of the person may run what is put there before the line has ended.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::FileSystem;

use crate::LocalFiles;

/// What programs say of a path that they may not change here.
const REFUSED: &[&str] = &["Read-only file system", "Device or resource busy", "EROFS", "EBUSY"];
/// What Git says when it is to clone into a folder in which names are held.
const NOT_EMPTY: &str = "already exists and is not an empty directory";
const NEW_REPOSITORY: &str = "'.git' is protected, and held while a command runs, because Git runs or trusts what is in it. \
                              A command does not make the workspace a repository: ask the person to run 'git init' or 'git clone' \
                              here; commits and branches work then. A repository in a new folder below can be made";

/// What a line may not change.
#[derive(Debug)]
pub(super) struct Held {
    files: Arc<LocalFiles>,
    paths: Vec<PathBuf>,
}

impl Held {
    pub(super) fn new(files: Arc<LocalFiles>, paths: Vec<PathBuf>) -> Self {
        Self { files, paths }
    }

    /// What there is to say of the path that a line failed at, given what it said.
    pub(super) fn why(&self, said: &[u8]) -> Option<String> {
        let said = String::from_utf8_lossy(said);
        let refused = |line: &&str| REFUSED.iter().any(|words| line.contains(words));
        let path = said.lines().filter(refused).find_map(|line| self.named_in(line));
        let git = self.files.root().join(".git");
        let makes_git = said.lines().any(|line| self.is_clone_to_the_top(line)) && self.paths.contains(&git);
        match path {
            Some(path) if *path == git => Some(NEW_REPOSITORY.into()),
            Some(path) => self.files.locate(path).ok()?.no_write().map(|why| why.trim_end_matches('.').to_owned()),
            None => makes_git.then(|| NEW_REPOSITORY.into()),
        }
    }

    /// The protected path that a line of the output names best, or names a folder above of.
    fn named_in(&self, line: &str) -> Option<&PathBuf> {
        let named = |path: &Path| self.beneath(path).and_then(|beneath| longest_name(line, beneath));
        let best = self.paths.iter().filter_map(|path| Some((named(path)?, path))).max_by_key(|(length, _)| *length);
        let above = || self.paths.iter().find(|path| self.beneath(path).is_some_and(|beneath| names_above(line, beneath)));
        best.map(|(_, path)| path).or_else(above)
    }

    fn beneath<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(self.files.root()).ok().filter(|beneath| !beneath.as_os_str().is_empty())
    }

    fn is_clone_to_the_top(&self, line: &str) -> bool {
        let top = self.files.root().to_string_lossy();
        line.contains(NOT_EMPTY) && [".", "./", &*top].iter().any(|folder| line.contains(&format!("'{folder}'")))
    }
}

/// How much of a path a line names: all of it, or what a program in a folder below calls it, from its last hidden folder on.
fn longest_name(line: &str, beneath: &Path) -> Option<usize> {
    let is_hidden = |path: &&Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let hidden = beneath.ancestors().find(is_hidden).and_then(Path::parent).and_then(|above| beneath.strip_prefix(above).ok());
    let names = [Some(beneath), hidden].into_iter().flatten().map(Path::to_string_lossy);
    names.filter(|name| line.contains(&**name)).map(|name| name.len()).max()
}

/// Whether a folder above is named: it can be neither moved nor removed. In quotes, because its name may be any word.
fn names_above(line: &str, beneath: &Path) -> bool {
    let mut above = beneath.ancestors().skip(1).filter(|above| !above.as_os_str().is_empty());
    above.any(|above| line.contains(&format!("'{}'", above.display())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WorkspaceOptions;

    #[test]
    fn a_line_that_failed_at_a_protected_path_is_told_why() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(&root)).unwrap());
        let paths = [".envrc", ".git", "a/b/.git/hooks", "a/b/.git/config"].map(|name| root.join(name));
        let held = Held::new(files, paths.to_vec());
        let protected = |name: &str, why: &str| {
            let path = root.join(name);
            format!("'{}' may not be written: it is protected, because {why}. Ask the person to make this change", path.display())
        };
        let git = "Git runs or trusts what is in it";
        for (said, why) in [
            ("fatal: cannot copy 'x' to '/w/.git/description': Read-only file system\n", Some(NEW_REPOSITORY.to_owned())),
            ("hint: x\nfatal: destination path '.' already exists and is not an empty directory.\n", Some(NEW_REPOSITORY.to_owned())),
            ("fatal: destination path 'x' already exists and is not an empty directory.\n", None),
            ("error: could not lock config file a/b/.git/config: Read-only file system", Some(protected("a/b/.git/config", git))),
            ("error: could not lock config file .git/config: Read-only file system", Some(protected("a/b/.git/config", git))),
            ("mv: cannot move 'a' to 'x': Device or resource busy", Some(protected("a/b/.git/hooks", git))),
            ("Error: EROFS: open '.envrc'", Some(protected(".envrc", "tools run or trust it as soon as someone works in the folder"))),
            ("touch: cannot touch '/usr/x': Read-only file system\n.git is there", None),
            ("all of .git is well", None),
            ("", None),
        ] {
            assert_eq!(held.why(said.as_bytes()), why, "{said}");
        }
    }
}
