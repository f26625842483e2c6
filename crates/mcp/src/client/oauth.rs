//! Signing in to servers at addresses by OAuth: the user grants access in a browser, and Haft keeps the tokens.
//!
//! Everything that a server says here is untrusted: where to sign in, which rights to ask for, who the authorization server is. Addresses
//! are checked before they are reached, redirects are not followed, and every answer is bounded. Tokens are kept in a file of the user's
//! own, and are sent to the address that they were granted for alone.

mod address;
mod authorization;
mod challenge;
mod discovery;
mod fetch;
mod listener;
mod login;
mod metadata;
mod pkce;
mod registration;
mod sign_in;
mod store;
mod token;

pub(crate) use self::address::may_carry_tokens;
pub(crate) use self::authorization::Authorization;
pub use self::login::{LoginSummary, PendingLogin};
pub use self::sign_in::SignInState;
