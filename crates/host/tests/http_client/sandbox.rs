//! Servers in the sandbox of a session, under a name that leads nowhere else.

use std::io;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;

use haft_contract::{
    Connect, ErrorKind, HttpRequest, HttpResponse, ToolError,
    ports::{HttpClient, RedirectCheck},
};
use haft_host::{GuardedClient, SandboxDialer};

use crate::support::{Names, Server, client_with, ok, patient, redirect, request, text, with_body};

/// Stands for the sandbox of the session `one`, with a server on port 8000 that really is elsewhere.
struct Sandbox(SocketAddr);

impl SandboxDialer for Sandbox {
    fn connect(&self, session: &str, port: u16) -> io::Result<TcpStream> {
        match (session, port) {
            ("one", 8000) => TcpStream::connect(self.0),
            ("one", _) => Err(io::ErrorKind::ConnectionRefused.into()),
            _ => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

/// A call of a session, which may follow every redirect.
struct Call(Option<&'static str>);

impl RedirectCheck for Call {
    fn check(&self, _hop: &Connect) -> Result<(), ToolError> {
        Ok(())
    }
    fn session(&self) -> Option<&str> {
        self.0
    }
}

/// A client that may reach what these entries name, and the sandbox.
fn client(server: &Server, allow: &[&str]) -> GuardedClient {
    let allow: Vec<String> = allow.iter().map(|&entry| entry.to_owned()).collect();
    let client = client_with(&allow, patient(), Arc::new(Names::default()));
    client.set_sandbox_dialer(Arc::new(Sandbox(server.address)));
    client
}

async fn send(client: &GuardedClient, session: Option<&'static str>, request: HttpRequest) -> Result<HttpResponse, ToolError> {
    client.send(request, &Call(session)).await
}

const URL: &str = "http://sandbox.localhost:8000/a?b=c";

#[tokio::test]
async fn requests_reach_the_server_of_the_session_under_its_name() {
    let server = Server::answering(|request| ok(&"x".repeat(request.body.len().max(1) * 100_000))).await;
    let client = client(&server, &[]);
    for (method, body) in [("GET", ""), ("POST", "{\"a\":1}"), ("DELETE", "")] {
        let wanted = if body.is_empty() { request(method, URL) } else { with_body(request(method, URL), body) };
        let response = send(&client, Some("one"), wanted).await.unwrap();
        assert_eq!((response.status, response.url.as_str()), (200, URL));
        assert_eq!(text(response).await.len(), body.len().max(1) * 100_000, "{method}");
        let received = server.received().pop().unwrap();
        assert!(received.head.starts_with(&format!("{method} /a?b=c HTTP/1.1\r\n")), "{}", received.head);
        assert!(received.head.lines().any(|line| line == "host: sandbox.localhost:8000"), "{}", received.head);
        assert_eq!(received.body, body.as_bytes());
    }
    assert_eq!(server.connections(), 3);
}

#[tokio::test]
async fn name_of_the_sandbox_leads_to_no_other_session_and_never_to_this_machine() {
    let server = Server::answering(|_| ok("here")).await;
    let real = server.url_as("sandbox.localhost", "/");
    let inside = client(&server, &["*.localhost", "127.0.0.1"]);
    let outside = client_with(&["*.localhost".to_owned()], patient(), Arc::new(Names::default()));
    let other_port = "http://sandbox.localhost:9000/";
    for (client, session, url, part) in [
        (&inside, Some("two"), URL, "No command of this session runs in the sandbox, so nothing listens on port 8000: start the server"),
        (
            &inside,
            Some("one"),
            other_port,
            "Nothing listens on port 9000 in the sandbox of this session: start the server first, with exec",
        ),
        (&inside, Some("one"), real.as_str(), "in the sandbox of this session"),
        (&inside, None, URL, "there is no sandbox with a network here"),
        (&outside, Some("one"), real.as_str(), "there is no sandbox with a network here"),
        (&inside, Some("one"), "https://sandbox.localhost:8000/", "Use http://sandbox.localhost:8000/ instead"),
    ] {
        let error = send(client, session, request("GET", url)).await.err().unwrap();
        assert!(error.kind() == ErrorKind::NetworkError && error.message().contains(part), "{url}: {error}");
    }
    assert_eq!(server.connections(), 0);
    assert_eq!(send(&inside, Some("one"), request("GET", URL)).await.unwrap().status, 200, "its neighbour");
}

#[tokio::test]
async fn redirects_stay_within_the_sandbox_or_leave_it_by_the_usual_checks() {
    let server = Server::answering(|request| match request.head.split(' ').nth(1) {
        Some("/in") => redirect(302, "/there"),
        Some("/out") => redirect(302, "http://10.0.0.1/"),
        Some("/from-outside") => redirect(302, URL),
        _ => ok("there"),
    })
    .await;
    let client = client(&server, &[&server.address.to_string()]);
    let at = |path: &str| request("GET", &format!("http://sandbox.localhost:8000{path}"));
    let response = send(&client, Some("one"), at("/in")).await.unwrap();
    assert_eq!((response.url.clone(), text(response).await), ("http://sandbox.localhost:8000/there".into(), "there".into()));
    let error = send(&client, Some("one"), at("/out")).await.err().unwrap();
    assert!(error.message().contains("10.0.0.1 is a private address"), "{error}");
    let error = send(&client, Some("one"), request("GET", &server.url("/from-outside"))).await.err().unwrap();
    assert!(error.message().contains("a redirect from outside does not lead into the sandbox"), "{error}");
}

#[test]
fn plan_of_a_request_into_the_sandbox_is_not_refused() {
    let client = GuardedClient::default();
    let connect = client.locate("POST", "http://Sandbox.Localhost.:8000/").unwrap();
    assert_eq!((connect.is_sandbox(), connect.refused, connect.port), (true, None, 8000));
    let other = client.locate("POST", "http://other.localhost:8000/").unwrap();
    assert!(!other.is_sandbox() && other.refused.is_some());
}
