//! The session's file rules as the paths that a sandbox mounts, protects and masks.

use std::fs::Metadata;
use std::path::{Path, PathBuf};

use haft_contract::Zone;
use haft_text::display;

use super::walk::denied::Denied;
use super::{LocalFiles, protected};

/// Entries that are searched for secrets; beyond that only the usual locations are covered.
const MOST_ENTRIES: usize = 50_000;
/// Generated folders: large, and without the user's secrets.
const FILLED: &[&str] = &[".git", "node_modules", "target", ".venv", "__pycache__"];
/// Inside `.git`: what Git runs or trusts. The rest is what its own commands write.
const OF_GIT: &[&str] = &["hooks", "config", "config.worktree", "info", "modules"];
/// Repositories below the top whose parts are protected; each is a handful of mounts, which every command pays for.
const MOST_REPOSITORIES: usize = 64;
/// Protected even where they are missing: programs act on these as soon as they appear.
const EVEN_MISSING: &[&str] = &[".git", ".haft", ".envrc", ".mcp.json"];

/// The paths of a session, by what a sandbox does with them.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct SandboxPaths {
    /// Roots that commands may write.
    pub writable: Vec<PathBuf>,
    /// Roots that commands may only read.
    pub read_only: Vec<PathBuf>,
    /// Paths inside writable roots that commands may not change, also where they do not exist.
    pub protected: Vec<PathBuf>,
    /// Secrets that commands may not read.
    pub masked: Vec<PathBuf>,
    /// Paths that could not be covered, as sentences for the user; empty if all are.
    pub uncovered: Vec<String>,
}

impl LocalFiles {
    /// The roots in which files may be written.
    pub fn writable(&self) -> Vec<PathBuf> {
        self.roots.writable().map(|root| root.path().to_owned()).collect()
    }

    /// Searches the workspace for secrets and repositories. `is_placeholder` recognises the directory that a sandbox leaves for a
    /// protected name that does not exist.
    pub fn sandbox_paths(&self, is_placeholder: fn(&Metadata) -> bool) -> SandboxPaths {
        let mut paths = SandboxPaths::default();
        for root in self.roots.all() {
            let path = root.path();
            match root.zone() {
                Zone::Workspace => {
                    paths.writable.push(path.to_owned());
                    paths.protected.extend(protected_in(path, is_placeholder));
                    self.look_through(path, &mut paths);
                }
                Zone::ReadOnlyRoot => paths.read_only.push(path.to_owned()),
                Zone::Outside => {}
            }
        }
        // The folder of Git itself is protected in parts; what bears another name is protected whole.
        let beneath =
            |path: &PathBuf| paths.writable.iter().any(|root| path.starts_with(root) && path != root && *path != root.join(".git"));
        paths.protected.extend(self.rules.own_paths().filter(beneath));
        paths
    }

    /// Finds secrets and the repositories below the top.
    fn look_through(&self, root: &Path, paths: &mut SandboxPaths) {
        let denied = Denied::new(std::sync::Arc::clone(&self.rules), root);
        let (mut folders, mut seen, mut repositories) = (vec![root.to_owned()], 0, Repositories::default());
        while let Some(folder) = folders.pop() {
            // What cannot be listed cannot be read by the command either: it has no more rights than we have.
            for entry in std::fs::read_dir(&folder).into_iter().flatten().flatten() {
                seen += 1;
                if seen > MOST_ENTRIES {
                    let root = display::escape_line(&root.to_string_lossy()).into_owned();
                    paths.uncovered.push(format!(
                        "'{root}' has more than {MOST_ENTRIES} files, and secrets and repositories beyond were not looked for"
                    ));
                    return repositories.add_to(paths);
                }
                let (path, name) = (entry.path(), entry.file_name());
                let is_folder = entry.file_type().is_ok_and(|kind| kind.is_dir());
                if denied.covers(&path, &name) {
                    paths.masked.push(path);
                } else if name == ".git" && folder != root {
                    repositories.add(&path);
                } else if is_folder && !FILLED.iter().any(|filled| name == *filled) {
                    folders.push(path);
                }
            }
        }
        repositories.add_to(paths);
    }
}

/// The repositories below the top of a workspace.
#[derive(Debug, Default)]
struct Repositories {
    found: usize,
    protected: Vec<PathBuf>,
    /// Those that cannot be reserved: what is a link could be replaced by anything.
    linked: Vec<PathBuf>,
}

impl Repositories {
    fn add(&mut self, git: &Path) {
        self.found += 1;
        if self.found > MOST_REPOSITORIES {
            return;
        }
        let is_link = |path: &Path| path.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
        let parts = if git.is_dir() { parts_of(git) } else { vec![git.to_owned()] };
        if is_link(git) || parts.iter().any(|part| is_link(part)) {
            self.linked.push(git.to_owned());
        } else {
            self.protected.extend(parts);
        }
    }

    fn add_to(mut self, paths: &mut SandboxPaths) {
        self.protected.sort_unstable();
        paths.protected.append(&mut self.protected);
        if self.found > MOST_REPOSITORIES {
            paths.uncovered.push(format!(
                "there are more than {MOST_REPOSITORIES} repositories below the top, and the hooks of the others can be changed"
            ));
        }
        if let Some(first) = self.linked.iter().min() {
            let (first, count) = (first.to_string_lossy(), self.linked.len());
            let first = display::escape_line(&first);
            paths
                .uncovered
                .push(format!("{count} repositories have links where their hooks or settings are ('{first}'), and those can be changed"));
        }
    }
}

/// What is protected in a folder of Git: hooks and settings even where they are missing.
fn parts_of(git: &Path) -> Vec<PathBuf> {
    let there = |path: &PathBuf| path.symlink_metadata().is_ok() || path.ends_with("hooks") || path.ends_with("config");
    OF_GIT.iter().map(|name| git.join(name)).filter(there).collect()
}

fn protected_in(root: &Path, is_placeholder: fn(&Metadata) -> bool) -> Vec<PathBuf> {
    let there = |path: &PathBuf| path.symlink_metadata().is_ok();
    let mut paths: Vec<PathBuf> = protected::names().map(|name| root.join(name)).filter(there).collect();
    paths.extend(EVEN_MISSING.iter().map(|name| root.join(name)));
    let git = root.join(".git");
    if git.symlink_metadata().is_ok_and(|metadata| metadata.is_dir() && !is_placeholder(&metadata)) {
        paths.retain(|path| *path != git);
        paths.extend(parts_of(&git));
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
        let mut found = LocalFiles::open(options).unwrap().sandbox_paths(|_| false);
        found.masked.sort_unstable();
        let paths = |names: &[&str]| names.iter().map(|name| root.join(name)).collect::<Vec<_>>();
        let expected = SandboxPaths {
            writable: vec![root.clone()],
            read_only: Vec::new(),
            protected: paths(&[".bashrc", ".envrc", ".git/config", ".git/hooks", ".git/info", ".haft", ".idea", ".mcp.json", "state"]),
            masked: paths(&["a/b/.env", "a/server.pem"]),
            uncovered: Vec::new(),
        };
        assert_eq!(found, expected);
    }

    #[test]
    fn repositories_below_are_protected_in_parts_and_what_is_not_covered_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for directory in ["a/.git/objects", "a/.git/info", "b/c/.git/modules", "node_modules/x/.git", "linked/.git"] {
            fs::create_dir_all(root.join(directory)).unwrap();
        }
        fs::create_dir_all(root.join("tree")).unwrap();
        fs::write(root.join("tree/.git"), "gitdir: ../a/.git/worktrees/tree").unwrap();
        std::os::unix::fs::symlink("/etc", root.join("linked/.git/hooks")).unwrap();
        let paths = LocalFiles::open(WorkspaceOptions::new(&root)).unwrap().sandbox_paths(|_| false);
        let names = [
            ".envrc",
            ".git",
            ".haft",
            ".mcp.json",
            "a/.git/config",
            "a/.git/hooks",
            "a/.git/info",
            "b/c/.git/config",
            "b/c/.git/hooks",
            "b/c/.git/modules",
            "tree/.git",
        ];
        assert_eq!(paths.protected, names.map(|name| root.join(name)));
        let linked = root.join("linked/.git");
        let said =
            format!("1 repositories have links where their hooks or settings are ('{}'), and those can be changed", linked.display());
        assert_eq!(paths.uncovered, [said]);
    }

    #[test]
    fn more_repositories_than_are_protected_are_said_to_be_more() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for number in 0..=MOST_REPOSITORIES {
            fs::create_dir_all(root.join(format!("{number}/.git"))).unwrap();
        }
        let paths = LocalFiles::open(WorkspaceOptions::new(&root)).unwrap().sandbox_paths(|_| false);
        assert_eq!(paths.protected.len(), EVEN_MISSING.len() + 2 * MOST_REPOSITORIES);
        assert_eq!(paths.uncovered.len(), 1, "{:?}", paths.uncovered);
    }

    #[test]
    fn without_git_its_name_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        assert_eq!(protected_in(&root, |_| false), [".envrc", ".git", ".haft", ".mcp.json"].map(|name| root.join(name)));
    }
}
