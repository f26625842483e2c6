//! Signing in to a server by OAuth, with an authorization server on loopback that can be made to misbehave.

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::extract::State;
use axum::http::{HeaderMap, StatusCode, Uri};
use axum::response::{IntoResponse, Redirect, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use haft_contract::BoxFuture;
use haft_engine::Registry;
use haft_mcp::client::{
    ClientParts, HttpServer, McpServer, OAuthClient, ServerFailure, ServerLauncher, ServerSettings, ServerStreams, ServerTransport,
    SignInState, StdioServer,
};
use haft_testkit::{FakeHost, Trial};
use serde_json::{Value, json};
use tempfile::TempDir;

/// How the fixture behaves.
#[derive(Default)]
struct Conduct {
    /// Seconds that tokens last.
    lifetime: u64,
    /// Where the token endpoint is said to be, if not here.
    token_endpoint: Option<String>,
    /// Whether refreshing is refused.
    refuses_refresh: bool,
    /// What calls need besides a token.
    call_scope: Option<&'static str>,
}

/// A server and its authorization server.
struct Fixture {
    origin: String,
    conduct: Mutex<Conduct>,
    /// What was sent to the token endpoint.
    token_requests: Mutex<Vec<HashMap<String, String>>>,
    registrations: Mutex<usize>,
    /// The rights of each token, in the order of their numbers.
    issued: Mutex<Vec<String>>,
    asked_scope: Mutex<String>,
}

impl Fixture {
    async fn start(conduct: Conduct) -> Arc<Self> {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let (token_requests, registrations, issued, asked_scope) = Default::default();
        let fixture = Arc::new(Self { origin, conduct: Mutex::new(conduct), token_requests, registrations, issued, asked_scope });
        let routes = Router::new()
            .route("/mcp", post(mcp))
            .route("/resource.json", get(resource))
            .route("/.well-known/oauth-authorization-server", get(metadata))
            .route("/register", post(register))
            .route("/authorize", get(authorize))
            .route("/token", post(token))
            .with_state(Arc::clone(&fixture));
        tokio::spawn(async move { axum::serve(listener, routes).await });
        fixture
    }

    fn last_token_request(&self) -> HashMap<String, String> {
        self.token_requests.lock().unwrap().last().cloned().unwrap()
    }
}

type Shared = State<Arc<Fixture>>;

async fn resource(State(fixture): Shared) -> Json<Value> {
    Json(json!({"resource": format!("{}/mcp", fixture.origin), "authorization_servers": [fixture.origin]}))
}

async fn metadata(State(fixture): Shared) -> Json<Value> {
    let origin = &fixture.origin;
    let token_endpoint = fixture.conduct.lock().unwrap().token_endpoint.clone().unwrap_or_else(|| format!("{origin}/token"));
    Json(json!({
        "issuer": origin, "authorization_endpoint": format!("{origin}/authorize"), "token_endpoint": token_endpoint,
        "registration_endpoint": format!("{origin}/register"), "code_challenge_methods_supported": ["S256"],
        "token_endpoint_auth_methods_supported": ["none"],
    }))
}

async fn register(State(fixture): Shared, body: String) -> Response {
    let request: Value = serde_json::from_str(&body).unwrap();
    assert_eq!(request["token_endpoint_auth_method"], "none");
    *fixture.registrations.lock().unwrap() += 1;
    (StatusCode::CREATED, Json(json!({"client_id": "haft-1"}))).into_response()
}

fn pairs(form: &str) -> HashMap<String, String> {
    reqwest::Url::parse(&format!("http://form/?{form}")).unwrap().query_pairs().into_owned().collect()
}

async fn authorize(State(fixture): Shared, uri: Uri) -> Redirect {
    let query = pairs(uri.query().unwrap());
    *fixture.asked_scope.lock().unwrap() = query.get("scope").cloned().unwrap_or_default();
    Redirect::to(&format!("{}?code=c0de&state={}", query["redirect_uri"], query["state"]))
}

async fn token(State(fixture): Shared, body: String) -> Response {
    let request = pairs(&body);
    let is_refresh = request["grant_type"] == "refresh_token";
    fixture.token_requests.lock().unwrap().push(request.clone());
    let conduct = fixture.conduct.lock().unwrap();
    if is_refresh && conduct.refuses_refresh {
        let description = format!("the token {} has ended", request["refresh_token"]);
        return (StatusCode::BAD_REQUEST, Json(json!({"error": "invalid_grant", "error_description": description}))).into_response();
    }
    let mut issued = fixture.issued.lock().unwrap();
    issued.push(fixture.asked_scope.lock().unwrap().clone());
    let number = issued.len();
    let answer = json!({
        "access_token": format!("access-{number}"), "refresh_token": format!("refresh-{number}"), "token_type": "Bearer",
        "expires_in": conduct.lifetime,
    });
    Json(answer).into_response()
}

/// The server: only the newest token is good.
async fn mcp(State(fixture): Shared, headers: HeaderMap, body: String) -> Response {
    let challenge = |status: StatusCode, more: &str| {
        let header = format!("Bearer resource_metadata=\"{}/resource.json\"{more}", fixture.origin);
        (status, [("www-authenticate", header)]).into_response()
    };
    let issued = fixture.issued.lock().unwrap().clone();
    let good = format!("Bearer access-{}", issued.len());
    if issued.is_empty() || headers.get("authorization").is_none_or(|given| given != good.as_str()) {
        return challenge(StatusCode::UNAUTHORIZED, ", scope=\"read\"");
    }
    let request: Value = serde_json::from_str(&body).unwrap();
    let scopes = issued.last().cloned().unwrap_or_default();
    let wanted = fixture.conduct.lock().unwrap().call_scope.filter(|_| request["method"] == "tools/call");
    if let Some(wanted) = wanted.filter(|wanted| !scopes.split(' ').any(|scope| scope == *wanted)) {
        return challenge(StatusCode::FORBIDDEN, &format!(", error=\"insufficient_scope\", scope=\"{wanted}\""));
    }
    let result = match request["method"].as_str().unwrap_or_default() {
        "initialize" => {
            json!({"protocolVersion": "2025-11-25", "capabilities": {"tools": {}}, "serverInfo": {"name": "hub", "version": "1"}})
        }
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" => json!({"content": [{"type": "text", "text": "echoed"}]}),
        _ => return StatusCode::ACCEPTED.into_response(),
    };
    Json(json!({"jsonrpc": "2.0", "id": request["id"], "result": result})).into_response()
}

struct NoPrograms;

impl ServerLauncher for NoPrograms {
    fn launch<'a>(&'a self, _: &'a str, _: &'a StdioServer) -> BoxFuture<'a, Result<ServerStreams, String>> {
        Box::pin(std::future::ready(Err("there are no programs here".to_owned())))
    }
}

/// Our side: one server, with a data folder of its own.
struct Side {
    folder: TempDir,
    registry: Arc<Registry>,
    server: Arc<McpServer>,
}

impl Side {
    fn new(fixture: &Fixture) -> Self {
        Self::within(fixture, TempDir::new().unwrap())
    }

    fn within(fixture: &Fixture, folder: TempDir) -> Self {
        let url = format!("{}/mcp", fixture.origin);
        let server = HttpServer { url, headers: Vec::new(), token: None, oauth: OAuthClient::default() };
        let settings = ServerSettings::new("hub", ServerTransport::Http(server));
        let (launcher, data_folder, warn) = (Arc::new(NoPrograms), folder.path().to_owned(), Arc::new(|_: &str| {}));
        let registry = Arc::new(Registry::new());
        let server = McpServer::new(settings, ClientParts { launcher, elicitor: None, sampler: None, data_folder, warn }, &registry);
        Self { folder, registry, server }
    }

    /// The same data folder, as another process sees it.
    fn again(self, fixture: &Fixture) -> Self {
        Self::within(fixture, self.folder)
    }

    /// Signs in as a user does whose browser follows the link.
    async fn sign_in(&self) -> Result<Vec<String>, ServerFailure> {
        let login = self.server.begin_login(None).await?;
        let link = login.link().to_owned();
        let browser = tokio::spawn(async move { follow(&link).await });
        let summary = self.server.finish_login(login, Duration::from_secs(30)).await;
        browser.await.unwrap();
        summary.map(|summary| summary.scopes)
    }

    async fn call(&self) -> Result<String, String> {
        let entry = self.registry.get("mcp__hub__echo").expect("the tool is known");
        let output = Trial::new(FakeHost::new()).run(&**entry.tool(), json!({})).await;
        output.map(|output| output.texts().collect()).map_err(|error| error.message().to_owned())
    }

    fn stored(&self) -> std::path::PathBuf {
        let mut files = self.folder.path().join("mcp").read_dir().unwrap().flatten().map(|entry| entry.path());
        files.find(|path| path.extension().is_some_and(|ending| ending == "oauth")).expect("a sign-in is stored")
    }
}

/// Opens a link as a browser does, and follows it back to us.
async fn follow(link: &str) {
    let client = reqwest::Client::builder().no_proxy().tls_certs_only([]).build().unwrap();
    drop(client.get(link).send().await);
}

fn everything_in(folder: &Path) -> String {
    let files = folder.join("mcp").read_dir().unwrap().flatten().map(|entry| entry.path());
    files
        .filter(|path| path.extension().is_none_or(|ending| ending != "oauth"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect()
}

#[tokio::test]
async fn sign_in_is_asked_for_and_kept_in_a_private_file() {
    let fixture = Fixture::start(Conduct { lifetime: 3600, ..Conduct::default() }).await;
    let side = Side::new(&fixture);
    let refused = side.server.start().await.unwrap_err();
    assert!(refused.needs_sign_in && refused.to_string().contains("`haft mcp login hub`"), "{refused}");
    assert_eq!(side.server.sign_in_state(), Some(SignInState::Needed));
    assert_eq!(side.sign_in().await.unwrap(), ["read"], "the rights that the refusal named");
    assert_eq!(side.server.sign_in_state(), Some(SignInState::Done));
    let request = fixture.last_token_request();
    assert_eq!(request["resource"], format!("{}/mcp", fixture.origin));
    assert!(request["code_verifier"].len() >= 43 && request["client_id"] == "haft-1" && !request.contains_key("client_secret"));

    // Another process uses it.
    let side = side.again(&fixture);
    side.server.start().await.unwrap();
    assert!(side.call().await.unwrap().contains("echoed"));
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        assert_eq!(side.stored().metadata().unwrap().permissions().mode() & 0o777, 0o600);
    }
    let elsewhere = everything_in(side.folder.path());
    assert!(!elsewhere.contains("access-1") && !elsewhere.contains("refresh-1"), "tokens are in no log and no record");
    assert!(side.server.logout().unwrap() && !side.server.logout().unwrap());
    assert_eq!(side.server.sign_in_state(), None);
    let side = side.again(&fixture);
    assert!(side.server.start().await.is_err_and(|failure| failure.needs_sign_in));
    assert_eq!(*fixture.registrations.lock().unwrap(), 1);
}

#[tokio::test]
async fn tokens_are_renewed_before_they_end_and_after_they_are_refused() {
    // Ends so soon that each use renews it.
    let fixture = Fixture::start(Conduct { lifetime: 1, ..Conduct::default() }).await;
    let side = Side::new(&fixture);
    side.sign_in().await.unwrap();
    side.server.start().await.unwrap();
    let refreshes =
        |fixture: &Fixture| fixture.token_requests.lock().unwrap().iter().filter(|sent| sent["grant_type"] == "refresh_token").count();
    assert!(refreshes(&fixture) >= 1);
    assert_eq!(fixture.last_token_request()["resource"], format!("{}/mcp", fixture.origin));
    fixture.conduct.lock().unwrap().lifetime = 3600;
    assert!(side.call().await.is_ok());
    // The server forgets the token that we hold.
    fixture.issued.lock().unwrap().push("read".into());
    let before = refreshes(&fixture);
    assert!(side.call().await.is_ok());
    assert_eq!(refreshes(&fixture), before + 1, "renewed once");
    // A renewal that is refused for good ends the sign-in, and no secret is in what is said.
    fixture.conduct.lock().unwrap().refuses_refresh = true;
    fixture.issued.lock().unwrap().push("read".into());
    let refused = side.call().await.unwrap_err();
    assert!(refused.contains("`haft mcp login hub`") && !refused.contains("refresh-"), "{refused}");
    let before = fixture.token_requests.lock().unwrap().len();
    assert!(side.call().await.is_err());
    assert_eq!(fixture.token_requests.lock().unwrap().len(), before, "what was refused for good is not tried again");
}

#[tokio::test]
async fn more_rights_are_asked_for_once_and_nothing_is_lost() {
    let fixture = Fixture::start(Conduct { lifetime: 3600, call_scope: Some("write"), ..Conduct::default() }).await;
    let side = Side::new(&fixture);
    side.sign_in().await.unwrap();
    side.server.start().await.unwrap();
    let refused = side.call().await.unwrap_err();
    assert!(refused.contains("grant 'write'") && refused.contains("`haft mcp login hub`"), "{refused}");
    let mut scopes = side.sign_in().await.unwrap();
    scopes.sort_unstable();
    assert_eq!(scopes, ["read", "write"]);
    assert_eq!(*fixture.registrations.lock().unwrap(), 1, "the client is known by now");
    assert!(side.call().await.is_ok());
    // A server that refuses what was granted is not asked again and again.
    fixture.issued.lock().unwrap().last_mut().unwrap().clear();
    let refused = side.call().await.unwrap_err();
    assert!(refused.contains("although you have granted 'write'") && !refused.contains("run `haft mcp login hub`"), "{refused}");
}

#[tokio::test]
async fn sign_in_that_leads_elsewhere_or_comes_from_nowhere_is_refused() {
    let elsewhere = Conduct { token_endpoint: Some("http://tokens.example.org/token".into()), ..Conduct::default() };
    let fixture = Fixture::start(elsewhere).await;
    let side = Side::new(&fixture);
    let refused = side.server.begin_login(None).await.unwrap_err();
    assert!(refused.to_string().contains("https"), "{refused}");
    assert_eq!(*fixture.registrations.lock().unwrap(), 0, "nothing was registered");

    let fixture = Fixture::start(Conduct { lifetime: 3600, ..Conduct::default() }).await;
    let side = Side::new(&fixture);
    let login = side.server.begin_login(None).await.unwrap();
    let link = reqwest::Url::parse(login.link()).unwrap();
    let redirect = link.query_pairs().find(|(name, _)| name == "redirect_uri").unwrap().1.into_owned();
    assert!(redirect.starts_with("http://127.0.0.1:"), "{redirect}");
    let forged = tokio::spawn(async move { follow(&format!("{redirect}?code=evil&state=guessed")).await });
    let refused = side.server.finish_login(login, Duration::from_secs(2)).await.unwrap_err();
    forged.await.unwrap();
    assert!(refused.to_string().contains("nobody came back"), "{refused}");
    assert!(
        fixture.token_requests.lock().unwrap().is_empty() && side.server.sign_in_state() != Some(SignInState::Done),
        "the forged code went nowhere"
    );
}
