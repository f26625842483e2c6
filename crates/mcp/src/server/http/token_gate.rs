//! The tokens that open a running server. They are compared with their file before each request, so that revocation counts at once.

use std::hint::black_box;
use std::net::SocketAddr;
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio_util::sync::CancellationToken;

use super::guard::AccessToken;
use super::token_file::{FileStamp, HttpTokenFile, hash_of, now};

/// A token that a request has presented.
#[derive(Debug, Clone)]
pub(super) struct PresentedToken {
    pub(super) id: String,
    /// Cancelled when the token is revoked or ends.
    pub(super) revoked: CancellationToken,
}

#[derive(Debug)]
struct LiveToken {
    id: String,
    hash: String,
    expires: Option<u64>,
    revoked: CancellationToken,
}

#[derive(Debug, Default)]
struct LiveTokens {
    stamp: Option<FileStamp>,
    tokens: Vec<LiveToken>,
}

/// What opens a server.
#[derive(Debug)]
pub(super) struct TokenGate {
    /// The file that the tokens are read from, and the address that they must be for.
    source: Option<(HttpTokenFile, SocketAddr)>,
    live: Mutex<LiveTokens>,
}

impl TokenGate {
    /// One token, which cannot be revoked.
    pub(super) fn fixed(token: &AccessToken) -> Self {
        let hash = hash_of(token.reveal().as_bytes());
        let token = LiveToken { id: String::new(), hash, expires: None, revoked: CancellationToken::new() };
        Self { source: None, live: Mutex::new(LiveTokens { stamp: None, tokens: vec![token] }) }
    }

    /// The tokens of this address in a file.
    pub(super) fn of_file(file: HttpTokenFile, address: SocketAddr) -> Self {
        Self { source: Some((file, address)), live: Mutex::default() }
    }

    /// The token that this is, if it is good now.
    pub(super) fn find(&self, presented: &[u8]) -> Option<PresentedToken> {
        let hash = hash_of(presented);
        let live = self.refresh();
        // All are compared, and each whole: the time tells nothing.
        let matching = live.tokens.iter().fold(None, |found, token| if is_equal(&token.hash, &hash) { Some(token) } else { found });
        matching.map(|token| PresentedToken { id: token.id.clone(), revoked: token.revoked.clone() })
    }

    /// Whether this token is still good.
    pub(super) fn is_good(&self, id: &str) -> bool {
        self.refresh().tokens.iter().any(|token| token.id == id)
    }

    /// Takes over what has changed in the file, and ends what was revoked.
    fn refresh(&self) -> MutexGuard<'_, LiveTokens> {
        let mut live = self.live.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((file, address)) = &self.source else { return live };
        let stamp = file.stamp();
        if stamp != live.stamp || stamp.is_none() {
            live.stamp = stamp;
            let stored = file.read().into_iter().filter(|token| token.address == *address);
            let mut known = std::mem::take(&mut live.tokens);
            for token in stored {
                let place = known.iter().position(|live| live.hash == token.hash && live.id == token.id);
                let revoked = place.map_or_else(CancellationToken::new, |place| known.swap_remove(place).revoked);
                live.tokens.push(LiveToken { id: token.id, hash: token.hash, expires: token.expires, revoked });
            }
            for gone in known {
                gone.revoked.cancel();
            }
        }
        let now = now();
        live.tokens.retain(|token| {
            let is_over = token.expires.is_some_and(|end| end <= now);
            if is_over {
                token.revoked.cancel();
            }
            !is_over
        });
        live
    }
}

/// Compares in a time that tells nothing of where they differ.
fn is_equal(one: &str, other: &str) -> bool {
    let mut difference = u8::from(one.len() != other.len());
    for (left, right) in one.bytes().zip(other.bytes()) {
        difference |= left ^ right;
    }
    black_box(difference) == 0
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::token_file::TokenLife;
    use super::*;

    #[test]
    fn revoked_token_opens_nothing_and_ends_what_it_opened() {
        let folder = tempfile::tempdir().unwrap();
        let file = HttpTokenFile::new(folder.path());
        let (address, other): (SocketAddr, SocketAddr) = ("127.0.0.1:1".parse().unwrap(), "127.0.0.1:2".parse().unwrap());
        let gate = TokenGate::of_file(file.clone(), address);
        let tokens: Vec<AccessToken> = (0..3).map(|_| AccessToken::random().unwrap()).collect();
        let find = |place: usize| gate.find(tokens[place].reveal().as_bytes());
        assert!(find(0).is_none());
        let first = file.add(address, &tokens[0], TokenLife::WithServer).unwrap();
        file.add(address, &tokens[1], TokenLife::For(Duration::from_mins(1))).unwrap();
        file.add(other, &tokens[2], TokenLife::For(Duration::from_mins(1))).unwrap();
        let (one, two) = (find(0).unwrap(), find(1).unwrap());
        assert!(find(2).is_none(), "it opens another server");
        file.revoke(&first.id).unwrap();
        assert!(!gate.is_good(&one.id) && find(0).is_none() && one.revoked.is_cancelled());
        assert!(gate.is_good(&two.id) && find(1).is_some() && !two.revoked.is_cancelled());
        std::fs::remove_dir_all(folder.path()).unwrap();
        assert!(find(1).is_none() && two.revoked.is_cancelled(), "without the file nothing is open");
    }
}
