//! What can be done with a place, and what must be true of it.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};

use haft_contract::{Location, ToolError, TreeEntry, TreeOptions, TreeVisitor, Visit, WriteMode, Zone, ports::FileSystem};
use haft_host::LocalFiles;

use crate::journal::Kept;
use crate::world::{CANARY, RUNTIME, SECRET, Tree, World};
use crate::{passes, told};

const NEW: &[u8] = b"new content";
/// No file with such a name, or beneath one, may be read.
const SECRETS: [&str; 5] = [".env", ".env.local", ".envrc", "id_rsa", "private"];
/// No file with such a name, or beneath one, may be written.
const PROTECTED: [&str; 6] = [".git", ".gitmodules", ".haft", ".bashrc", ".ssh", ".npmrc"];

/// Does one thing with a place. What lies outside is the policy's to allow: of that only reading is tried, and only here.
pub(crate) fn attempt(action: u8, files: &LocalFiles, at: &Location, world: &World) {
    if at.zone() == Zone::Outside && !at.path().starts_with(&world.outside) {
        return;
    }
    match action % 6 {
        0 | 1 => read(files, at, world),
        2 => walk(action, files, at),
        // Writing outside is not the host's to refuse.
        _ if at.zone() == Zone::Outside => {}
        wanted => change(wanted, files, at, world),
    }
}

fn read(files: &LocalFiles, at: &Location, world: &World) {
    let answer = RUNTIME.block_on(async {
        let reader = files.open(at).await?;
        reader.read_at(0, 1 << 16).await
    });
    match answer {
        Ok(content) => {
            assert!(at.no_read().is_none() && !passes(at.path(), world, &SECRETS), "{at:?} was read");
            check_seen(&content, at.zone(), at.path());
        }
        Err(error) => assert!(!told(&error).1.is_empty()),
    }
}

fn check_seen(content: &[u8], zone: Zone, path: &Path) {
    assert_ne!(content, SECRET, "{}", path.display());
    assert!(zone == Zone::Outside || content != CANARY, "{}", path.display());
}

/// Everything that a walk shows of the files it comes to.
#[derive(Default)]
struct Shown(Mutex<Vec<(PathBuf, Vec<u8>)>>);

impl TreeVisitor for Shown {
    fn visit(&self, entry: &dyn TreeEntry) -> Visit {
        let mut content = Vec::new();
        if let Ok(mut opened) = entry.open() {
            drop(opened.read_to_end(&mut content));
        }
        self.0.lock().expect("no panic while it was held").push((entry.path().to_owned(), content));
        Visit::On
    }
}

fn walk(action: u8, files: &LocalFiles, at: &Location) {
    let shown = Arc::new(Shown::default());
    let options = TreeOptions::default().with_hidden(action & 64 > 0).with_ignored(action & 128 > 0).with_directories(action & 32 > 0);
    let walked = RUNTIME.block_on(files.walk(at, options, Arc::clone(&shown) as Arc<dyn TreeVisitor>));
    let shown = shown.0.lock().expect("no panic while it was held");
    match walked {
        Ok(walked) => assert_eq!((walked.entries, walked.stopped), (shown.len() as u64, false)),
        Err(error) => assert!(shown.is_empty() && !told(&error).1.is_empty()),
    }
    for (path, content) in shown.iter() {
        check_seen(content, at.zone(), path);
    }
}

/// Changes a place, looks at what else changed, and takes it back.
fn change(wanted: u8, files: &LocalFiles, at: &Location, world: &World) {
    let kept = Kept::default();
    let done: Result<(), ToolError> = RUNTIME.block_on(async {
        match wanted {
            3 => files.write(at, NEW.to_vec(), WriteMode::Overwrite, &kept).await.map(drop),
            4 => files.write(at, NEW.to_vec(), WriteMode::Append, &kept).await.map(drop),
            _ => files.delete(at, &kept).await,
        }
    });
    if let Err(error) = done {
        return assert!(kept.image().is_none() && !told(&error).1.is_empty(), "{at:?}: nothing was done, but something was kept");
    }
    let protected = at.path().starts_with(world.ws.join("state")) || passes(at.path(), world, &PROTECTED);
    let refused = at.no_write().is_some() || at.zone() != Zone::Workspace || protected;
    assert!(!refused, "{at:?} was changed");
    let after = world.tree();
    let left = after.get(at.path()).map(Vec::as_slice);
    assert!(if wanted == 5 { left.is_none() } else { left.is_some_and(|left| left.ends_with(NEW)) }, "{at:?}");
    assert_eq!(elsewhere(after, at, &world.ws), elsewhere(with_links(world), at, &world.ws));
    let image = kept.image().expect("what was changed was kept");
    RUNTIME.block_on(files.restore(at, image, &Kept::default())).expect("what was changed can be put back");
}

/// What was there before, with the links that the input made.
fn with_links(world: &World) -> Tree {
    let links = world.tree().into_iter().filter(|(path, _)| path.is_symlink());
    world.before.clone().into_iter().chain(links).collect()
}

/// A tree without a place and the folders that lead to it.
fn elsewhere(mut tree: Tree, at: &Location, ws: &Path) -> Tree {
    tree.retain(|path, _| !at.path().starts_with(path) || !path.starts_with(ws));
    tree
}
