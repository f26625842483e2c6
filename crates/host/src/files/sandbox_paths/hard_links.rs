//! Other names of hidden files. A hard link is the file itself, so that hiding one name would hide nothing.

use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use haft_contract::FileIdentity;

use super::SandboxPaths;
use super::folder_reader::{EntryKind, EntryRole, EntryRoles, FolderEntry, FolderReader, FoundFolder, ScannedFolders};
use super::scan::{MOST_ENTRIES, too_large};

/// By inode: the device, and how many names are not known yet.
type MissingNames = HashMap<u64, (u64, u64)>;

/// Hides the other names in the roots of hidden files, and of those in hidden folders. Hardly any has some, so the roots are hardly
/// ever searched.
pub(super) fn hide(paths: &mut SandboxPaths) {
    let (mut hidden, mut missing) = (paths.masked.clone(), MissingNames::new());
    hidden.sort_unstable();
    // Each name counts once.
    hidden.dedup_by(|deeper, above| deeper.starts_with(above));
    for path in &hidden {
        count_names(path, &mut missing, paths);
    }
    missing.retain(|_, (_, count)| *count > 0);
    if !missing.is_empty() {
        let (names, moving) = find_names(&missing, paths);
        paths.moving.extend(moving);
        names.into_iter().filter(|(path, _)| !is_hidden(path, &hidden)).for_each(|(path, identity)| paths.add_masked(path, Some(identity)));
    }
    paths.masked.sort_unstable();
}

/// Adds the inodes of hidden files, with the device of each and how many names of it are not known yet.
fn count_names(hidden: &Path, missing: &mut MissingNames, paths: &mut SandboxPaths) {
    let (mut left, mut seen) = (vec![hidden.to_owned()], 0);
    while let Some(path) = left.pop() {
        let Ok(found) = fs::symlink_metadata(&path) else { continue };
        if found.is_file() && found.nlink() > 1 {
            let (_, count) = missing.entry(found.ino()).or_insert((found.dev(), found.nlink()));
            *count = count.saturating_sub(1);
        }
        if !found.is_dir() {
            continue;
        }
        for entry in fs::read_dir(&path).into_iter().flatten().flatten() {
            seen += 1;
            left.push(entry.path());
        }
        if seen > MOST_ENTRIES {
            return paths.uncovered.push(too_large(hidden));
        }
    }
}

/// Every name in the roots that has one of these inodes, and a folder that was moved as long as it was searched, if there was one.
fn find_names(missing: &MissingNames, paths: &mut SandboxPaths) -> (Vec<(PathBuf, FileIdentity)>, Option<PathBuf>) {
    let roots: Vec<PathBuf> = paths.writable.iter().chain(&paths.read_only).cloned().collect();
    let mut folders = ScannedFolders::default();
    let mut reader = FolderReader::new(&mut folders);
    let roles = WantedInodes(missing);
    loop {
        let (mut names, mut uncovered) = (Vec::new(), Vec::new());
        for root in &roots {
            let (mut left, mut seen) = (vec![root.clone()], 0);
            while let Some(folder) = left.pop() {
                let FoundFolder::Listed(scanned) = reader.folder(&folder, false, &roles) else { continue };
                seen += scanned.count;
                if seen > MOST_ENTRIES {
                    uncovered.push(too_large(root));
                    break;
                }
                for entry in &scanned.entries {
                    let path = folder.join(&entry.name);
                    match entry.identity {
                        Some(identity) if missing.get(&identity.inode).is_some_and(|(device, _)| *device == identity.device) => {
                            names.push((path, identity));
                        }
                        _ => left.extend((entry.role == EntryRole::Folder).then_some(path)),
                    }
                }
            }
        }
        let ended = reader.end_pass(&|entry| roles.role(entry).is_some());
        if ended != Ok(false) {
            paths.uncovered.append(&mut uncovered);
            return (names, ended.err());
        }
    }
}

/// Folders, and files that may be the wanted ones.
struct WantedInodes<'a>(&'a MissingNames);

impl EntryRoles for WantedInodes<'_> {
    fn role(&self, entry: &FolderEntry<'_>) -> Option<EntryRole> {
        match entry.kind {
            EntryKind::Folder => Some(EntryRole::Folder),
            EntryKind::Other => entry.inode.filter(|inode| self.0.contains_key(inode)).map(|_| EntryRole::Wanted),
            EntryKind::Link | EntryKind::Socket => None,
        }
    }
}

fn is_hidden(path: &Path, hidden: &[PathBuf]) -> bool {
    path.ancestors().any(|above| hidden.iter().any(|hidden| hidden == above))
}
