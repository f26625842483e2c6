//! Walking through files in memory.

use std::collections::BTreeMap;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use haft_contract::{TreeEntry, TreeOptions};

use super::state::{Content, State};

/// A file or an implied directory in memory, beneath the root of a walk.
#[derive(Debug)]
pub(super) struct FakeEntry {
    path: PathBuf,
    /// Nothing for a directory.
    content: Option<Content>,
}

impl TreeEntry for FakeEntry {
    fn path(&self) -> &Path {
        &self.path
    }
    fn is_directory(&self) -> bool {
        self.content.is_none()
    }
    fn facts(&self) -> io::Result<(u64, Option<SystemTime>)> {
        Ok((self.content.as_ref().map_or(0, |content| content.len() as u64), None))
    }
    fn open(&self) -> io::Result<Box<dyn Read + Send>> {
        let content = self.content.as_ref().ok_or(io::ErrorKind::IsADirectory)?;
        Ok(Box::new(Cursor::new(content.to_vec())))
    }
}

impl State {
    /// What is beneath a path and may be read, in order. There are no ignore files here.
    pub(super) fn beneath(&self, root: &Path, options: &TreeOptions) -> Vec<FakeEntry> {
        let mut found: BTreeMap<PathBuf, Option<Content>> = BTreeMap::new();
        for (path, content) in self.files.iter().filter(|(path, _)| self.refusals(path).0.is_none()) {
            let beneath = if path == root { path.file_name().map(Path::new) } else { path.strip_prefix(root).ok() };
            let Some(beneath) = beneath else { continue };
            found.insert(beneath.to_owned(), Some(Content::clone(content)));
            if options.directories && path != root {
                found.extend(parents(beneath));
            }
        }
        for directory in self.directories.iter().filter(|path| options.directories && *path != root && self.refusals(path).0.is_none()) {
            if let Ok(beneath) = directory.strip_prefix(root) {
                found.insert(beneath.to_owned(), None);
                found.extend(parents(beneath));
            }
        }
        found.retain(|path, _| is_wanted(path, options));
        found.into_iter().map(|(path, content)| FakeEntry { path, content }).collect()
    }
}

/// The directories that lead to a path, without the root.
fn parents(beneath: &Path) -> impl Iterator<Item = (PathBuf, Option<Content>)> {
    beneath.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty()).map(|parent| (parent.to_owned(), None))
}

fn is_wanted(beneath: &Path, options: &TreeOptions) -> bool {
    let hidden = beneath.components().any(|part| part.as_os_str().to_string_lossy().starts_with('.'));
    let deep = options.depth.is_some_and(|depth| beneath.components().count() > depth);
    !deep && (options.hidden || !hidden)
}
