//! A sign-in, from the link that the user opens to the tokens that are kept.

use std::time::Duration;

use reqwest::Url;

use super::challenge::AuthChallenge;
use super::discovery::{self, SignInPlan};
use super::listener::{RedirectAnswer, RedirectListener};
use super::pkce::{self, CodeProof};
use super::registration::{self, StoredClient};
use super::store::{SignInFile, StoredSignIn, TokenGrant};
use super::token;
use crate::client::settings::HttpServer;

/// How often rights may be added to a sign-in: a server that always wants more is not satisfied by more.
const MAX_STEP_UPS: u32 = 10;
const OFFLINE: &str = "offline_access";

/// A sign-in that waits for the user.
pub struct PendingLogin {
    link: Url,
    state: String,
    proof: CodeProof,
    listener: RedirectListener,
    client: StoredClient,
    plan: SignInPlan,
    scopes: Vec<String>,
    file: SignInFile,
    is_step_up: bool,
}

haft_contract::opaque_debug!(PendingLogin: plan = plan);

/// What a sign-in has brought.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoginSummary {
    /// The authorization server.
    pub issuer: String,
    /// The rights that were granted.
    pub scopes: Vec<String>,
}

/// Prepares a sign-in: finds the authorization server, says who we are, and opens the port for the browser.
pub(super) async fn begin(server: &HttpServer, address: &Url, file: SignInFile, port: Option<u16>) -> Result<PendingLogin, String> {
    let stored = file.read();
    let challenge = stored.challenge.clone().unwrap_or_default();
    let plan = discovery::discover(address, &challenge, server.oauth.issuer.as_deref()).await?;
    let is_step_up = challenge.wants_more_rights() && stored.grant.is_some();
    if is_step_up && stored.step_ups >= MAX_STEP_UPS {
        return Err(format!("it has wanted more rights {MAX_STEP_UPS} times, and still refuses"));
    }
    let scopes = scopes(&challenge, &plan, &stored);
    let (listener, client) = client(server, &plan, &stored, port).await?;
    let (proof, state) = (CodeProof::new()?, pkce::random()?);
    let link = link(&plan, &client, &scopes, listener.address(), &state, &proof.challenge);
    Ok(PendingLogin { link, state, proof, listener, client, plan, scopes, file, is_step_up })
}

/// The port for the browser, and the client that we are.
async fn client(
    server: &HttpServer,
    plan: &SignInPlan,
    stored: &StoredSignIn,
    port: Option<u16>,
) -> Result<(RedirectListener, StoredClient), String> {
    let failed = |error: std::io::Error| format!("the port for the browser cannot be opened: {error}");
    if let Some(client) = registration::configured(&server.oauth, &plan.server) {
        if let Some(before) = stored.client.as_ref().filter(|before| before.id == client.id && before.issuer != client.issuer) {
            let shorten = |text: &str| haft_text::display::shorten(text, 200).into_owned();
            return Err(format!(
                "it now takes tokens of '{}', and not of '{}' as before; if that is right, log out first, \
                 so that your client's secret may go there",
                shorten(&client.issuer),
                shorten(&before.issuer)
            ));
        }
        return Ok((RedirectListener::open(port.unwrap_or(0)).await.map_err(failed)?, client));
    }
    // A client that was registered is known with the port that it had then.
    if let Some(client) = stored.client.as_ref().filter(|client| client.issuer == plan.server.issuer)
        && let Some(known) = client.redirect.as_deref().and_then(|redirect| Url::parse(redirect).ok()?.port())
        && port.is_none_or(|port| port == known)
        && let Ok(listener) = RedirectListener::open(known).await
    {
        return Ok((listener, client.clone()));
    }
    let listener = RedirectListener::open(port.unwrap_or(0)).await.map_err(failed)?;
    let client = registration::register(&plan.server, listener.address()).await?;
    Ok((listener, client))
}

/// The rights to ask for: what the server wants, else all that it knows of; with what was granted before, so that nothing is lost.
fn scopes(challenge: &AuthChallenge, plan: &SignInPlan, stored: &StoredSignIn) -> Vec<String> {
    let wanted = if challenge.scopes.is_empty() { &plan.scopes } else { &challenge.scopes };
    let before = stored.grant.iter().flat_map(|grant| &grant.scopes);
    let offline = plan.server.scopes.iter().filter(|scope| *scope == OFFLINE && !wanted.is_empty());
    super::challenge::clean_scopes(wanted.iter().chain(before).chain(offline).map(String::as_str))
}

fn link(plan: &SignInPlan, client: &StoredClient, scopes: &[String], redirect: &str, state: &str, challenge: &str) -> Url {
    let mut link = plan.server.authorization_endpoint.clone();
    let scope = scopes.join(" ");
    link.query_pairs_mut()
        .append_pair("response_type", "code")
        .append_pair("client_id", &client.id)
        .append_pair("redirect_uri", redirect)
        .append_pair("state", state)
        .append_pair("code_challenge", challenge)
        .append_pair("code_challenge_method", "S256")
        .append_pair("resource", &plan.resource)
        .extend_pairs((!scope.is_empty()).then_some(("scope", &scope)));
    link
}

impl PendingLogin {
    /// What the user opens.
    pub fn link(&self) -> &str {
        self.link.as_str()
    }

    /// The authorization server that the user signs in at.
    pub fn issuer(&self) -> &str {
        &self.plan.server.issuer
    }

    /// Waits for the user, and keeps the tokens.
    pub(super) async fn finish(self, time: Duration) -> Result<LoginSummary, String> {
        let redirect = self.listener.address().to_owned();
        let answer = self.listener.wait(&self.state, time).await?;
        check_issuer(&answer, &self.plan)?;
        if let Some(error) = &answer.error {
            return Err(token::refusal(error, answer.description.as_deref(), &[&self.state]));
        }
        let code = answer.code.ok_or("the authorization server sent no code")?;
        let grant = [
            ("grant_type", "authorization_code"),
            ("code", &code),
            ("redirect_uri", &redirect),
            ("code_verifier", &self.proof.verifier),
            ("resource", &self.plan.resource),
        ];
        let endpoint = &self.plan.server.token_endpoint;
        let issued = token::request(endpoint, &self.client, &grant).await.map_err(token::TokenFault::into_text)?;
        let summary =
            LoginSummary { issuer: self.plan.server.issuer.clone(), scopes: issued.scopes.unwrap_or_else(|| self.scopes.clone()) };
        let grant = TokenGrant {
            issuer: self.plan.server.issuer,
            token_endpoint: endpoint.to_string(),
            resource: self.plan.resource,
            client: self.client.to_store(),
            access_token: issued.access_token,
            refresh_token: issued.refresh_token,
            expires_at: issued.expires_at,
            scopes: self.scopes,
        };
        let (client, is_step_up) = (self.client.to_store(), self.is_step_up);
        self.file
            .update(|stored| {
                stored.step_ups = if is_step_up { stored.step_ups + 1 } else { 0 };
                (stored.client, stored.grant, stored.challenge) = (Some(client), Some(grant), None);
            })
            .await?;
        Ok(summary)
    }
}

/// The answer must come from the authorization server that was asked (RFC 9207); names are compared letter by letter.
fn check_issuer(answer: &RedirectAnswer, plan: &SignInPlan) -> Result<(), String> {
    match &answer.issuer {
        Some(issuer) if *issuer == plan.server.issuer => Ok(()),
        Some(issuer) => {
            let issuer = haft_text::display::shorten(issuer, 200);
            Err(format!("the answer comes from '{issuer}', and not from '{}', which was asked", plan.server.issuer))
        }
        None if plan.server.names_itself => Err("the answer does not say which authorization server it is from".to_owned()),
        None => Ok(()),
    }
}
