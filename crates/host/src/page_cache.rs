//! Responses of the web tools, in a folder: private, and bounded in number and size.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::SystemTime;

use haft_contract::{BoxFuture, ports::PageCache};

/// The bounds of a folder; beyond them the oldest files go.
const MAX_FILES: usize = 200;
const MAX_BYTES: u64 = 64 * 1024 * 1024;
const MAX_FILE: usize = 4 * 1024 * 1024;

/// A folder of stored responses.
#[derive(Debug, Clone)]
pub struct FolderPageCache {
    folder: Arc<Folder>,
}

/// Each file is the key on one line, then the value; its name is the key's SHA-256.
#[derive(Debug)]
struct Folder {
    path: PathBuf,
    /// One writer at a time in this process; others write whole files as well.
    writing: Mutex<()>,
}

impl FolderPageCache {
    /// A cache in a folder, which is created when something is stored.
    pub fn new(folder: PathBuf) -> Self {
        Self { folder: Arc::new(Folder { path: folder, writing: Mutex::default() }) }
    }
}

impl Folder {
    fn file(&self, key: &str) -> PathBuf {
        let digest = ring::digest::digest(&ring::digest::SHA256, key.as_bytes());
        self.path.join(haft_text::hex::encode(digest.as_ref()))
    }

    fn read(&self, key: &str) -> Option<Vec<u8>> {
        let bytes = fs::read(self.file(key)).ok()?;
        let value = bytes.strip_prefix(one_line(key).as_bytes())?;
        Some(value.to_vec())
    }

    fn write(&self, key: &str, value: &[u8]) -> io::Result<()> {
        let _one = self.writing.lock();
        fs::DirBuilder::new().recursive(true).mode(0o700).create(&self.path)?;
        make_space(&self.path)?;
        let path = self.file(key);
        let unfinished = path.with_extension(format!("{}.tmp", std::process::id()));
        let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&unfinished)?;
        file.write_all(one_line(key).as_bytes())?;
        file.write_all(value)?;
        fs::rename(&unfinished, &path)
    }
}

fn one_line(key: &str) -> String {
    format!("{}\n", key.escape_debug())
}

/// Removes the oldest files, so that one more fits.
fn make_space(folder: &Path) -> io::Result<()> {
    let mut files: Vec<(SystemTime, u64, PathBuf)> = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        if let Ok(info) = entry.metadata() {
            files.push((info.modified().unwrap_or(SystemTime::UNIX_EPOCH), info.len(), entry.path()));
        }
    }
    files.sort();
    let mut bytes: u64 = files.iter().map(|(_, size, _)| size).sum::<u64>() + MAX_FILE as u64;
    let mut count = files.len() + 1;
    for (_, size, path) in files {
        if count <= MAX_FILES && bytes <= MAX_BYTES {
            break;
        }
        // Another process may have removed it already.
        fs::remove_file(path).ok();
        (count, bytes) = (count - 1, bytes - size);
    }
    Ok(())
}

impl PageCache for FolderPageCache {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<Vec<u8>>> {
        let (folder, key) = (Arc::clone(&self.folder), key.to_owned());
        Box::pin(async move { tokio::task::spawn_blocking(move || folder.read(&key)).await.ok().flatten() })
    }

    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>) -> BoxFuture<'a, ()> {
        let (folder, key) = (Arc::clone(&self.folder), key.to_owned());
        Box::pin(async move {
            if value.len() <= MAX_FILE {
                // A cache that cannot be written is an empty one.
                tokio::task::spawn_blocking(move || folder.write(&key, &value)).await.ok();
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[tokio::test]
    async fn values_are_stored_privately_and_found_by_their_whole_key() {
        let folder = tempfile::tempdir().unwrap();
        let cache = FolderPageCache::new(folder.path().join("cache/web"));
        assert_eq!(cache.get("a").await, None);
        cache.put("a", b"one\ntwo".to_vec()).await;
        cache.put("b\nc", Vec::new()).await;
        cache.put("huge", vec![0; MAX_FILE + 1]).await;
        assert_eq!((cache.get("a").await, cache.get("b\nc").await), (Some(b"one\ntwo".to_vec()), Some(Vec::new())));
        assert_eq!((cache.get("b").await, cache.get("huge").await), (None, None));
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&folder.path().join("cache/web")), mode(&cache.folder.file("a"))), (0o700, 0o600));
        fs::write(cache.folder.file("a"), "other\nvalue").unwrap();
        assert_eq!(cache.get("a").await, None, "the file is not trusted to be of its name");
    }

    #[tokio::test]
    async fn the_oldest_files_go_when_there_are_too_many() {
        let folder = tempfile::tempdir().unwrap();
        let cache = FolderPageCache::new(folder.path().to_owned());
        for number in 0..MAX_FILES + 10 {
            cache.put(&number.to_string(), vec![1]).await;
            let age = std::time::Duration::from_secs(1_000_000 - number as u64);
            fs::File::open(cache.folder.file(&number.to_string())).unwrap().set_modified(SystemTime::now() - age).unwrap();
        }
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), MAX_FILES);
        assert_eq!((cache.get("0").await, cache.get("209").await), (None, Some(vec![1])));
        let large = vec![0; MAX_FILE];
        for number in 0..20 {
            cache.put(&format!("large {number}"), large.clone()).await;
        }
        let bytes: u64 = fs::read_dir(folder.path()).unwrap().map(|entry| entry.unwrap().metadata().unwrap().len()).sum();
        assert!(bytes <= MAX_BYTES + 10_000, "{bytes}");
    }
}
