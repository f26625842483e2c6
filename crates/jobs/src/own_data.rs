//! The data folder of this program where it lies in a writable root, as in a workspace that is the home folder.

use std::fs;
use std::path::{Path, PathBuf};

/// The folder with the private folders of commands in a data folder, and what is there besides: the layers of running commands.
const VIEWS: &str = "sandbox";
const LAYERS: &str = "git";

/// The data folder. No command sees it, but commands write some of its folders, which they see elsewhere: their home and `/tmp`.
#[derive(Debug, Clone)]
pub(crate) struct OwnData(PathBuf);

impl OwnData {
    pub(crate) fn new(folder: &Path) -> Self {
        Self(folder.canonicalize().unwrap_or_else(|_| folder.to_owned()))
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.0
    }

    /// Whether a path lies in it. A root that lies in it is a root like any other.
    pub(crate) fn holds(&self, path: &Path, roots: &[PathBuf]) -> bool {
        let is_in_root = |root: &PathBuf| root.starts_with(&self.0) && path.starts_with(root);
        path.starts_with(&self.0) && !roots.iter().any(is_in_root)
    }

    /// The private folders of each workspace, which commands write.
    pub(crate) fn written_by_commands(&self) -> impl Iterator<Item = PathBuf> {
        let entries = fs::read_dir(self.0.join(VIEWS)).into_iter().flatten().flatten();
        entries.filter(|entry| entry.file_name() != LAYERS).map(|entry| entry.path())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_in_a_data_folder_is_no_data() {
        let data = OwnData::new(Path::new("/nowhere/data"));
        let [home, inside] = ["/nowhere", "/nowhere/data/work"].map(PathBuf::from);
        for (path, roots, expected) in [
            ("/nowhere/data/x", vec![home.clone()], true),
            ("/nowhere/data", vec![home.clone()], true),
            ("/nowhere/database", vec![home.clone()], false),
            ("/nowhere/data/work/x", vec![home.clone()], true),
            ("/nowhere/data/work/x", vec![inside.clone()], false),
            ("/nowhere/data/work/x", vec![home, inside.clone()], false),
            ("/nowhere/data/other/x", vec![inside], true),
        ] {
            assert_eq!(data.holds(Path::new(path), &roots), expected, "{path} {roots:?}");
        }
    }
}
