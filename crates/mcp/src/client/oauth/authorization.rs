//! The tokens of a sign-in in use: sent with each request, renewed before they end, given up when they are refused.

use std::path::Path;

use reqwest::header::HeaderMap;
use reqwest::{StatusCode, Url};

use super::challenge::AuthChallenge;
use super::may_carry_tokens;
use super::store::{SignInFile, TokenGrant};
use super::token::{self, TokenFault};
use crate::client::settings::{BearerToken, HttpServer, OAuthClient, ServerSettings, ServerTransport};

/// The sign-in of one server, as its connection uses it.
#[derive(Debug)]
pub(crate) struct Authorization {
    server: String,
    file: SignInFile,
    client: OAuthClient,
    renewing: tokio::sync::Mutex<()>,
}

impl Authorization {
    /// The sign-in of this server; `None` if it cannot have one: it is given a token, or its address is not encrypted.
    pub(crate) fn for_server(data_folder: &Path, settings: &ServerSettings) -> Option<Self> {
        let ServerTransport::Http(HttpServer { url, token: None, oauth, .. }) = &settings.transport else { return None };
        let address = Url::parse(url).ok().filter(may_carry_tokens)?;
        drop(address);
        let (server, file, client) = (settings.name.clone(), SignInFile::new(data_folder, settings), oauth.clone());
        Some(Self { server, file, client, renewing: tokio::sync::Mutex::default() })
    }

    /// The token for a request. Read anew each time: another process may have signed in or out.
    pub(crate) async fn token(&self) -> Option<String> {
        let grant = self.file.read().grant?;
        if grant.has_expired() && grant.refresh_token.is_some() { self.renew(&grant.access_token).await } else { Some(grant.access_token) }
    }

    /// Another token than this one, which was refused or has ended.
    pub(crate) async fn renew(&self, refused: &str) -> Option<String> {
        let _turn = self.renewing.lock().await;
        let _lock = self.file.lock().await.ok()?;
        let mut stored = self.file.read();
        let grant = stored.grant.as_mut()?;
        if grant.access_token != refused {
            return Some(grant.access_token.clone());
        }
        match self.request(grant).await {
            Ok(()) => {}
            Err(TokenFault::Ended(_)) => grant.refresh_token = None,
            Err(TokenFault::Failed(_)) => return None,
        }
        let token = Some(grant.access_token.clone()).filter(|token| token != refused);
        self.file.write(stored).ok()?;
        token
    }

    /// Asks the authorization server of the grant, and no other, for new tokens.
    async fn request(&self, grant: &mut TokenGrant) -> Result<(), TokenFault> {
        let endpoint = Url::parse(&grant.token_endpoint).map_err(|error| TokenFault::Ended(error.to_string()))?;
        let refresh = grant.refresh_token.clone().ok_or_else(|| TokenFault::Ended(String::new()))?;
        let mut client = grant.client.clone();
        if self.client.id.as_ref() == Some(&client.id) {
            client.secret = self.client.secret.as_ref().map(|BearerToken(secret)| secret.clone());
        }
        let fields = [("grant_type", "refresh_token"), ("refresh_token", refresh.as_str()), ("resource", grant.resource.as_str())];
        let issued = token::request(&endpoint, &client, &fields).await?;
        (grant.access_token, grant.expires_at) = (issued.access_token, issued.expires_at);
        if issued.refresh_token.is_some() {
            grant.refresh_token = issued.refresh_token;
        }
        Ok(())
    }

    /// Notes what a refusal asks for, so that the next sign-in asks for it; says what to do, as part of a sentence.
    pub(crate) async fn refused(&self, status: StatusCode, headers: &HeaderMap) -> Option<String> {
        let challenge = AuthChallenge::from_headers(headers);
        let is_step_up = status == StatusCode::FORBIDDEN && challenge.wants_more_rights();
        if status != StatusCode::UNAUTHORIZED && !is_step_up {
            return None;
        }
        let granted = self.file.read().grant.map(|grant| grant.scopes).unwrap_or_default();
        let (name, wanted) = (&self.server, haft_text::display::shorten(&challenge.scopes.join(" "), 200).into_owned());
        if is_step_up && !challenge.scopes.iter().any(|scope| !granted.contains(scope)) {
            // Asking again would change nothing, again and again.
            let rights = if wanted.is_empty() { "all rights that it names".to_owned() } else { format!("'{wanted}'") };
            return Some(format!(
                "it refuses although you have granted {rights}; ask its operator, or sign in as another user: `haft mcp logout {name}`, \
                 then `haft mcp login {name}`"
            ));
        }
        // Without the note the sign-in asks for what the server publishes.
        drop(self.file.update(|stored| stored.challenge = Some(challenge)).await);
        let wish = if is_step_up { format!("grant '{wanted}' as well") } else { "sign in".to_owned() };
        Some(format!("it wants you to {wish}: run `haft mcp login {name}`"))
    }
}
