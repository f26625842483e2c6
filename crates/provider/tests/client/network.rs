//! Requests, connections and proxies.

use haft_provider::{Endpoint, ModelClient, Options, ProviderErrorKind, Proxies};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::plain::reply;
use crate::server::{Act, Server};
use crate::support::{KEY, WHOLE, answer, ask, endpoint, quick, say, send, stream};

#[tokio::test]
async fn request_has_key_protocol_headers_and_configured_headers() {
    let server = Server::playing(vec![stream(WHOLE)]).await;
    let mut endpoint = endpoint(format!("{}/?version=2", server.url()));
    endpoint.headers = [("X-Version", "7"), ("x-title", "Haft"), ("x-plain-key", "not this one")]
        .map(|(name, value)| (name.to_owned(), value.to_owned()))
        .to_vec();
    let outcome = ask(quick(0), &endpoint).await;
    assert_eq!(outcome.answer.unwrap().warnings, ["one tool was left out"]);
    let received = server.received().remove(0);
    let (head, body) = received.split_once("\r\n\r\n").unwrap();
    let mut lines: Vec<_> = head.lines().collect();
    assert_eq!(lines.remove(0), "POST /v1/say?alt=sse&version=2 HTTP/1.1");
    lines.sort_unstable();
    let (host, key) = (format!("host: {}", server.address), format!("x-plain-key: Key {KEY}"));
    let agent = concat!("user-agent: haft/", env!("CARGO_PKG_VERSION"));
    let expected = [
        "accept-encoding: gzip,br",
        "accept: text/event-stream",
        "content-length: 37",
        "content-type: application/json",
        &host,
        agent,
        &key,
        "x-protocol: plain",
        "x-title: Haft",
        "x-version: 7",
    ];
    assert_eq!(lines, expected);
    assert_eq!(body, r#"{"model":"small","system":"be brief"}"#);
}

#[tokio::test]
async fn retries_send_the_same_request() {
    let (_, server) = crate::support::play(vec![answer(500, "", ""), vec![Act::Read, Act::Reset], stream(WHOLE)], quick(2)).await;
    let received = server.received();
    assert_eq!((received.len(), &received[1], &received[2]), (3, &received[0], &received[0]));
}

#[tokio::test]
async fn connections_are_reused() {
    let kept =
        |body: &str| say(format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n{body}", body.len()));
    let server = Server::playing(vec![vec![Act::Read, kept(WHOLE), Act::Read, kept(WHOLE), Act::Hang]]).await;
    let client = ModelClient::new(quick(0));
    for _ in 0..2 {
        let answer = send(&client.clone(), &endpoint(server.url()), &CancellationToken::new(), &mut |_| {}).await;
        assert_eq!(answer.unwrap().reply, reply("Hello", 0));
    }
    assert_eq!((server.seen().connections, server.seen().requests), (1, 2));
}

/// A port where nothing listens.
async fn dead_port() -> u16 {
    TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port()
}

#[tokio::test]
async fn refused_local_connection_fails_at_once() {
    let port = dead_port().await;
    let outcome = ask(quick(3), &endpoint(format!("http://127.0.0.1:{port}"))).await;
    let message = format!("Nothing listens at 127.0.0.1:{port}. Start the server, or check the base_url.");
    assert_eq!((outcome.error(), outcome.waits.len()), ((ProviderErrorKind::Network, message.as_str()), 0));
}

#[tokio::test]
async fn refused_remote_connection_is_retried() {
    // Another name for this machine, which is not taken for one of its own addresses.
    let mut endpoint = endpoint(format!("http://0.0.0.0:{}", dead_port().await));
    endpoint.allow_plain = true;
    let outcome = ask(quick(2), &endpoint).await;
    let message = format!(
        "Nothing listens at {}. Check the base_url, and the proxy if there is one. It was sent 3 times.",
        &endpoint.base_url["http://".len()..]
    );
    assert_eq!((outcome.error(), outcome.waits.len()), ((ProviderErrorKind::Network, message.as_str()), 2));
}

fn with_proxy(environment: &[(&str, String)]) -> Options {
    let lookup = |name: &str| environment.iter().find(|(known, _)| *known == name).map(|(_, value)| value.clone());
    let mut options = quick(0);
    options.proxies = Proxies::from_env(lookup).unwrap();
    options
}

fn plain(url: &str) -> Endpoint {
    let mut endpoint = endpoint(url);
    endpoint.allow_plain = true;
    endpoint
}

#[tokio::test]
async fn proxy_from_the_environment_is_used() {
    let proxy = Server::playing(vec![stream(WHOLE)]).await;
    let options = with_proxy(&[("HTTP_PROXY", format!("http://me:pass@{}", proxy.address))]);
    let outcome = ask(options, &plain("http://models.example/v1")).await;
    assert_eq!(outcome.answer.unwrap().reply, reply("Hello", 0));
    let received = proxy.received().remove(0);
    assert!(received.starts_with("POST http://models.example/v1/say?alt=sse HTTP/1.1\r\n"), "{received}");
    assert!(received.contains("\r\nproxy-authorization: Basic bWU6cGFzcw==\r\n"), "{received}");
}

#[tokio::test]
async fn loopback_and_no_proxy_hosts_bypass_the_proxy() {
    let server = Server::playing(vec![stream(WHOLE)]).await;
    let port = server.address.port();
    let proxy = format!("http://127.0.0.1:{}", dead_port().await);
    let all = [("all_proxy", proxy.clone())];
    let except = [("all_proxy", proxy), ("no_proxy", "0.0.0.0".to_owned())];
    for (environment, url, reached) in [
        (&all[..], format!("http://127.0.0.1:{port}"), true),
        (&all, format!("http://localhost:{port}"), true),
        (&except, format!("http://0.0.0.0:{port}"), true),
        (&all, format!("http://0.0.0.0:{port}"), false),
    ] {
        assert_eq!(ask(with_proxy(environment), &plain(&url)).await.answer.is_ok(), reached, "{url} {environment:?}");
    }
}

#[tokio::test]
async fn invalid_requests_fail_before_any_connection() {
    let server = Server::playing(vec![stream(WHOLE)]).await;
    for (name, value, message) in [
        ("host", "evil.example", "Cannot send the header 'host': the connection sets it; remove it from the provider's headers."),
        ("Content-Length", "0", "Cannot send the header 'Content-Length': the connection sets it; remove it from the provider's headers."),
        ("x y", "1", "Cannot send the header 'x y': the name is not valid."),
        ("x-a", "1\r\nx-b: 2", "Cannot send the header 'x-a': the value has a line break or a non-ASCII character."),
    ] {
        let mut endpoint = endpoint(server.url());
        endpoint.headers = vec![(name.to_owned(), value.to_owned())];
        assert_eq!(ask(quick(3), &endpoint).await.error(), (ProviderErrorKind::BadRequest, message));
    }
    assert_eq!(server.seen().connections, 0);
}
