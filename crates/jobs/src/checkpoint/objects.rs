//! Contents under their fingerprints, private to the user.

use std::fs::{self, DirBuilder, File};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use haft_text::hex;
use ring::digest::{Context, SHA256};

use super::snapshot::Hash;

const PIECE: usize = 128 << 10;
/// Larger contents are cloned where the file system can.
const CLONED: u64 = 1 << 20;

/// The contents of one root.
#[derive(Debug)]
pub(super) struct ObjectStore {
    folder: PathBuf,
    /// Whether the file system cannot clone.
    no_clones: AtomicBool,
}

impl ObjectStore {
    /// Opens the store in this folder, creating it.
    pub(super) fn open(folder: &Path) -> io::Result<Self> {
        let folder = folder.join("objects");
        if !folder.is_dir() {
            DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        }
        Ok(Self { folder, no_clones: AtomicBool::new(false) })
    }

    /// Keeps what a file holds from here on; returns its fingerprint and its length.
    pub(super) fn keep(&self, file: &mut File, size: u64) -> io::Result<(Hash, u64)> {
        if size >= CLONED && !self.no_clones.load(Ordering::Relaxed) {
            match self.clone_file(file) {
                Err(error) if is_no_space(&error) => return Err(error),
                Err(_) => self.no_clones.store(true, Ordering::Relaxed),
                kept => return kept,
            }
        }
        let mut piece = vec![0; PIECE.min(usize::try_from(size).unwrap_or(PIECE) + 1)];
        let first = fill(file, &mut piece)?;
        if first < piece.len() {
            return Ok((self.keep_bytes(&piece[..first])?, first as u64));
        }
        self.copy(&piece, file)
    }

    /// Keeps a small content.
    pub(super) fn keep_bytes(&self, content: &[u8]) -> io::Result<Hash> {
        let hash = finish({
            let mut hash = Context::new(&SHA256);
            hash.update(content);
            hash
        });
        if !self.path(&hash).exists() {
            let mut draft = Draft::create(&self.folder)?;
            draft.file.write_all(content)?;
            self.place(draft, &hash)?;
        }
        Ok(hash)
    }

    fn copy(&self, first: &[u8], rest: &mut File) -> io::Result<(Hash, u64)> {
        let (mut draft, mut hash, mut length) = (Draft::create(&self.folder)?, Context::new(&SHA256), first.len() as u64);
        hash.update(first);
        draft.file.write_all(first)?;
        let mut piece = vec![0; PIECE];
        loop {
            let count = fill(rest, &mut piece)?;
            hash.update(&piece[..count]);
            draft.file.write_all(&piece[..count])?;
            length += count as u64;
            if count < piece.len() {
                break;
            }
        }
        let hash = finish(hash);
        self.place(draft, &hash)?;
        Ok((hash, length))
    }

    /// A clone is private and complete, so its fingerprint is that of the kept content whatever happens to the file.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn clone_file(&self, file: &File) -> io::Result<(Hash, u64)> {
        let draft = Draft::create(&self.folder)?;
        rustix::fs::ioctl_ficlone(&draft.file, file)?;
        let (mut hash, mut piece, mut length) = (Context::new(&SHA256), vec![0; PIECE], 0);
        let mut clone = File::open(&draft.path)?;
        loop {
            match fill(&mut clone, &mut piece)? {
                0 => break,
                count => {
                    hash.update(&piece[..count]);
                    length += count as u64;
                }
            }
        }
        let hash = finish(hash);
        self.place(draft, &hash)?;
        Ok((hash, length))
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn clone_file(&self, _file: &File) -> io::Result<(Hash, u64)> {
        Err(io::ErrorKind::Unsupported.into())
    }

    fn place(&self, mut draft: Draft, hash: &Hash) -> io::Result<()> {
        let path = self.path(hash);
        match fs::rename(&draft.path, &path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                let parent = path.parent().unwrap_or(&self.folder);
                DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
                fs::rename(&draft.path, &path)?;
            }
            renamed => renamed?,
        }
        draft.is_placed = true;
        Ok(())
    }

    fn path(&self, hash: &Hash) -> PathBuf {
        object_path(&self.folder, hash)
    }
}

fn object_path(objects: &Path, hash: &Hash) -> PathBuf {
    let name = hex::encode(hash);
    objects.join(&name[..2]).join(&name[2..])
}

fn is_no_space(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded)
}

fn finish(hash: Context) -> Hash {
    let mut bytes = [0; 32];
    bytes.copy_from_slice(hash.finish().as_ref());
    bytes
}

/// Reads until the buffer is full or the content ends.
fn fill(from: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match from.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(count) => filled += count,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// A content without its name yet. Dropped before it is placed, it is removed.
struct Draft {
    path: PathBuf,
    file: File,
    is_placed: bool,
}

impl Draft {
    fn create(folder: &Path) -> io::Result<Self> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let path = folder.join(format!("draft-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed)));
        let file = File::options().write(true).create(true).truncate(true).mode(0o600).open(&path)?;
        Ok(Self { path, file, is_placed: false })
    }
}

impl Drop for Draft {
    fn drop(&mut self) {
        if !self.is_placed {
            fs::remove_file(&self.path).ok();
        }
    }
}

/// A kept content: opened at the first read, since there may be more than can be open at once, and checked at its end, since it
/// may have been cut by a crash.
pub(super) struct KeptContent {
    path: PathBuf,
    expected: Hash,
    open: Option<(File, Context)>,
}

impl KeptContent {
    /// The content with this fingerprint in the store of this folder, if it is there.
    pub(super) fn find(folder: &Path, hash: &Hash) -> Option<Self> {
        let path = object_path(&folder.join("objects"), hash);
        path.exists().then_some(Self { path, expected: *hash, open: None })
    }
}

impl Read for KeptContent {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let (file, hash) = match &mut self.open {
            Some(open) => open,
            none => none.insert((File::open(&self.path)?, Context::new(&SHA256))),
        };
        let count = file.read(buffer)?;
        hash.update(&buffer[..count]);
        if count == 0 && !buffer.is_empty() && finish(hash.clone()) != self.expected {
            // The next checkpoint copies it again.
            fs::remove_file(&self.path).ok();
            return Err(io::Error::new(io::ErrorKind::InvalidData, "the kept content is damaged"));
        }
        Ok(count)
    }
}
