//! Tokens: minted as a subset of another, kept as hashes, revoked with all that they minted.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::SystemTime;

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{Scope, Scopes};
use crate::error::ApiError;
use crate::time::timestamp;

/// Tokens that may exist at once.
const MOST_TOKENS: usize = 256;
/// The longest name.
const MOST_NAME_CHARS: usize = 60;

/// The hash of a secret. Secrets have 256 random bits, so a comparison of hashes tells an attacker nothing of use.
type SecretHash = [u8; 32];

/// All tokens of a server. They end with it.
#[derive(Debug, Default)]
pub(crate) struct TokenBook(Mutex<TokenState>);

#[derive(Debug, Default)]
struct TokenState {
    tokens: BTreeMap<u64, TokenRecord>,
    next: u64,
}

#[derive(Debug)]
struct TokenRecord {
    name: String,
    scopes: Scopes,
    parent: Option<u64>,
    created: SystemTime,
    last_used: Option<SystemTime>,
    /// Sent with each request.
    secrets: Vec<SecretHash>,
    /// Works once, for a page that signs in.
    link: Option<SecretHash>,
    /// Cancelled on revocation.
    revoked: CancellationToken,
}

/// A token that was just minted. Its secrets are not kept.
#[derive(Debug)]
pub(crate) struct NewToken {
    pub(crate) id: u64,
    /// For `Authorization`.
    pub(crate) secret: String,
    /// For the link.
    pub(crate) link: String,
    pub(crate) scopes: Scopes,
}

/// The token of a request.
#[derive(Debug, Clone)]
pub(crate) struct TokenUse {
    pub(crate) id: u64,
    pub(crate) name: String,
    pub(crate) scopes: Scopes,
    pub(crate) revoked: CancellationToken,
}

/// A token in a list.
#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct TokenSummary {
    pub(crate) id: String,
    pub(crate) name: String,
    pub(crate) scopes: Vec<Scope>,
    pub(crate) created: Option<String>,
    pub(crate) last_used: Option<String>,
    /// Whether the request was made with it.
    pub(crate) current: bool,
}

impl TokenBook {
    /// Mints a token. One that another mints has at most its scopes.
    pub(crate) fn mint(&self, name: &str, scopes: Scopes, parent: Option<&TokenUse>) -> Result<NewToken, ApiError> {
        if parent.is_some_and(|parent| !parent.scopes.contains(scopes)) {
            return Err(missing("A token can only make one with a part of its own scopes."));
        }
        if scopes == Scopes::default() {
            return Err(ApiError::bad_request("A token needs at least one scope: view, chat, approve or admin."));
        }
        let (secret, link) = (random_secret()?, random_secret()?);
        let mut state = self.state();
        let parent = parent.map(|parent| parent.id);
        if parent.is_some_and(|parent| !state.tokens.contains_key(&parent)) {
            return Err(ApiError::conflict("The token of this request was revoked meanwhile."));
        }
        if state.tokens.len() >= MOST_TOKENS {
            return Err(ApiError::conflict(format!("There are {MOST_TOKENS} tokens already.")).help("Revoke one that is not used."));
        }
        state.next += 1;
        let id = state.next;
        let name = haft_text::display::shorten(name.trim(), MOST_NAME_CHARS).into_owned();
        let record = TokenRecord {
            name: if name.is_empty() { format!("token {id}") } else { name },
            scopes,
            parent,
            created: SystemTime::now(),
            last_used: None,
            secrets: vec![hash(&secret)],
            link: Some(hash(&link)),
            revoked: CancellationToken::new(),
        };
        state.tokens.insert(id, record);
        Ok(NewToken { id, secret, link, scopes })
    }

    /// Takes the secret of a link, which works once, and gives the one of the cookie.
    pub(crate) fn sign_in(&self, link: &str) -> Result<Option<(TokenUse, String)>, ApiError> {
        let (wanted, secret) = (hash(link), random_secret()?);
        let mut state = self.state();
        let Some((id, record)) = state.tokens.iter_mut().find(|(_, record)| record.link == Some(wanted)) else { return Ok(None) };
        record.link = None;
        record.secrets.push(hash(&secret));
        Ok(Some((use_of(*id, record), secret)))
    }

    /// The token with this secret.
    pub(crate) fn find(&self, secret: &str) -> Option<TokenUse> {
        let wanted = hash(secret);
        let mut state = self.state();
        let (id, record) = state.tokens.iter_mut().find(|(_, record)| record.secrets.contains(&wanted))?;
        record.last_used = Some(SystemTime::now());
        Some(use_of(*id, record))
    }

    /// Revokes a token, and all that it minted; open streams of them end. Returns whether there was one.
    pub(crate) fn revoke(&self, id: u64) -> bool {
        let mut state = self.state();
        let Some(record) = state.tokens.remove(&id) else { return false };
        record.revoked.cancel();
        let mut gone = vec![id];
        while let Some(parent) = gone.pop() {
            let children: Vec<u64> = state.tokens.iter().filter(|(_, record)| record.parent == Some(parent)).map(|(id, _)| *id).collect();
            for child in children {
                state.tokens.remove(&child).inspect(|record| record.revoked.cancel());
                gone.push(child);
            }
        }
        true
    }

    pub(crate) fn list(&self, current: u64) -> Vec<TokenSummary> {
        let summary = |(id, record): (&u64, &TokenRecord)| TokenSummary {
            id: token_name(*id),
            name: record.name.clone(),
            scopes: record.scopes.to_vec(),
            created: timestamp(record.created),
            last_used: record.last_used.and_then(timestamp),
            current: *id == current,
        };
        self.state().tokens.iter().map(summary).collect()
    }

    // Records come and go whole, so the book is consistent after a panic elsewhere.
    fn state(&self) -> MutexGuard<'_, TokenState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn use_of(id: u64, record: &TokenRecord) -> TokenUse {
    TokenUse { id, name: record.name.clone(), scopes: record.scopes, revoked: record.revoked.clone() }
}

/// How a token is named in the API.
pub(crate) fn token_name(id: u64) -> String {
    format!("t{id}")
}

/// The number of a token that is named so.
pub(crate) fn token_id(name: &str) -> Option<u64> {
    name.strip_prefix('t')?.parse().ok()
}

/// A scope is missing.
pub(crate) fn missing(message: impl Into<String>) -> ApiError {
    ApiError::new(axum::http::StatusCode::FORBIDDEN, "missing_scope", message)
}

fn hash(secret: &str) -> SecretHash {
    let mut hash = SecretHash::default();
    hash.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    hash
}

fn random_secret() -> Result<String, ApiError> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| ApiError::internal("This machine gives no random numbers for a token."))?;
    Ok(haft_text::hex::encode(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(list: &[Scope]) -> Scopes {
        list.iter().copied().collect()
    }

    #[test]
    fn token_mints_a_subset_alone_and_revocation_takes_what_it_minted() {
        let book = TokenBook::default();
        let root = book.mint("link", Scopes::all(), None).unwrap();
        let root = book.find(&root.secret).unwrap();
        let phone = book.mint("phone", scopes(&[Scope::View, Scope::Approve]), Some(&root)).unwrap();
        let phone_use = book.find(&phone.secret).unwrap();
        assert!(book.mint("more", scopes(&[Scope::View, Scope::Chat]), Some(&phone_use)).is_err());
        assert!(book.mint("none", Scopes::default(), Some(&phone_use)).is_err());
        let guest = book.mint("guest", scopes(&[Scope::View]), Some(&phone_use)).unwrap();
        let guest_use = book.find(&guest.secret).unwrap();
        assert!(book.revoke(phone_use.id) && !book.revoke(phone_use.id));
        assert!(phone_use.revoked.is_cancelled() && guest_use.revoked.is_cancelled() && !root.revoked.is_cancelled());
        assert!(book.find(&guest.secret).is_none() && book.mint("late", scopes(&[Scope::View]), Some(&guest_use)).is_err());
        assert_eq!(book.list(root.id).len(), 1);
    }

    #[test]
    fn link_works_once_and_is_no_secret_for_requests() {
        let book = TokenBook::default();
        let token = book.mint("link", Scopes::all(), None).unwrap();
        assert!(book.find(&token.link).is_none() && book.sign_in(&token.secret).unwrap().is_none());
        let (_, cookie) = book.sign_in(&token.link).unwrap().unwrap();
        assert!(book.sign_in(&token.link).unwrap().is_none());
        assert_eq!(book.find(&cookie).map(|token| token.id), Some(token.id));
    }
}
