//! Who may do what: tokens, their scopes, and the checks of each request.

mod guard;
mod limiter;
mod scope;
mod token_file;
mod tokens;
mod users;

pub(crate) use self::guard::{GuardState, SignedIn, check, cookie_name, credential};
pub(crate) use self::limiter::FailureLimit;
pub use self::scope::Scope;
pub(crate) use self::scope::Scopes;
pub(crate) use self::token_file::TokenFile;
pub(crate) use self::tokens::{Lifetime, NewToken, TenantTokens, TokenBook, TokenSummary, UNUSED, token_id, token_name};
pub use self::users::{TenantInvitation, TenantUser, UserDirectory};
