//! Behind a proxy of the user's network: the guard checks names, the proxy resolves them.

use std::sync::Arc;

use haft_contract::ports::HttpClient;
use haft_host::{GuardedClient, HttpOptions, NetworkRules, UpstreamProxy};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;

use crate::support::{Names, Server, ok, patient, read_request, redirect, request, send};

/// A client behind this proxy, which may not reach `ads.test`, and knows the name of the proxy alone.
fn client_behind(proxy: &Server, names: &Arc<Names>, open: &[String]) -> GuardedClient {
    let url = format!("http://ann:p%40ss@proxy.test:{}", proxy.address.port());
    let proxy = UpstreamProxy::parse(&url, &["direct.test".into()]).unwrap();
    let rules = NetworkRules::parse(open, &["ads.test".to_owned()]).unwrap();
    GuardedClient::with(rules, HttpOptions { proxy: Some(proxy), ..patient() }, Arc::clone(names) as _)
}

fn names() -> Arc<Names> {
    Arc::new(Names::default().with("proxy.test", &[&["127.0.0.1"]]).with("direct.test", &[&["127.0.0.1"]]))
}

#[tokio::test]
async fn requests_go_through_the_proxy_with_names_it_resolves() {
    let (proxy, names) = (Server::answering(|_| ok("from the proxy")).await, names());
    let client = client_behind(&proxy, &names, &[]);
    let response = send(&client, request("GET", "http://public.test/page")).await.unwrap();
    assert_eq!((response.status, response.url.as_str()), (200, "http://public.test/page"));
    let head = proxy.received()[0].head.to_ascii_lowercase();
    assert!(head.starts_with("get http://public.test/page http/1.1\r\n"), "{head}");
    assert!(head.contains("proxy-authorization: basic yw5uonbac3m="), "{head}");
    assert_eq!(names.asked(), ["proxy.test"]);
    let unknown = client.addresses("public.test", 80).await.unwrap_err();
    assert!(unknown.message().starts_with("Resolved by the proxy http://proxy.test:"), "{}", unknown.message());
}

#[tokio::test]
async fn what_the_guard_refuses_is_not_sent_to_the_proxy() {
    let (proxy, names) = (Server::answering(|_| redirect(302, "http://ads.test/")).await, names());
    let client = client_behind(&proxy, &names, &[]);
    for url in [
        "http://ads.test/",
        "http://127.0.0.1:1/",
        "http://[::1]/",
        "http://localhost/",
        "http://169.254.169.254/",
        "http://metadata.google.internal/",
        "http://10.0.0.1/",
    ] {
        let error = send(&client, request("GET", url)).await.unwrap_err();
        assert!(error.message().starts_with("Address not allowed: "), "{url}: {}", error.message());
    }
    assert_eq!(proxy.connections(), 0);
    let error = send(&client, request("GET", "http://public.test/")).await.unwrap_err();
    assert!(error.message().contains("Address not allowed: ads.test"), "a redirect: {}", error.message());
    assert_eq!(proxy.connections(), 1);
}

#[tokio::test]
async fn this_machine_and_excepted_hosts_are_reached_without_the_proxy() {
    let (proxy, server, names) = (Server::answering(|_| ok("proxy")).await, Server::answering(|_| ok("server")).await, names());
    let port = server.address.port();
    let open = [format!("127.0.0.1:{port}"), format!("localhost:{port}"), format!("direct.test:{port}")];
    let client = client_behind(&proxy, &names, &open);
    for host in ["127.0.0.1", "localhost", "direct.test"] {
        send(&client, request("GET", &server.url_as(host, "/"))).await.unwrap();
    }
    assert_eq!((proxy.connections(), server.connections()), (0, 3));
}

#[tokio::test]
async fn proxy_that_cannot_be_reached_is_named() {
    let (proxy, names) = (Server::answering(|_| ok("")).await, names());
    let port = proxy.address.port();
    let client = client_behind(&proxy, &names, &[]);
    drop(proxy);
    tokio::task::yield_now().await;
    let error = send(&client, request("GET", "http://public.test/")).await.unwrap_err();
    let expected = format!("The connection went through the proxy http://proxy.test:{port} (network.proxy).");
    assert!(error.message().ends_with(&expected) && !error.message().contains("p@ss"), "{}", error.message());
}

/// Sends a `CONNECT` and more through the egress proxy of a command.
async fn tunnelled(client: &GuardedClient, target: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let socket = folder.path().join("proxy");
    let _running = client.proxy(&socket, vec!["public.test:8443".parse().unwrap(), "ads.test".parse().unwrap()], None).unwrap();
    let mut stream = UnixStream::connect(&socket).await.unwrap();
    stream.write_all(format!("CONNECT {target} HTTP/1.1\r\n\r\nhello").as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer).await.unwrap();
    String::from_utf8(answer).unwrap()
}

#[tokio::test]
async fn commands_go_through_the_same_proxy() {
    let proxy = Server::handling(|mut stream| async move {
        let asked = read_request(&mut stream).await.unwrap();
        let status = if asked.head.starts_with("CONNECT public.test:8443 ") { "200 OK" } else { "403 Forbidden" };
        stream.write_all(format!("HTTP/1.1 {status}\r\nVia: a proxy\r\n\r\n").as_bytes()).await.unwrap();
        let mut heard = [0; 5];
        stream.read_exact(&mut heard).await.unwrap();
        stream.write_all(b"heard: ").await.unwrap();
        stream.write_all(&heard).await.unwrap();
    })
    .await;
    let names = names();
    let client = client_behind(&proxy, &names, &[]);
    let answer = tunnelled(&client, "public.test:8443").await;
    assert_eq!(answer, "HTTP/1.1 200 Connection established\r\n\r\nheard: hello");
    let refused = tunnelled(&client, "ads.test:443").await;
    assert!(refused.starts_with("HTTP/1.1 403 "), "{refused}");
    assert_eq!((proxy.connections(), names.asked()), (1, vec!["proxy.test".to_owned()]));
}
