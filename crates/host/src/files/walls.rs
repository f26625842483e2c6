//! What a sandbox has to know of a session's files: the same rules that tools obey, as paths.

use std::path::{Path, PathBuf};

use haft_contract::Zone;

use super::walk::denied::Denied;
use super::{LocalFiles, protected};

/// Entries that are looked through for secrets; beyond that only the usual places are covered.
const MOST_ENTRIES: usize = 50_000;
/// Folders that programs fill by themselves: large, and without secrets of the person.
const FILLED: &[&str] = &[".git", "node_modules", "target", ".venv", "__pycache__"];
/// Inside `.git`: what Git runs or trusts. The rest is what its own commands write.
const OF_GIT: &[&str] = &["hooks", "config", "config.worktree", "info", "modules"];
/// Protected even where they are missing: programs act on these as soon as they appear.
const EVEN_MISSING: &[&str] = &[".git", ".haft", ".envrc", ".mcp.json"];

/// The session's files, for a sandbox.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Walls {
    pub(crate) writable: Vec<PathBuf>,
    pub(crate) read_only: Vec<PathBuf>,
    pub(crate) protected: Vec<PathBuf>,
    pub(crate) masked: Vec<PathBuf>,
    /// Whether there was too much to look through all of it.
    pub(crate) is_partial: bool,
}

impl LocalFiles {
    /// The folders in which files may be written.
    pub(crate) fn writable(&self) -> Vec<PathBuf> {
        self.roots.writable().map(|root| root.path().to_owned()).collect()
    }

    /// Looks through the workspace: what is there now.
    pub(crate) fn walls(&self) -> Walls {
        let mut walls = Walls::default();
        for root in self.roots.all() {
            let path = root.path();
            match root.zone() {
                Zone::Workspace => {
                    walls.writable.push(path.to_owned());
                    walls.protected.extend(protected_in(path));
                    walls.is_partial |= !self.find_masked(path, &mut walls.masked);
                }
                Zone::ReadOnlyRoot => walls.read_only.push(path.to_owned()),
                Zone::Outside => {}
            }
        }
        // The folder of Git itself is protected in parts; what bears another name is protected whole.
        let beneath =
            |path: &PathBuf| walls.writable.iter().any(|root| path.starts_with(root) && path != root && *path != root.join(".git"));
        walls.protected.extend(self.rules.own_paths().filter(beneath));
        walls
    }

    /// Whether all of it was looked through.
    fn find_masked(&self, root: &Path, masked: &mut Vec<PathBuf>) -> bool {
        let denied = Denied::new(std::sync::Arc::clone(&self.rules), root);
        let (mut folders, mut seen) = (vec![root.to_owned()], 0);
        while let Some(folder) = folders.pop() {
            // What cannot be listed cannot be read by the command either: it has no more rights than we have.
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                seen += 1;
                if seen > MOST_ENTRIES {
                    return false;
                }
                let (path, name) = (entry.path(), entry.file_name());
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if denied.covers(&path, &name) {
                    masked.push(path);
                } else if is_folder && !FILLED.iter().any(|filled| name == *filled) {
                    folders.push(path);
                }
            }
        }
        true
    }
}

fn protected_in(root: &Path) -> Vec<PathBuf> {
    let there = |path: &PathBuf| path.symlink_metadata().is_ok();
    let mut paths: Vec<PathBuf> = protected::names().map(|name| root.join(name)).filter(there).collect();
    paths.extend(EVEN_MISSING.iter().map(|name| root.join(name)));
    let git = root.join(".git");
    if git.symlink_metadata().is_ok_and(|metadata| metadata.is_dir()) {
        paths.retain(|path| *path != git);
        let inside = OF_GIT.iter().map(|name| git.join(name));
        paths.extend(inside.filter(|path| there(path) || path.ends_with("hooks") || path.ends_with("config")));
    }
    paths.sort_unstable();
    paths.dedup();
    paths
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::WorkspaceOptions;

    #[test]
    fn the_rules_of_the_tools_are_those_of_the_sandbox() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap().join("w");
        for directory in [".git/objects", ".git/info", "a/b", "node_modules/x", ".idea"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        for file in [".git/config", "a/b/.env", "a/server.pem", "node_modules/x/.env", "src.rs", ".bashrc"] {
            fs::write(root.join(file), "x").unwrap();
        }
        let state = root.join("state");
        let options = WorkspaceOptions { protected: vec![state], ..WorkspaceOptions::new(&root) };
        let mut walls = LocalFiles::open(options).unwrap().walls();
        walls.masked.sort_unstable();
        let paths = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
        let expected = Walls {
            writable: vec![root.clone()],
            read_only: Vec::new(),
            protected: paths(&[".bashrc", ".envrc", ".git/config", ".git/hooks", ".git/info", ".haft", ".idea", ".mcp.json", "state"]),
            masked: paths(&["a/b/.env", "a/server.pem"]),
            is_partial: false,
        };
        assert_eq!(walls, expected);
    }

    #[test]
    fn without_git_its_name_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(protected_in(&root), [".envrc", ".git", ".haft", ".mcp.json"].map(|name| root.join(name)));
    }
}
