//! The search through the roots for secrets, protected names and repositories.

use std::collections::HashMap;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use haft_text::display;

use super::super::protected::{self, ProtectedRules};
use super::super::walk::denied::Denied;
use super::SandboxPaths;
use super::folder_reader::{EntryKind, EntryRole, EntryRoles, FolderEntry, FolderReader, FoundFolder, ScannedEntry, ScannedFolders};
use super::known_secrets::KnownSecrets;

/// Entries of a root that are searched.
pub(super) const MOST_ENTRIES: usize = 200_000;
/// The same where a secret is looked for that was moved, which is done once.
const MOST_ENTRIES_ONCE: usize = 2_000_000;
/// Repositories with an overlay of their own; each is a mount that every command pays for. Further ones are protected.
const MOST_REPOSITORIES: usize = 64;
/// Protected paths that are mounted; those beyond are checked after the run like all others.
const MOST_PROTECTED: usize = 300;
/// Generated folders: large, and full of files that are named like secrets and are none, such as certificates of authorities.
/// Only the user's own rules apply in them, and secrets are looked for that were moved there.
const GENERATED: &[&str] =
    &[".git", "node_modules", "target", ".venv", "site-packages", "__pycache__", ".tox", ".nox", ".next", ".gradle", ".terraform"];
/// A folder that no rule names.
const ELSEWHERE: &str = ".haft-elsewhere";

/// What searches before this one have found.
#[derive(Debug, Default)]
pub struct ScanCache(Mutex<SearchMemory>);

#[derive(Debug, Default)]
pub(super) struct SearchMemory {
    pub(super) folders: ScannedFolders,
    pub(super) secrets: KnownSecrets,
    #[cfg(test)]
    pub(super) before_read: Option<ReadHook>,
}

/// Is called with each folder that is read.
#[cfg(test)]
pub(super) struct ReadHook(pub(super) Box<dyn FnMut(&Path) + Send>);

#[cfg(test)]
haft_contract::opaque_debug!(ReadHook);

impl ScanCache {
    /// With a file that lists the secrets that were seen, so that a later process finds those that a command has moved.
    pub fn with_secrets_in(file: PathBuf) -> Self {
        Self(Mutex::new(SearchMemory { secrets: KnownSecrets::in_file(file), ..SearchMemory::default() }))
    }

    pub(super) fn lock(&self) -> std::sync::MutexGuard<'_, SearchMemory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// How far a search goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum SearchDepth {
    /// Generated folders are searched where rules of the user apply in them.
    Usual,
    /// All of them are.
    Everywhere,
}

pub(super) struct Scan<'a> {
    rules: &'a ProtectedRules,
    denied: Denied,
    root: &'a Path,
    is_writable: bool,
}

impl<'a> Scan<'a> {
    pub(super) fn new(rules: &'a Arc<ProtectedRules>, root: &'a Path, is_writable: bool) -> Self {
        Self { rules, denied: Denied::new(Arc::clone(rules), root), root, is_writable }
    }

    /// Goes through the root once.
    pub(super) fn pass(&self, reader: &mut FolderReader<'_>, secrets: &KnownSecrets, depth: SearchDepth, paths: &mut SandboxPaths) {
        let most = if depth == SearchDepth::Usual { MOST_ENTRIES } else { MOST_ENTRIES_ONCE };
        let (mut folders, mut seen) = (vec![(self.root.to_owned(), false)], 0);
        while let Some((folder, is_generated)) = folders.pop() {
            let scanned = match reader.folder(&folder, is_generated, self) {
                FoundFolder::Listed(scanned) => scanned,
                FoundFolder::Closed(identity) if folder != self.root => {
                    paths.add_masked(folder, Some(identity));
                    continue;
                }
                FoundFolder::Closed(_) | FoundFolder::Absent => continue,
            };
            seen += scanned.count;
            if seen > most {
                return paths.uncovered.push(too_large(self.root));
            }
            for entry in &scanned.entries {
                let path = folder.join(&entry.name);
                match entry.role {
                    EntryRole::Folder => folders.push((path, is_generated)),
                    EntryRole::GeneratedFolder if depth == SearchDepth::Usual && !self.rules.has_deny_read() => {}
                    EntryRole::GeneratedFolder => folders.push((path, true)),
                    EntryRole::Repository if depth == SearchDepth::Everywhere => {
                        folders.push((path.clone(), true));
                        self.add(entry, path, paths);
                    }
                    EntryRole::MovedSecret if !secrets.contain(entry.identity) => {}
                    _ => self.add(entry, path, paths),
                }
            }
        }
    }

    /// Adds what is no folder to be searched.
    fn add(&self, entry: &ScannedEntry, path: PathBuf, paths: &mut SandboxPaths) {
        match entry.role {
            EntryRole::Denied | EntryRole::MovedSecret => {
                paths.pinned.extend(self.is_denied_by_place(&path).then(|| path.clone()));
                paths.add_masked(path, entry.identity);
            }
            _ if !self.is_writable => {}
            EntryRole::Protected if paths.protected.len() >= MOST_PROTECTED => {}
            role => {
                paths.identities.extend(entry.identity.map(|identity| (path.clone(), identity)));
                let is_overlay = role == EntryRole::Repository && paths.repositories.len() < MOST_REPOSITORIES;
                if is_overlay { &mut paths.repositories } else { &mut paths.protected }.push(path);
            }
        }
    }

    /// Whether a path would not be denied any more if a folder above it were moved.
    fn is_denied_by_place(&self, path: &Path) -> bool {
        let (Ok(beneath), Some(name)) = (path.strip_prefix(self.root), path.file_name()) else { return false };
        let is_denied = |beneath: &Path| self.rules.deny_reading_by_user(self.root, beneath);
        beneath != Path::new(name) && is_denied(beneath) && !is_denied(&Path::new(ELSEWHERE).join(name))
    }

    /// Whether an entry of a watched folder is one that the search looks for.
    pub(super) fn matters(&self, entry: &FolderEntry<'_>) -> bool {
        entry.folder.starts_with(self.root) && self.role(entry).is_some()
    }
}

impl EntryRoles for Scan<'_> {
    fn role(&self, entry: &FolderEntry<'_>) -> Option<EntryRole> {
        let FolderEntry { folder, is_generated, name, kind, .. } = entry;
        let (path, is_folder) = (&folder.join(name), *kind == EntryKind::Folder);
        let is_by_user = || self.rules.deny_reading_by_user(self.root, path.strip_prefix(self.root).unwrap_or(path));
        let is_denied = if *is_generated { is_by_user() } else { self.denied.covers(path, name) };
        let becomes_generated = GENERATED.iter().any(|generated| *name == *generated);
        match () {
            // The program that listens at a socket is outside, or of a command that may be in another session.
            () if is_denied || *kind == EntryKind::Socket => Some(EntryRole::Denied),
            () if *is_generated && self.denied.covers(path, name) => Some(EntryRole::MovedSecret),
            () if *is_generated => is_folder.then_some(EntryRole::Folder),
            () if *name == ".git" && is_folder => Some(EntryRole::Repository),
            // What is a link cannot be held: it is checked after the run.
            // The list of submodules is part of what Git checks out: its content is checked after the run.
            () if *kind != EntryKind::Link && *name != ".gitmodules" && is_protected(path, name) => Some(EntryRole::Protected),
            () if becomes_generated => is_folder.then_some(EntryRole::GeneratedFolder),
            () => is_folder.then_some(EntryRole::Folder),
        }
    }
}

/// What is said of a root that is not searched to its end.
pub(super) fn too_large(root: &Path) -> String {
    let root = display::escape_line(&root.to_string_lossy()).into_owned();
    format!("'{root}' has more than {MOST_ENTRIES} files, and secrets beyond were not looked for")
}

/// Whether a path ends with a protected name.
fn is_protected(path: &Path, name: &OsStr) -> bool {
    static BY_LAST_NAME: OnceLock<HashMap<&'static OsStr, Vec<&'static Path>>> = OnceLock::new();
    let all = BY_LAST_NAME.get_or_init(|| {
        let mut all: HashMap<&'static OsStr, Vec<&'static Path>> = HashMap::new();
        for protected in protected::names().map(Path::new) {
            all.entry(protected.file_name().unwrap_or_default()).or_default().push(protected);
        }
        all
    });
    all.get(name).is_some_and(|names| names.iter().any(|protected| path.ends_with(protected)))
}
