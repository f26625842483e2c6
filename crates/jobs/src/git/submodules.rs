//! Lists of submodules: `.gitmodules` says where Git fetches from, and is part of what is checked out.

use std::path::Path;

use super::config::{Scope, parse};
use super::tree::Tree;

const MAX_BYTES: u64 = 1 << 18;

/// Whether a list names nothing but places to fetch from. `private` is Haft's data, from which nothing is fetched.
pub(crate) fn is_harmless_list(path: &Path, private: &Path) -> bool {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else { return false };
    let Ok(bytes) = Tree::open(folder).and_then(|tree| tree.read(Path::new(name), MAX_BYTES)) else { return false };
    let git_dir = folder.join(".git");
    let scope = Scope { is_new: false, work_tree: None, git_dir: &git_dir, private };
    parse(&bytes).is_some_and(|list| list.entries.iter().all(|entry| scope.allows_submodule(&entry.key, entry.value.as_deref())))
}
