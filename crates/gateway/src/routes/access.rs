//! Signing in and tokens.

use axum::Json;
use axum::extract::{Path, State};
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Answer;
use crate::app::App;
use crate::auth::{Lifetime, NewToken, Scope, SignedIn, TokenSummary, UNUSED, cookie_name, token_id, token_name};
use crate::body::Body;
use crate::error::ApiError;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct LoginRequest {
    token: String,
}

/// Takes the token of a link, and sets the cookie.
pub(super) async fn login(State(app): State<App>, Body(request): Body<LoginRequest>) -> Result<Response, ApiError> {
    let Some((token, secret)) = app.guard.tokens.sign_in(&request.token)? else { return Err(app.guard.wrong_token()) };
    let about = about(&app, &SignedIn(token)).await?;
    let secure = if app.guard.scheme == "https" { "; Secure" } else { "" };
    let cookie =
        format!("{}={secret}; Path=/; HttpOnly; SameSite=Strict; Max-Age={}{secure}", cookie_name(app.guard.port), UNUSED.as_secs());
    let cookie = HeaderValue::from_str(&cookie).map_err(|_| ApiError::internal("The cookie cannot be written."))?;
    Ok(([(header::SET_COOKIE, cookie)], Json(about)).into_response())
}

pub(super) async fn logout(State(app): State<App>, token: SignedIn) -> Result<Response, ApiError> {
    app.guard.tokens.revoke(token.0.id)?;
    let cookie = format!("{}=; Path=/; HttpOnly; SameSite=Strict; Max-Age=0", cookie_name(app.guard.port));
    let cookie = HeaderValue::from_str(&cookie).map_err(|_| ApiError::internal("The cookie cannot be written."))?;
    Ok(([(header::SET_COOKIE, cookie)], Json(json!({}))).into_response())
}

pub(super) async fn me(State(app): State<App>, token: SignedIn) -> Result<Response, ApiError> {
    app.answers.answer(format!("me {}", token.0.id), app.moment_stamp(), about(&app, &token)).await
}

async fn about(app: &App, token: &SignedIn) -> Result<Value, ApiError> {
    let mut about = app.backend.about().await?;
    about["token"] = json!({ "id": token_name(token.0.id), "name": token.0.name, "scopes": token.scopes().to_vec() });
    about["version"] = json!(env!("CARGO_PKG_VERSION"));
    about["seq"] = json!(app.approvals.hub.newest());
    Ok(about)
}

pub(super) async fn tokens(State(app): State<App>, token: SignedIn) -> Answer<Vec<TokenSummary>> {
    token.need(Scope::Admin)?;
    Ok(Json(app.guard.tokens.list(token.0.id)))
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct MintRequest {
    #[serde(default)]
    name: String,
    scopes: Vec<Scope>,
}

pub(super) async fn mint(
    State(app): State<App>,
    token: SignedIn,
    Body(request): Body<MintRequest>,
) -> Result<(StatusCode, Json<Value>), ApiError> {
    let minted = app.guard.tokens.mint(&request.name, request.scopes.into_iter().collect(), Some(&token.0), Lifetime::Stored)?;
    let NewToken { id, secret, link, scopes } = minted;
    app.changed("tokens");
    let link = format!("{}/#token={link}", app.url);
    Ok((StatusCode::CREATED, Json(json!({ "id": token_name(id), "token": secret, "link": link, "scopes": scopes.to_vec() }))))
}

pub(super) async fn revoke(State(app): State<App>, token: SignedIn, Path(name): Path<String>) -> Answer<Value> {
    let id = token_id(&name);
    if id != Some(token.0.id) {
        token.need(Scope::Admin)?;
    }
    if !id.map_or(Ok(false), |id| app.guard.tokens.revoke(id))? {
        return Err(ApiError::not_found(format!("There is no token '{name}'.")).help("GET /api/tokens lists them."));
    }
    app.changed("tokens");
    Ok(Json(json!({})))
}
