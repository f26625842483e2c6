//! Repositories that a staged run made: what Git runs or trusts is taken out of the upper layer before anything is applied.

use std::path::{Path, PathBuf};

use haft_sandbox::OverlayLayer;

use super::overlay::names;

/// More entries are not looked through; a set that large cannot be committed.
const MAX_ENTRIES: usize = 200_000;

/// A repository in an upper layer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct StagedRepository {
    /// Where it is now.
    pub(crate) staged: PathBuf,
    /// Where the command made it.
    pub(crate) path: PathBuf,
}

/// The Git folders that a run made, and folders that it made into bare repositories.
pub(crate) fn find_repositories(layers: &[OverlayLayer]) -> Vec<StagedRepository> {
    let mut search = RepositorySearch::default();
    for layer in layers {
        search.folder(&layer.upper, &layer.lower);
    }
    search.found
}

#[derive(Default)]
struct RepositorySearch {
    found: Vec<StagedRepository>,
    seen: usize,
}

impl RepositorySearch {
    fn folder(&mut self, upper: &Path, lower: &Path) {
        let has = |name: &str| upper.join(name).symlink_metadata().is_ok() || lower.join(name).symlink_metadata().is_ok();
        if has("HEAD") && ((has("objects") && has("refs")) || has("commondir")) {
            self.found.push(StagedRepository { staged: upper.to_owned(), path: lower.to_owned() });
            return;
        }
        // A folder that cannot be listed makes the whole set one that cannot be committed.
        for name in names(upper).unwrap_or_default() {
            self.seen += 1;
            let (staged, path) = (upper.join(&name), lower.join(&name));
            if self.seen > MAX_ENTRIES || !staged.symlink_metadata().is_ok_and(|found| found.is_dir()) {
                continue;
            }
            if name != ".git" {
                self.folder(&staged, &path);
            } else if path.symlink_metadata().is_err() {
                self.found.push(StagedRepository { staged, path });
            }
        }
    }
}
