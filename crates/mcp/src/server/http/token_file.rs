//! The file of the tokens that open servers over HTTP. It holds hashes: who reads it cannot sign in.

use std::fs::{File, OpenOptions, TryLockError};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haft_text::hex;
use ring::digest::{SHA256, digest};
use serde::{Deserialize, Serialize};

use super::guard::AccessToken;
use crate::client::record::{FOLDER, make_folder, replace_private};

const NAME: &str = "http-tokens.json";
/// The form of the file; another is not read.
const VERSION: u32 = 1;
/// A larger file is not one of ours.
const MOST_BYTES: u64 = 1 << 20;
/// Tokens of all servers together.
const MOST_TOKENS: usize = 200;
/// How long another process may hold the file.
const LOCK_TIME: Duration = Duration::from_secs(5);
const LOCK_POLL: Duration = Duration::from_millis(10);
/// Characters of an id: enough to tell tokens apart, and no part of the secret.
const ID_CHARS: usize = 8;

/// A token as it is kept.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct HttpTokenEntry {
    /// What the user revokes it by.
    pub id: String,
    /// The server that it opens, and no other.
    pub address: SocketAddr,
    /// SHA-256 of the token in hexadecimal digits.
    pub hash: String,
    /// Seconds since 1970.
    pub created: u64,
    /// Seconds since 1970; `None` if it ends with its server, or when it is revoked.
    pub expires: Option<u64>,
    /// Whether it was printed when the server started: it does not outlast that server.
    pub of_start: bool,
}

/// How long a token is good.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TokenLife {
    /// Until the server ends.
    WithServer,
    /// For this time, whether or not the server runs.
    For(Duration),
}

#[derive(Debug, Default, Serialize, Deserialize)]
struct StoredTokens {
    version: u32,
    tokens: Vec<HttpTokenEntry>,
}

/// What a file was at a look: another one says that it was replaced.
pub(super) type FileStamp = (u64, Option<SystemTime>, u64);

/// The tokens of all servers of a user.
#[derive(Debug, Clone)]
pub struct HttpTokenFile {
    folder: PathBuf,
}

impl HttpTokenFile {
    /// The file in this data folder.
    pub fn new(data_folder: &Path) -> Self {
        Self { folder: data_folder.to_owned() }
    }

    fn path(&self) -> PathBuf {
        self.folder.join(FOLDER).join(NAME)
    }

    /// The tokens that are still good, the oldest first.
    pub fn list(&self) -> Vec<HttpTokenEntry> {
        let now = now();
        let mut tokens = self.read();
        tokens.retain(|token| token.expires.is_none_or(|end| end > now));
        tokens
    }

    /// Adds a token of a server. The one of a new start takes the place of those that earlier starts at this address have left.
    pub fn add(&self, address: SocketAddr, token: &AccessToken, life: TokenLife) -> Result<HttpTokenEntry, String> {
        let hash = hash_of(token.reveal().as_bytes());
        let created = now();
        let of_start = life == TokenLife::WithServer;
        let expires = if let TokenLife::For(time) = life { Some(created.saturating_add(time.as_secs())) } else { None };
        let id = hash_of(format!("{hash} {created}").as_bytes())[..ID_CHARS].to_owned();
        let entry = HttpTokenEntry { id, address, hash, created, expires, of_start };
        self.change(|tokens| {
            tokens.retain(|known| known.expires.is_none_or(|end| end > created));
            tokens.retain(|known| !(of_start && known.of_start && known.address == address));
            if tokens.len() >= MOST_TOKENS {
                return Err(format!("there are {MOST_TOKENS} tokens: revoke some first"));
            }
            tokens.push(entry.clone());
            Ok(())
        })?;
        Ok(entry)
    }

    /// Removes a token; says what it was. Servers that run refuse it from then on.
    pub fn revoke(&self, id: &str) -> Result<Option<HttpTokenEntry>, String> {
        let mut removed = None;
        self.change(|tokens| {
            removed = tokens.iter().position(|token| token.id == id).map(|place| tokens.remove(place));
            Ok(())
        })?;
        Ok(removed)
    }

    fn change(&self, change: impl FnOnce(&mut Vec<HttpTokenEntry>) -> Result<(), String>) -> Result<(), String> {
        let _lock = self.lock()?;
        let mut tokens = self.read();
        change(&mut tokens)?;
        let written = serde_json::to_vec(&StoredTokens { version: VERSION, tokens }).map_err(Into::into);
        let written = written.and_then(|bytes| replace_private(&self.path(), &bytes));
        written.map_err(|error: std::io::Error| format!("the tokens cannot be stored: {error}"))
    }

    /// Everything in the file; nothing if there is none that can be read.
    pub(super) fn read(&self) -> Vec<HttpTokenEntry> {
        let path = self.path();
        let is_small = path.metadata().is_ok_and(|metadata| metadata.len() <= MOST_BYTES);
        let bytes = if is_small { std::fs::read(&path).unwrap_or_default() } else { Vec::new() };
        let stored: StoredTokens = serde_json::from_slice(&bytes).unwrap_or_default();
        if stored.version == VERSION { stored.tokens } else { Vec::new() }
    }

    /// `None` if there is no file.
    pub(super) fn stamp(&self) -> Option<FileStamp> {
        let metadata = self.path().metadata().ok()?;
        #[cfg(unix)]
        let number = std::os::unix::fs::MetadataExt::ino(&metadata);
        #[cfg(not(unix))]
        let number = 0;
        Some((metadata.len(), metadata.modified().ok(), number))
    }

    fn lock(&self) -> Result<File, String> {
        let failed = |error: &dyn std::fmt::Display| format!("the file of the tokens cannot be locked: {error}");
        make_folder(&self.folder).map_err(|error| failed(&error))?;
        let mut options = OpenOptions::new();
        options.create(true).truncate(false).write(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = options.open(self.path().with_extension("lock")).map_err(|error| failed(&error))?;
        for _ in 0..LOCK_TIME.as_millis() / LOCK_POLL.as_millis() {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::WouldBlock) => std::thread::sleep(LOCK_POLL),
                Err(TryLockError::Error(error)) => return Err(failed(&error)),
            }
        }
        Err(failed(&"another process holds it"))
    }
}

/// SHA-256 in hexadecimal digits.
pub(super) fn hash_of(bytes: &[u8]) -> String {
    hex::encode(digest(&SHA256, bytes))
}

/// Seconds since 1970.
pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_is_private_and_holds_no_token() {
        let folder = tempfile::tempdir().unwrap();
        let file = HttpTokenFile::new(folder.path());
        let token = AccessToken::random().unwrap();
        let entry = file.add("127.0.0.1:7333".parse().unwrap(), &token, TokenLife::WithServer).unwrap();
        let text = std::fs::read_to_string(file.path()).unwrap();
        assert!(!text.contains(token.reveal()) && text.contains(&entry.id) && !token.reveal().contains(&entry.id), "{text}");
        #[cfg(unix)]
        assert_eq!(std::os::unix::fs::PermissionsExt::mode(&file.path().metadata().unwrap().permissions()) & 0o777, 0o600);
        assert_eq!(file.list(), [entry]);
    }

    #[test]
    fn tokens_end_by_revocation_by_time_and_with_the_next_start() {
        let folder = tempfile::tempdir().unwrap();
        let file = HttpTokenFile::new(folder.path());
        let (here, there) = ("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap());
        let add = |address, life| file.add(address, &AccessToken::random().unwrap(), life).unwrap();
        let first = add(here, TokenLife::WithServer);
        let other = add(there, TokenLife::WithServer);
        let dated = add(here, TokenLife::For(Duration::from_mins(1)));
        add(here, TokenLife::For(Duration::ZERO));
        assert_eq!(file.list(), [first, other.clone(), dated.clone()]);
        let second = add(here, TokenLife::WithServer);
        assert_eq!(file.list(), [other.clone(), dated.clone(), second.clone()]);
        assert_eq!(file.revoke(&dated.id), Ok(Some(dated.clone())));
        assert_eq!(file.revoke(&dated.id), Ok(None));
        assert_eq!(file.list(), [other, second]);
    }

    #[test]
    fn what_is_no_file_of_ours_opens_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let file = HttpTokenFile::new(folder.path());
        make_folder(folder.path()).unwrap();
        for text in ["", "garbage", "{\"version\": 2, \"tokens\": []}", "[]"] {
            std::fs::write(file.path(), text).unwrap();
            assert_eq!(file.list(), [], "{text}");
        }
    }
}
