//! Tokens: minted as a subset of another, kept as hashes, revoked with all that they minted.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use schemars::JsonSchema;
use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::token_file::{StoredToken, TokenFile};
use super::users::{SecretHash, TenantUser, UserDirectory, hash, parse_hash, random_secret};
use super::{Scope, Scopes};
use crate::error::ApiError;
use crate::time::{parse, timestamp};

/// Tokens that may exist at once.
const MOST_TOKENS: usize = 256;
/// The longest name.
const MOST_NAME_CHARS: usize = 60;
/// A token that nobody used for this long does not survive the next restart.
pub(crate) const UNUSED: Duration = Duration::from_hours(30 * 24);
/// How old the stored time of the last use may be.
const USE_STORED: Duration = Duration::from_hours(1);

/// All tokens of a server. Without a file they end with it.
#[derive(Debug, Default)]
pub(crate) struct TokenBook(Mutex<TokenState>);

#[derive(Debug, Default)]
struct TokenState {
    tokens: BTreeMap<u64, TokenRecord>,
    next: u64,
    file: Option<TokenFile>,
    tenant: Option<TenantTokens>,
}

/// What tokens of a tenant's server have besides.
#[derive(Debug)]
pub(crate) struct TenantTokens {
    /// What every secret of the tenant begins with, so that the server in front of it knows whose it is.
    pub(crate) prefix: String,
    /// Whom the operator lets in.
    pub(crate) users: Arc<dyn UserDirectory>,
}

/// Whether a token survives a restart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lifetime {
    /// Ends with the server.
    Server,
    /// Once a page has signed in with its link: until then nobody knows a secret of it.
    AfterSignIn,
    /// From the start.
    Stored,
}

#[derive(Debug)]
struct TokenRecord {
    name: String,
    scopes: Scopes,
    parent: Option<u64>,
    /// The user of a tenant whose token it is.
    user: Option<String>,
    created: SystemTime,
    last_used: Option<SystemTime>,
    /// The last use that the file has.
    use_stored: Option<SystemTime>,
    lifetime: Lifetime,
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
    /// The tokens of earlier servers that are still used, and those of this one. The error says why there are none of earlier ones.
    pub(crate) fn load(file: TokenFile, now: SystemTime) -> (Self, Option<std::io::Error>) {
        let (stored, fault) = match file.read() {
            Ok(stored) => (stored, None),
            Err(error) => (Vec::new(), Some(error)),
        };
        let next = stored.iter().map(|token| token.id).max().unwrap_or(0);
        let used = stored.into_iter().filter_map(|token| Some((token.id, TokenRecord::from_stored(token)?)));
        let mut tokens: BTreeMap<_, _> = used.filter(|(_, record)| record.is_used(now)).take(MOST_TOKENS / 2).collect();
        // What a token minted does not outlive it, however deep.
        while let Some(orphan) = orphan(&tokens) {
            tokens.remove(&orphan);
        }
        (Self(Mutex::new(TokenState { tokens, next, file: Some(file), tenant: None })), fault)
    }

    /// The same, of a tenant.
    pub(crate) fn of_tenant(self, tenant: TenantTokens) -> Self {
        self.state().tenant = Some(tenant);
        self
    }

    /// Takes what the operator has changed about the users: users who were removed are signed out, and open streams end.
    pub(crate) fn follow_users(&self) {
        self.state().follow_users();
    }

    /// Mints a token. One that another mints has at most its scopes, and does not live longer.
    pub(crate) fn mint(&self, name: &str, scopes: Scopes, parent: Option<&TokenUse>, lifetime: Lifetime) -> Result<NewToken, ApiError> {
        if parent.is_some_and(|parent| !parent.scopes.contains(scopes)) {
            return Err(missing("A token can only make one with a part of its own scopes."));
        }
        if scopes == Scopes::default() {
            return Err(ApiError::bad_request("A token needs at least one scope: view, chat, approve or admin."));
        }
        let mut state = self.state();
        let (secret, link) = (state.new_secret()?, state.new_secret()?);
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
            user: None,
            created: SystemTime::now(),
            last_used: None,
            use_stored: None,
            lifetime,
            secrets: vec![hash(&secret)],
            link: Some(hash(&link)),
            revoked: CancellationToken::new(),
        };
        state.tokens.insert(id, record);
        if let Err(error) = state.store() {
            state.tokens.remove(&id);
            return Err(error);
        }
        Ok(NewToken { id, secret, link, scopes })
    }

    /// Takes the secret of a link, which works once, and gives the one of the cookie.
    pub(crate) fn sign_in(&self, link: &str) -> Result<Option<(TokenUse, String)>, ApiError> {
        let wanted = hash(link);
        let mut state = self.state();
        state.follow_users();
        let secret = state.new_secret()?;
        let Some((id, record)) = state.tokens.iter_mut().find(|(_, record)| record.link == Some(wanted)) else { return Ok(None) };
        record.link = None;
        record.secrets.push(hash(&secret));
        record.last_used = Some(SystemTime::now());
        if record.lifetime == Lifetime::AfterSignIn {
            record.lifetime = Lifetime::Stored;
        }
        let signed_in = use_of(*id, record);
        state.store()?;
        Ok(Some((signed_in, secret)))
    }

    /// The token with this secret.
    pub(crate) fn find(&self, secret: &str) -> Option<TokenUse> {
        let wanted = hash(secret);
        let mut state = self.state();
        state.follow_users();
        let (id, record) = state.tokens.iter_mut().find(|(_, record)| record.secrets.contains(&wanted))?;
        let now = SystemTime::now();
        record.last_used = Some(now);
        let is_old = record.use_stored.is_none_or(|stored| now.duration_since(stored).is_ok_and(|age| age > USE_STORED));
        let found = use_of(*id, record);
        if is_old {
            // The next use tries again.
            state.store().ok();
        }
        Some(found)
    }

    /// Revokes a token, and all that it minted; open streams of them end. Returns whether there was one.
    pub(crate) fn revoke(&self, id: u64) -> Result<bool, ApiError> {
        let mut state = self.state();
        if !state.remove(id) {
            return Ok(false);
        }
        state.store().map(|()| true)
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

impl TokenState {
    fn new_secret(&self) -> Result<String, ApiError> {
        let prefix = self.tenant.as_ref().map_or("", |tenant| tenant.prefix.as_str());
        random_secret(prefix).map_err(ApiError::internal)
    }

    /// Removes a token with all that it minted; says whether there was one.
    fn remove(&mut self, id: u64) -> bool {
        let Some(record) = self.tokens.remove(&id) else { return false };
        record.revoked.cancel();
        let mut gone = vec![id];
        while let Some(parent) = gone.pop() {
            let children: Vec<u64> = self.tokens.iter().filter(|(_, record)| record.parent == Some(parent)).map(|(id, _)| *id).collect();
            for child in children {
                self.tokens.remove(&child).inspect(|record| record.revoked.cancel());
                gone.push(child);
            }
        }
        true
    }

    fn follow_users(&mut self) {
        let Some(users) = self.tenant.as_ref().and_then(|tenant| tenant.users.changed_users()) else { return };
        let is_gone = |record: &TokenRecord| record.user.as_ref().is_some_and(|id| users.iter().all(|user| user.id != *id));
        let gone: Vec<u64> = self.tokens.iter().filter(|(_, record)| is_gone(record)).map(|(id, _)| *id).collect();
        for id in gone {
            self.remove(id);
        }
        for user in users {
            if self.tokens.values().any(|record| record.user.as_ref() == Some(&user.id)) {
                continue;
            }
            self.next += 1;
            let id = self.next;
            self.tokens.extend(TokenRecord::of_user(user).map(|record| (id, record)));
        }
        // The next use tries again; until then the users are known to this process.
        self.store().ok();
    }

    /// Writes the tokens that survive a restart to the file.
    fn store(&mut self) -> Result<(), ApiError> {
        let Some(file) = &self.file else { return Ok(()) };
        let stored: Vec<StoredToken> = self.tokens.iter().filter_map(|(id, record)| record.to_stored(*id)).collect();
        file.write(&stored).map_err(|error| {
            ApiError::unavailable(format!("It took effect here, and cannot be stored for the next start of the server: {error}."))
                .help("Free space in the data folder, then try again.")
        })?;
        for record in self.tokens.values_mut() {
            record.use_stored = record.last_used;
        }
        Ok(())
    }
}

impl TokenRecord {
    /// The token of a user whom the operator has just let in; nothing if its hashes are none.
    fn of_user(user: TenantUser) -> Option<Self> {
        Some(Self {
            name: user.name,
            scopes: user.scopes.into_iter().collect(),
            parent: None,
            user: Some(user.id),
            created: SystemTime::now(),
            last_used: None,
            use_stored: None,
            lifetime: Lifetime::Stored,
            secrets: vec![parse_hash(&user.secret)?],
            link: parse_hash(&user.link),
            revoked: CancellationToken::new(),
        })
    }

    fn from_stored(token: StoredToken) -> Option<Self> {
        let secrets = token.secrets.iter().map(|secret| parse_hash(secret)).collect::<Option<Vec<_>>>()?;
        let last_used = token.last_used.as_deref().and_then(parse);
        Some(Self {
            name: token.name,
            scopes: token.scopes.into_iter().collect(),
            parent: token.parent,
            user: token.user,
            created: parse(&token.created)?,
            last_used,
            use_stored: last_used,
            lifetime: Lifetime::Stored,
            secrets,
            link: token.link.as_deref().and_then(parse_hash),
            revoked: CancellationToken::new(),
        })
    }

    fn to_stored(&self, id: u64) -> Option<StoredToken> {
        let encode = |hash: &SecretHash| haft_text::hex::encode(hash);
        (self.lifetime == Lifetime::Stored).then(|| StoredToken {
            id,
            name: self.name.clone(),
            scopes: self.scopes.to_vec(),
            parent: self.parent,
            user: self.user.clone(),
            created: timestamp(self.created).unwrap_or_default(),
            last_used: self.last_used.and_then(timestamp),
            secrets: self.secrets.iter().map(encode).collect(),
            link: self.link.as_ref().map(encode),
        })
    }

    /// Clocks are set: a time not too far in the future counts as well.
    fn is_used(&self, now: SystemTime) -> bool {
        // Whom the operator let in stays until the operator says otherwise; forgotten, the link would work a second time.
        if self.user.is_some() {
            return true;
        }
        let last = self.last_used.unwrap_or(self.created);
        now.duration_since(last).unwrap_or_else(|ahead| ahead.duration()) < UNUSED
    }
}

/// A token whose parent is gone.
fn orphan(tokens: &BTreeMap<u64, TokenRecord>) -> Option<u64> {
    tokens.iter().find(|(_, record)| record.parent.is_some_and(|parent| !tokens.contains_key(&parent))).map(|(id, _)| *id)
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

#[cfg(test)]
mod tests {
    use super::*;

    fn scopes(list: &[Scope]) -> Scopes {
        list.iter().copied().collect()
    }

    #[test]
    fn token_mints_a_subset_alone_and_revocation_takes_what_it_minted() {
        let book = TokenBook::default();
        let root = book.mint("link", Scopes::all(), None, Lifetime::AfterSignIn).unwrap();
        let root = book.find(&root.secret).unwrap();
        let phone = book.mint("phone", scopes(&[Scope::View, Scope::Approve]), Some(&root), Lifetime::Stored).unwrap();
        let phone_use = book.find(&phone.secret).unwrap();
        assert!(book.mint("more", scopes(&[Scope::View, Scope::Chat]), Some(&phone_use), Lifetime::Stored).is_err());
        assert!(book.mint("none", Scopes::default(), Some(&phone_use), Lifetime::Stored).is_err());
        let guest = book.mint("guest", scopes(&[Scope::View]), Some(&phone_use), Lifetime::Stored).unwrap();
        let guest_use = book.find(&guest.secret).unwrap();
        assert!(book.revoke(phone_use.id).unwrap() && !book.revoke(phone_use.id).unwrap());
        assert!(phone_use.revoked.is_cancelled() && guest_use.revoked.is_cancelled() && !root.revoked.is_cancelled());
        assert!(
            book.find(&guest.secret).is_none() && book.mint("late", scopes(&[Scope::View]), Some(&guest_use), Lifetime::Stored).is_err()
        );
        assert_eq!(book.list(root.id).len(), 1);
    }

    #[test]
    fn link_works_once_and_is_no_secret_for_requests() {
        let book = TokenBook::default();
        let token = book.mint("link", Scopes::all(), None, Lifetime::AfterSignIn).unwrap();
        assert!(book.find(&token.link).is_none() && book.sign_in(&token.secret).unwrap().is_none());
        let (_, cookie) = book.sign_in(&token.link).unwrap().unwrap();
        assert!(book.sign_in(&token.link).unwrap().is_none());
        assert_eq!(book.find(&cookie).map(|token| token.id), Some(token.id));
    }

    /// Users that a test changes.
    #[derive(Debug, Default)]
    struct TestUsers(Mutex<Option<Vec<TenantUser>>>);

    impl UserDirectory for TestUsers {
        fn changed_users(&self) -> Option<Vec<TenantUser>> {
            self.0.lock().unwrap().take()
        }
    }

    #[test]
    fn users_of_a_tenant_come_and_go_with_the_operators_list() {
        let folder = tempfile::tempdir().unwrap();
        let users = Arc::new(TestUsers::default());
        let open = |now| {
            let (book, _) = TokenBook::load(TokenFile::open(&folder.path().join("tokens.json")).unwrap().unwrap(), now);
            book.of_tenant(TenantTokens { prefix: "abc.".into(), users: Arc::clone(&users) as _ })
        };
        let set = |list: &[&TenantUser]| *users.0.lock().unwrap() = Some(list.iter().map(|user| (*user).clone()).collect());
        let (ann, invitation) = TenantUser::invite("ann", vec![Scope::View, Scope::Chat], "abc.").unwrap();
        let (bob, of_bob) = TenantUser::invite("bob", vec![Scope::View], "abc.").unwrap();
        let now = SystemTime::now();
        let book = open(now);
        set(&[&ann, &bob]);
        let (signed_in, cookie) = book.sign_in(&invitation.link).unwrap().unwrap();
        assert!(cookie.starts_with("abc.") && invitation.secret.starts_with("abc.") && signed_in.name == "ann");
        let minted = book.mint("phone", scopes(&[Scope::View]), Some(&signed_in), Lifetime::Stored).unwrap();
        assert!(book.find(&of_bob.secret).is_some_and(|bob| bob.scopes == scopes(&[Scope::View])));
        drop(book);
        // Nobody used them for long: they stay, and no link works twice.
        let book = open(now + UNUSED * 2);
        set(&[&ann, &bob]);
        assert!(book.sign_in(&invitation.link).unwrap().is_none() && book.find(&cookie).is_some());
        let phone =
            book.find(&book.mint("p", scopes(&[Scope::View]), book.find(&cookie).as_ref(), Lifetime::Stored).unwrap().secret).unwrap();
        set(&[&bob]);
        book.follow_users();
        assert!(phone.revoked.is_cancelled() && book.find(&cookie).is_none() && book.find(&minted.secret).is_none());
        assert!(book.find(&of_bob.secret).is_some());
    }

    #[test]
    fn tokens_in_use_survive_a_restart_and_revoked_ones_do_not() {
        let folder = tempfile::tempdir().unwrap();
        let open = |now| TokenBook::load(TokenFile::open(&folder.path().join("tokens.json")).unwrap().unwrap(), now).0;
        let now = SystemTime::now();
        let book = open(now);
        let link = book.mint("link", Scopes::all(), None, Lifetime::AfterSignIn).unwrap();
        let unused = book.mint("link", Scopes::all(), None, Lifetime::AfterSignIn).unwrap();
        let program = book.mint("programs", scopes(&[Scope::View]), None, Lifetime::Server).unwrap();
        let (root, cookie) = book.sign_in(&link.link).unwrap().unwrap();
        let phone = book.mint("phone", scopes(&[Scope::View]), Some(&root), Lifetime::Stored).unwrap();
        let guest = book.mint("guest", scopes(&[Scope::View]), Some(&root), Lifetime::Stored).unwrap();
        book.revoke(guest.id).unwrap();
        drop(book);
        let file = std::fs::read_to_string(folder.path().join("tokens.json")).unwrap();
        assert!(![&cookie, &phone.secret, &phone.link, &link.secret].iter().any(|secret| file.contains(secret.as_str())), "{file}");
        let book = open(now);
        let names: Vec<_> = book.list(0).into_iter().map(|token| token.name).collect();
        assert_eq!(names, ["link", "phone"]);
        assert_eq!(book.find(&cookie).map(|token| token.scopes), Some(Scopes::all()));
        for gone in [&unused.secret, &unused.link, &program.secret, &guest.secret] {
            assert!(book.find(gone).is_none() && book.sign_in(gone).unwrap().is_none());
        }
        // The link of the phone was not used yet, and works once.
        assert!(book.sign_in(&phone.link).unwrap().is_some() && book.sign_in(&phone.link).unwrap().is_none());
        // No id is used twice at once, and a revocation takes what was minted before the restart.
        assert!(book.mint("new", scopes(&[Scope::View]), None, Lifetime::Stored).unwrap().id > phone.id);
        book.revoke(root.id).unwrap();
        drop(book);
        assert_eq!(open(now).list(0).len(), 1);
        // Nobody used the other one for long.
        assert!(open(now + UNUSED * 2).list(0).is_empty());
    }
}
