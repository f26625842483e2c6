//! Users of a tenant: whom its operator lets in, and the secrets that they get once.

use ring::digest::{SHA256, digest};
use ring::rand::{SecureRandom, SystemRandom};
use serde::{Deserialize, Serialize};

use super::Scope;

/// The hash of a secret. Secrets have 256 random bits, so a comparison of hashes tells an attacker nothing of use.
pub(super) type SecretHash = [u8; 32];

/// A user of a tenant, as the operator's file has it: no secret, but hashes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TenantUser {
    /// Unique; a user who is let in again is another one.
    pub id: String,
    /// For people.
    pub name: String,
    /// The team, if the user has one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// What the user may do.
    pub scopes: Vec<Scope>,
    /// The hash of the token for programs, in hexadecimal.
    pub secret: String,
    /// The hash of what the link has, in hexadecimal.
    pub link: String,
}

/// What a new user is told once, and nobody else.
#[derive(Clone)]
pub struct TenantInvitation {
    /// For `Authorization`.
    pub secret: String,
    /// For the link, which works once.
    pub link: String,
}

haft_contract::opaque_debug!(TenantInvitation);

impl TenantUser {
    /// Lets a user in; secrets begin with this.
    pub fn invite(name: &str, scopes: Vec<Scope>, prefix: &str) -> Result<(Self, TenantInvitation), String> {
        let invitation = TenantInvitation { secret: random_secret(prefix)?, link: random_secret(prefix)? };
        let hashed = |secret: &str| haft_text::hex::encode(hash(secret));
        let (secret, link, id) = (hashed(&invitation.secret), hashed(&invitation.link), random_secret("")?[..16].to_owned());
        Ok((Self { id, name: name.to_owned(), team: None, scopes, secret, link }, invitation))
    }
}

/// Who may use the server of a tenant.
pub trait UserDirectory: Send + Sync + std::fmt::Debug {
    /// All users, if they may have changed since the last question; `None` if they have not. Asked with each request.
    fn changed_users(&self) -> Option<Vec<TenantUser>>;
}

pub(super) fn hash(secret: &str) -> SecretHash {
    let mut hash = SecretHash::default();
    hash.copy_from_slice(digest(&SHA256, secret.as_bytes()).as_ref());
    hash
}

pub(super) fn parse_hash(text: &str) -> Option<SecretHash> {
    haft_text::hex::decode(text)?.try_into().ok()
}

/// 256 random bits in hexadecimal, after a prefix.
pub(super) fn random_secret(prefix: &str) -> Result<String, String> {
    let mut bytes = [0; 32];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| "This machine gives no random numbers for a token.".to_owned())?;
    Ok(format!("{prefix}{}", haft_text::hex::encode(bytes)))
}
