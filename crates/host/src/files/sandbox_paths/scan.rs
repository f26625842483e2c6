//! The search through a root for secrets, protected names and repositories.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs::{self, FileType, Metadata};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::SystemTime;

use haft_text::display;

use super::super::folder_stamp::FolderStamp;
use super::super::protected::{self, ProtectedRules};
use super::super::walk::denied::Denied;
use super::SandboxPaths;

/// Entries of a root that are searched.
pub(super) const MOST_ENTRIES: usize = 200_000;
/// Repositories with an overlay of their own; each is a mount that every command pays for. Further ones are protected.
const MOST_REPOSITORIES: usize = 64;
/// Protected paths that are mounted; those beyond are checked after the run like all others.
const MOST_PROTECTED: usize = 300;
/// Generated folders: large, and full of files that are named like secrets and are none, such as certificates of authorities.
/// Only the user's own rules apply in them.
const GENERATED: &[&str] =
    &[".git", "node_modules", "target", ".venv", "site-packages", "__pycache__", ".tox", ".nox", ".next", ".gradle", ".terraform"];
/// A folder that no rule names.
const ELSEWHERE: &str = ".haft-elsewhere";
/// Folders in the cache; then it starts anew.
const MOST_CACHED: usize = 100_000;

/// Folders as they were searched last.
#[derive(Debug, Default)]
pub struct ScanCache(Mutex<ScannedFolders>);

/// Folders, and those in generated ones, where other rules apply.
type ScannedFolders = [HashMap<PathBuf, Arc<ScannedFolder>>; 2];

#[derive(Debug)]
struct ScannedFolder {
    stamp: FolderStamp,
    count: usize,
    /// The entries that matter.
    entries: Vec<(OsString, EntryRole)>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum EntryRole {
    Folder,
    GeneratedFolder,
    Denied,
    Protected,
    Repository,
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

    pub(super) fn run(&self, cache: &ScanCache, paths: &mut SandboxPaths) {
        let mut known = cache.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (mut folders, mut seen) = (vec![(self.root.to_owned(), false)], 0);
        while let Some((folder, is_generated)) = folders.pop() {
            let Some(scanned) = self.folder(&mut known, &folder, is_generated) else { continue };
            seen += scanned.count;
            if seen > MOST_ENTRIES {
                return paths.uncovered.push(too_large(self.root));
            }
            for (name, role) in &scanned.entries {
                let path = folder.join(name);
                match role {
                    EntryRole::Folder => folders.push((path, is_generated)),
                    EntryRole::GeneratedFolder => folders.push((path, true)),
                    EntryRole::Denied => {
                        paths.pinned.extend(self.is_denied_by_place(&path).then(|| path.clone()));
                        paths.masked.push(path);
                    }
                    _ if !self.is_writable => {}
                    EntryRole::Repository if paths.repositories.len() < MOST_REPOSITORIES => paths.repositories.push(path),
                    EntryRole::Protected if paths.protected.len() >= MOST_PROTECTED => {}
                    EntryRole::Repository | EntryRole::Protected => paths.protected.push(path),
                }
            }
        }
    }

    /// Whether a path would not be denied any more if a folder above it were moved.
    fn is_denied_by_place(&self, path: &Path) -> bool {
        let (Ok(beneath), Some(name)) = (path.strip_prefix(self.root), path.file_name()) else { return false };
        let is_denied = |beneath: &Path| self.rules.deny_reading_by_user(self.root, beneath);
        beneath != Path::new(name) && is_denied(beneath) && !is_denied(&Path::new(ELSEWHERE).join(name))
    }

    /// What matters in a folder. One that cannot be listed cannot be read by the command either: it has no more rights than we.
    fn folder(&self, known: &mut ScannedFolders, folder: &Path, is_generated: bool) -> Option<Arc<ScannedFolder>> {
        let known = &mut known[usize::from(is_generated)];
        let now = SystemTime::now();
        let metadata = fs::symlink_metadata(folder).ok().filter(Metadata::is_dir)?;
        let stamp = FolderStamp::from_metadata(&metadata);
        if let Some(scanned) = known.get(folder).filter(|scanned| scanned.stamp == stamp) {
            return Some(Arc::clone(scanned));
        }
        let mut scanned = ScannedFolder { stamp, count: 0, entries: Vec::new() };
        for entry in fs::read_dir(folder).ok()?.flatten() {
            scanned.count += 1;
            let (name, Ok(kind)) = (entry.file_name(), entry.file_type()) else { continue };
            if let Some(role) = self.role(&entry.path(), &name, kind, is_generated) {
                scanned.entries.push((name, role));
            }
            if scanned.count > MOST_ENTRIES {
                break;
            }
        }
        let scanned = Arc::new(scanned);
        if known.len() >= MOST_CACHED {
            known.clear();
        }
        if stamp.is_settled(now) {
            known.insert(folder.to_owned(), Arc::clone(&scanned));
        }
        Some(scanned)
    }

    fn role(&self, path: &Path, name: &OsStr, kind: FileType, is_generated: bool) -> Option<EntryRole> {
        let is_denied = if is_generated {
            self.rules.deny_reading_by_user(self.root, path.strip_prefix(self.root).unwrap_or(path))
        } else {
            self.denied.covers(path, name)
        };
        let becomes_generated = GENERATED.iter().any(|generated| name == *generated);
        match () {
            // The program that listens at a socket is outside, or of a command that may be in another session.
            () if is_denied || kind.is_socket() => Some(EntryRole::Denied),
            () if is_generated => kind.is_dir().then_some(EntryRole::Folder),
            () if name == ".git" && kind.is_dir() => Some(EntryRole::Repository),
            // What is a link cannot be held: it is checked after the run.
            // The list of submodules is part of what Git checks out: its content is checked after the run.
            () if !kind.is_symlink() && name != ".gitmodules" && is_protected(path, name) => Some(EntryRole::Protected),
            () if becomes_generated => (kind.is_dir() && self.rules.has_deny_read()).then_some(EntryRole::GeneratedFolder),
            () => kind.is_dir().then_some(EntryRole::Folder),
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
