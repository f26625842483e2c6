//! What is on disk: compared, restored, and searched for secrets.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// What is at a path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Entry {
    Folder,
    File(Vec<u8>),
    Link(PathBuf),
    Special,
}

impl Entry {
    fn of(path: &Path) -> Option<Self> {
        let kind = fs::symlink_metadata(path).ok()?.file_type();
        Some(match kind {
            _ if kind.is_symlink() => Self::Link(fs::read_link(path).ok()?),
            _ if kind.is_dir() => Self::Folder,
            _ if kind.is_file() => Self::File(fs::read(path).unwrap_or_default()),
            _ => Self::Special,
        })
    }

    fn make(&self, path: &Path) {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        match self {
            Self::Folder => fs::create_dir_all(path).unwrap(),
            Self::File(content) => fs::write(path, content).unwrap(),
            Self::Link(target) => std::os::unix::fs::symlink(target, path).unwrap(),
            Self::Special => {}
        }
    }
}

pub(crate) type Tree = BTreeMap<PathBuf, Entry>;

/// Everything below a folder, without direct entries of these names.
pub(crate) fn tree(root: &Path, excluded: &[&str]) -> Tree {
    let mut found = BTreeMap::new();
    let mut folders = vec![root.to_owned()];
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(&folder).into_iter().flatten().flatten().map(|entry| entry.path()) {
            let name = path.strip_prefix(root).unwrap().to_owned();
            if excluded.iter().any(|excluded| name == Path::new(excluded)) {
                continue;
            }
            let Some(entry) = Entry::of(&path) else { continue };
            if entry == Entry::Folder {
                folders.push(path);
            }
            found.insert(name, entry);
        }
    }
    found
}

/// Makes a folder hold this again, and leaves direct entries of the excluded names as they are.
pub(crate) fn restore(root: &Path, wanted: &Tree, excluded: &[&str]) {
    let remove = |path: &Path| fs::remove_dir_all(path).or_else(|_| fs::remove_file(path)).ok();
    for (name, entry) in tree(root, excluded) {
        if wanted.get(&name) != Some(&entry) {
            remove(&root.join(name));
        }
    }
    for (name, entry) in wanted {
        let path = root.join(name);
        if Entry::of(&path).as_ref() != Some(entry) {
            remove(&path);
            entry.make(&path);
        }
    }
}

/// Whether a file of the tree has this secret, plain or encoded.
pub(crate) fn tree_reveals(files: &Tree, secret: &str) -> bool {
    files.values().any(|entry| matches!(entry, Entry::File(content) if reveals(content, secret)))
}

/// Whether this text, or what `base64` and `xxd` make of it, is among these bytes.
pub(crate) fn reveals(bytes: &[u8], secret: &str) -> bool {
    let hexadecimal = secret.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
    // Three bytes are four signs: whatever precedes the secret, one of three offsets is its own.
    let encoded = (0..3).map(|skipped| base64(&secret.as_bytes()[skipped..]));
    let encoded = encoded.map(|text| text[..text.len() / 4 * 4 - 4].to_owned());
    let reversed: String = secret.chars().rev().collect();
    let found = |needle: &str| bytes.windows(needle.len()).any(|part| part == needle.as_bytes());
    [secret.to_owned(), hexadecimal, reversed].into_iter().chain(encoded).any(|needle| found(&needle))
}

/// Standard base64 without padding.
pub(crate) fn base64(bytes: &[u8]) -> String {
    const SIGNS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let group = |three: &[u8]| {
        let number = three.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte)) << (8 * (3 - three.len()));
        (0..=three.len()).map(|at| char::from(SIGNS[(number >> (18 - 6 * at)) as usize & 63])).collect::<String>()
    };
    bytes.chunks(3).map(group).collect()
}
