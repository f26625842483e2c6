//! Who may do what: tokens, their scopes, and the checks of each request.

mod guard;
mod limiter;
mod scope;
mod token_file;
mod tokens;

pub(crate) use self::guard::{GuardState, SignedIn, check, cookie_name};
pub(crate) use self::limiter::FailureLimit;
pub(crate) use self::scope::{Scope, Scopes};
pub(crate) use self::token_file::TokenFile;
pub(crate) use self::tokens::{Lifetime, NewToken, TokenBook, TokenSummary, UNUSED, token_id, token_name};
