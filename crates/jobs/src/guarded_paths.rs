//! Paths that rules on changes name, for a run whose changes are not staged.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use haft_contract::{FileIdentity, ToolError};
use haft_host::{LocalFiles, SandboxPaths, ScanCache, WorkspaceOptions};
use haft_pattern::Glob;

use crate::options::GuardedPattern;
use crate::own_data::OwnData;

/// The guarded paths of a run.
#[derive(Debug)]
pub(crate) struct GuardedPaths {
    guards: Vec<PathGuard>,
    /// Those that were there: they are read-only for the command.
    existing: BTreeSet<PathBuf>,
    /// What they were when they were found, as far as that is known.
    identities: BTreeMap<PathBuf, FileIdentity>,
    /// Folders that something moved as long as they were searched.
    moving: Vec<PathBuf>,
    data: OwnData,
    roots: Vec<PathBuf>,
}

/// Patterns with the same exceptions.
#[derive(Debug)]
struct PathGuard {
    files: LocalFiles,
    free: FreePaths,
}

impl GuardedPaths {
    /// Finds what is guarded and there; nothing if no rule guards anything.
    pub(crate) fn find(files: &LocalFiles, patterns: &[GuardedPattern], data: &Path) -> Result<Option<Self>, ToolError> {
        if patterns.is_empty() {
            return Ok(None);
        }
        let plain: Vec<String> = patterns.iter().filter(|one| one.except.is_empty()).map(|one| one.pattern.clone()).collect();
        let mut guards = if plain.is_empty() { Vec::new() } else { vec![PathGuard::new(files, plain, &[])?] };
        for one in patterns.iter().filter(|one| !one.except.is_empty()) {
            guards.push(PathGuard::new(files, vec![one.pattern.clone()], &one.except)?);
        }
        let data = OwnData::new(data);
        let (identities, moving) = Default::default();
        let mut guarded = Self { guards, existing: BTreeSet::new(), identities, moving, data, roots: files.writable() };
        let searched: Vec<SandboxPaths> = guarded.guards.iter().map(PathGuard::search).collect();
        guarded.existing = guarded.matching(&searched);
        guarded.moving = searched.iter().flat_map(|paths| paths.moving.clone()).collect();
        guarded.identities = searched.into_iter().flat_map(|paths| paths.identities).collect();
        Ok(Some(guarded))
    }

    /// What was found, as it was then.
    pub(crate) fn identity(&self, path: &Path) -> Option<FileIdentity> {
        self.identities.get(path).copied()
    }

    pub(crate) fn moving(&self) -> &[PathBuf] {
        &self.moving
    }

    pub(crate) fn existing(&self) -> impl Iterator<Item = &PathBuf> {
        self.existing.iter()
    }

    /// What is guarded and was not there.
    pub(crate) fn find_new(&self) -> Vec<PathBuf> {
        let searched: Vec<SandboxPaths> = self.guards.iter().map(PathGuard::search).collect();
        self.matching(&searched).into_iter().filter(|path| !self.existing.contains(path)).collect()
    }

    fn matching(&self, searched: &[SandboxPaths]) -> BTreeSet<PathBuf> {
        let all = self.guards.iter().zip(searched).flat_map(|(guard, paths)| guard.matching(paths));
        // Of its own data this program takes nothing away.
        all.filter(|path| !self.data.holds(path, &self.roots)).collect()
    }
}

impl PathGuard {
    fn new(files: &LocalFiles, patterns: Vec<String>, free: &[String]) -> Result<Self, ToolError> {
        let mut writable = files.writable();
        let root = writable.remove(0);
        let options =
            WorkspaceOptions { deny_read: patterns, allow_secrets: true, writable_roots: writable, ..WorkspaceOptions::new(root) };
        Ok(Self { files: LocalFiles::open(options)?, free: FreePaths::parse(free) })
    }

    fn search(&self) -> SandboxPaths {
        self.files.sandbox_paths(&ScanCache::default())
    }

    fn matching(&self, searched: &SandboxPaths) -> BTreeSet<PathBuf> {
        let mut found = BTreeSet::new();
        for path in &searched.masked {
            self.free.add_rest(path.clone(), &mut found);
        }
        found
    }
}

/// What lies in a folder outside of all that these globs name: absolute ones, compared exactly.
pub(crate) fn paths_outside(folder: &Path, globs: &[String]) -> BTreeSet<PathBuf> {
    let (free, mut found) = (FreePaths::parse(globs), BTreeSet::new());
    for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
        free.add_rest(entry.path(), &mut found);
    }
    found
}

/// Paths that are free although a folder above them is not.
#[derive(Debug)]
struct FreePaths(Vec<Glob>);

impl FreePaths {
    /// A glob that cannot be read frees nothing.
    fn parse(globs: &[String]) -> Self {
        Self(globs.iter().filter_map(|text| Glob::parse(text).ok()).collect())
    }

    /// Adds a path; of a folder with something free beneath it, the rest.
    fn add_rest(&self, path: PathBuf, found: &mut BTreeSet<PathBuf>) {
        if self.0.iter().any(|glob| glob.matches(&path)) {
            return;
        }
        let is_folder = path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir());
        if !is_folder || !self.may_be_beneath(&path) {
            found.insert(path);
            return;
        }
        for entry in std::fs::read_dir(&path).into_iter().flatten().flatten() {
            self.add_rest(entry.path(), found);
        }
    }

    fn may_be_beneath(&self, folder: &Path) -> bool {
        let is_near = |glob: &Glob| {
            let fixed: PathBuf = Path::new(glob.text()).iter().take_while(|name| !name.as_encoded_bytes().contains(&b'*')).collect();
            fixed.starts_with(folder) || folder.starts_with(&fixed)
        };
        self.0.iter().any(is_near)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_excepted_is_free_and_the_rest_is_guarded_also_when_it_is_new() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for path in ["docs/deep", "src", "keys"] {
            std::fs::create_dir_all(root.join(path)).unwrap();
        }
        for path in ["docs/a.md", "docs/deep/b.md", "src/a.rs", "keys/a.key", "top"] {
            std::fs::write(root.join(path), "").unwrap();
        }
        let at = |path: &str| root.join(path);
        let free = |path: &str| at(path).display().to_string();
        let guard = |pattern: &str, except: Vec<String>| GuardedPattern { pattern: pattern.to_owned(), except };
        let files = LocalFiles::open(WorkspaceOptions::new(root.clone())).unwrap();
        let only = guard("/**", vec![free("docs"), free("docs/**"), free("keys/*")]);
        let guarded = GuardedPaths::find(&files, &[only, guard("**/b.md", vec![])], &at("keys")).unwrap().unwrap();
        assert_eq!(guarded.existing().cloned().collect::<Vec<_>>(), [at("docs/deep/b.md"), at("src"), at("top")]);
        for path in ["docs/new.md", "Docs.md", "keys/b.key"] {
            std::fs::write(at(path), "").unwrap();
        }
        assert_eq!(guarded.find_new(), [at("Docs.md")]);
        assert!(GuardedPaths::find(&files, &[], &root).unwrap().is_none());
        let outside = paths_outside(&root, &[free("docs"), free("docs/**"), free("keys/b.key")]);
        assert_eq!(outside.into_iter().collect::<Vec<_>>(), [at("Docs.md"), at("keys/a.key"), at("src"), at("top")]);
    }
}
