//! Signing in to a configured server, and out.

use std::sync::Arc;
use std::time::Duration;

use reqwest::Url;

use super::login::{self, LoginSummary, PendingLogin};
use super::may_carry_tokens;
use super::store::SignInFile;
use crate::client::failure::ServerFailure;
use crate::client::server::McpServer;
use crate::client::settings::{HttpServer, ServerTransport};

impl McpServer {
    /// Begins a sign-in: the user opens the link of what is returned. The browser comes back to this port, or to any.
    pub async fn begin_login(self: &Arc<Self>, port: Option<u16>) -> Result<PendingLogin, ServerFailure> {
        let settings = self.settings();
        let failed = |why: String| ServerFailure::new(&settings.name, format!("the sign-in failed: {why}"));
        let (server, address) = signable(&settings.transport).map_err(|(why, advice)| failed(why).advise(advice))?;
        let file = SignInFile::new(self.data_folder(), settings);
        if file.read().challenge.is_none() {
            // Its refusal says what it wants. One that refuses nothing may still publish where to sign in.
            let started = self.start().await;
            self.close().await;
            if let Err(failure) = started
                && !failure.needs_sign_in
            {
                return Err(failure);
            }
        }
        let advice = "Check its address, or ask its operator how to sign in";
        login::begin(server, &address, file, port).await.map_err(|why| failed(why).advise(advice))
    }

    /// Waits for the user to come back from the sign-in, and keeps what was granted.
    pub async fn finish_login(&self, login: PendingLogin, time: Duration) -> Result<LoginSummary, ServerFailure> {
        let name = &self.settings().name;
        let failed = |why: String| {
            let failure = ServerFailure::new(name, format!("the sign-in failed: {why}"));
            failure.advise(format!("Nothing was stored; run `haft mcp login {name}` to try again"))
        };
        login.finish(time).await.map_err(failed)
    }

    /// Forgets what was granted; says whether there was anything.
    pub fn logout(&self) -> Result<bool, ServerFailure> {
        let removed = SignInFile::new(self.data_folder(), self.settings()).remove();
        removed.map_err(|why| ServerFailure::new(&self.settings().name, why).advise("Correct the permissions of the data folder"))
    }

    /// How the user stands with a server at an address; `None` if it has not asked for a sign-in.
    pub fn sign_in_state(&self) -> Option<SignInState> {
        if !matches!(self.settings().transport, ServerTransport::Http(_)) {
            return None;
        }
        let stored = SignInFile::new(self.data_folder(), self.settings()).read();
        match stored.grant {
            // Without a way to renew it, a grant that has ended is none.
            Some(grant) if grant.has_expired() && grant.refresh_token.is_none() => Some(SignInState::Needed),
            Some(_) => Some(SignInState::Done),
            None => stored.challenge.map(|_| SignInState::Needed),
        }
    }
}

/// How a user stands with a server that wants a sign-in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignInState {
    /// The user has signed in.
    Done,
    /// It refuses until the user signs in.
    Needed,
}

impl SignInState {
    /// In words.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Done => "signed in",
            Self::Needed => "not signed in",
        }
    }
}

/// The address of a server that one can sign in to; why not, and what to do.
fn signable(transport: &ServerTransport) -> Result<(&HttpServer, Url), (String, &'static str)> {
    let ServerTransport::Http(server) = transport else {
        return Err(("it is a program of this machine".to_owned(), "Programs are given what they need by variables: see env and pass_env"));
    };
    if server.token.is_some() {
        return Err(("it has a token from token_env".to_owned(), "Remove token_env from its table to sign in instead"));
    }
    let address = Url::parse(&server.url).map_err(|error| (format!("its address is not a URL: {error}"), "Correct its url"))?;
    if may_carry_tokens(&address) {
        return Ok((server, address));
    }
    Err((
        "its address is not encrypted, and everybody on the way could read the tokens".to_owned(),
        "Use an address that begins with https://",
    ))
}
