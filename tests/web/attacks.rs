//! D01 to D12 over all three tools: what must be refused is refused before a byte is sent.

use std::sync::Arc;

use haft::{SearchEndpoint, SearchFields, SearchProvider, ports::SearchKey};
use serde_json::json;

use crate::dns::DnsServer;
use crate::server::{Answers, Server, answer, page, redirect};
use crate::world::{Setup, TOOLS, reach};

const NOT_ALLOWED: &str = "network_error: Address not allowed: ";
const INVALID: &str = "validation_error: Invalid URL: ";
const WRONG_PROVIDER: &str = "execution_error: The address of the search provider is wrong: ";
const NEVER: &str = "No setting opens it to tools: do without it.";

/// Attack, address (`PORT` is that of a server which must not be reached), what every tool answers.
const REFUSED: &[(&str, &str, &str)] = &[
    ("D01", "http://127.0.0.1:PORT/", NOT_ALLOWED),
    ("D01", "http://localhost:PORT/", NOT_ALLOWED),
    ("D01", "http://localhost.:PORT/", NOT_ALLOWED),
    ("D01", "http://a.localhost:PORT/", NOT_ALLOWED),
    ("D01", "http://0.0.0.0:PORT/", NOT_ALLOWED),
    ("D01", "http://0:PORT/", NOT_ALLOWED),
    ("D01", "http://127.1:PORT/", NOT_ALLOWED),
    ("D01", "http://2130706433:PORT/", NOT_ALLOWED),
    ("D01", "http://0x7f.1:PORT/", NOT_ALLOWED),
    ("D01", "http://0x7f000001:PORT/", NOT_ALLOWED),
    ("D01", "http://0177.0.0.1:PORT/", NOT_ALLOWED),
    ("D01", "http://017700000001:PORT/", NOT_ALLOWED),
    ("D01", "http://127.0.0.1.:PORT/", NOT_ALLOWED),
    ("D02", "http://[::1]:PORT/", NOT_ALLOWED),
    ("D02", "http://[::]:PORT/", NOT_ALLOWED),
    ("D02", "http://[::ffff:127.0.0.1]:PORT/", NOT_ALLOWED),
    ("D02", "http://[::127.0.0.1]:PORT/", NOT_ALLOWED),
    ("D02", "http://[64:ff9b::7f00:1]:PORT/", NOT_ALLOWED),
    ("D02", "http://[64:ff9b:1::7f00:1]:PORT/", NOT_ALLOWED),
    ("D02", "http://[2002:7f00:1::]:PORT/", NOT_ALLOWED),
    ("D02", "http://[2001:0:7f00:1::f5ff:fffe]:PORT/", NOT_ALLOWED),
    ("D02", "http://[fe80::1]:PORT/", NOT_ALLOWED),
    ("D02", "http://[fe80::1%25eth0]:PORT/", INVALID),
    ("D02", "http://[fc00::1]:PORT/", NOT_ALLOWED),
    ("D07", "http://allowed.test@127.0.0.1:PORT/", INVALID),
    ("D07", "http://127.0.0.1:PORT\\@allowed.test/", INVALID),
    ("D07", "http://127.0.0.1:PORT#@allowed.test", NOT_ALLOWED),
    ("D07", "http://127.0.0.1:PORT?@allowed.test", NOT_ALLOWED),
    ("D07", "http://%31%32%37.0.0.1:PORT/", NOT_ALLOWED),
    ("D07", "http://１２７.0.0.1:PORT/", NOT_ALLOWED),
    ("D07", "http://①②⑦.0.0.1:PORT/", NOT_ALLOWED),
    ("D07", "HTTP://LOCALHOST:PORT/", NOT_ALLOWED),
    ("D07", "http:127.0.0.1:PORT/", NOT_ALLOWED),
    ("D07", "http:////127.0.0.1:PORT/", NOT_ALLOWED),
    ("D07", "http://127.0.0.1 :PORT/", INVALID),
    ("D07", "file:///etc/passwd", INVALID),
    ("D07", "gopher://127.0.0.1:PORT/", INVALID),
    ("D08", "http://127.0.0.1\r\nX: y:PORT/", INVALID),
    ("D08", "http://127.0.0.1\0.test:PORT/", INVALID),
    ("D08", "http://127.0.0.1%00.test:PORT/", INVALID),
    ("D08", "http://127.0.0.1%0d%0a.test:PORT/", INVALID),
];

#[tokio::test]
async fn d01_d02_d07_d08_special_addresses_are_refused_in_every_spelling() {
    let server = Server::start(Answers::from([("/", page("text/plain", "reached"))])).await;
    let port = server.address.port().to_string();
    for tool in TOOLS {
        for (attack, url, expected) in REFUSED {
            let outcome = reach(tool, &url.replace("PORT", &port), Setup::default()).await;
            // The address of a provider is the user's: it is made canonical first, so it may be refused for another reason.
            let others = if tool == "web_search" { &[NOT_ALLOWED, INVALID, WRONG_PROVIDER][..] } else { &[] };
            let refused = outcome.starts_with(expected) || others.iter().any(|other| outcome.starts_with(other));
            assert!(refused, "{attack} {tool} {url:?}: {outcome}");
        }
    }
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn d03_metadata_services_are_refused_even_where_private_ranges_are_allowed() {
    for tool in TOOLS {
        for host in [
            "169.254.169.254",
            "[::ffff:169.254.169.254]",
            "[64:ff9b::a9fe:a9fe]",
            "[fd00:ec2::254]",
            "100.100.100.200",
            "168.63.129.16",
            "metadata.google.internal",
            "metadata.google.internal.",
            "2852039166",
        ] {
            let open = Setup::allowing(["0.0.0.0/0", "::/0", "*.google.internal", "169.254.169.254"]);
            let outcome = reach(tool, &format!("http://{host}/latest/meta-data/"), open).await;
            assert!(outcome.starts_with(NOT_ALLOWED) && outcome.contains(NEVER), "{tool} {host}: {outcome}");
        }
    }
}

#[tokio::test]
async fn d04_names_with_one_private_address_are_refused() {
    let server = Server::start(Answers::new()).await;
    let dns = DnsServer::start(&[
        ("private.test", &[&["10.0.0.1"]]),
        ("loopback.test", &[&["127.0.0.1"]]),
        ("mixed.test", &[&["93.184.216.34", "127.0.0.1"]]),
        ("six.test", &[&["93.184.216.34", "::1"]]),
        ("mapped.test", &[&["::ffff:10.0.0.1"]]),
        ("metadata.test", &[&["169.254.169.254"]]),
    ])
    .await;
    for tool in TOOLS {
        for name in ["private", "loopback", "mixed", "six", "mapped", "metadata"] {
            let setup = Setup { resolver: Some(Arc::new(dns.resolver())), ..Setup::default() };
            let outcome = reach(tool, &format!("http://{name}.test:{}/", server.address.port()), setup).await;
            assert!(outcome.starts_with(&format!("{NOT_ALLOWED}{name}.test (")), "{tool} {name}: {outcome}");
        }
    }
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn d05_the_address_that_was_checked_is_the_one_connected_to() {
    for tool in TOOLS {
        let server = Server::start(Answers::from([(
            "/",
            page("application/json", r#"{"results": [{"title": "reached", "url": "http://a.test/"}]}"#),
        )]))
        .await;
        let dns = DnsServer::start(&[("rebind.test", &[&["127.0.0.1"], &["169.254.169.254"]])]).await;
        let setup = Setup { resolver: Some(Arc::new(dns.resolver())), ..Setup::allowing([server.address]) };
        let outcome = reach(tool, &format!("http://rebind.test:{}/", server.address.port()), setup).await;
        assert!(outcome.contains("reached"), "{tool}: {outcome}");
        assert_eq!((dns.asked(), server.asked().len()), (vec!["rebind.test".to_owned()], 1), "{tool}: one lookup, one connection");
    }
}

#[tokio::test]
async fn d06_every_hop_of_a_redirect_is_checked_again() {
    let other = Server::start(Answers::from([("/", page("text/plain", "reached"))])).await;
    let there = other.url("/");
    let rows = [
        ("/private", there.as_str(), "Address not allowed: "),
        ("/metadata", "http://169.254.169.254/", "Address not allowed: "),
        ("/file", "file:///etc/passwd", "Redirect refused: "),
        ("/gopher", "gopher://127.0.0.1/", "Redirect refused: "),
        ("/data", "data:text/plain,x", "Redirect refused: "),
        ("/credentials", "http://user:pw@allowed.test/", "Redirect refused: "),
        ("/loop", "/loop", "Too many redirects: stopped after 5"),
    ];
    let server = Server::start(rows.iter().map(|(path, to, _)| (*path, redirect(to))).collect()).await;
    for (path, _, expected) in rows {
        for tool in ["http_request", "web_fetch"] {
            let outcome = reach(tool, &server.url(path), Setup::allowing([server.address])).await;
            assert!(outcome.starts_with(&format!("network_error: {expected}")), "{tool} {path}: {outcome}");
        }
        let outcome = reach("web_search", &server.url(path), Setup::allowing([server.address])).await;
        assert!(outcome.starts_with("network_error: The search provider json answered HTTP 302."), "{path}: {outcome}");
    }
    assert_eq!(other.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn d09_a_rule_for_a_host_is_not_one_for_its_look_alikes() {
    let dns = DnsServer::start(&[
        ("hub.test", &[&["10.0.0.9"]]),
        ("evilhub.test", &[&["10.0.0.9"]]),
        ("hub.test.evil", &[&["10.0.0.9"]]),
        ("a.hub.test", &[&["10.0.0.9"]]),
    ])
    .await;
    for tool in TOOLS {
        for host in ["evilhub.test", "hub.test.evil", "a.hub.test"] {
            let setup = Setup { resolver: Some(Arc::new(dns.resolver())), ..Setup::allowing(["hub.test"]) };
            let outcome = reach(tool, &format!("http://{host}/"), setup).await;
            assert!(outcome.starts_with(&format!("{NOT_ALLOWED}{host} (10.0.0.9)")), "{tool} {host}: {outcome}");
        }
    }
}

#[tokio::test]
async fn d08_d10_headers_that_contradict_the_request_are_refused() {
    let server = Server::start(Answers::new()).await;
    let world = Setup::allowing([server.address]).open();
    for (name, value) in [
        ("Host", "other.test"),
        ("Transfer-Encoding", "chunked"),
        ("Content-Length", "5"),
        ("Connection", "upgrade"),
        ("Upgrade", "websocket"),
        ("X-A", "a\r\nX-B: b"),
        ("X\r\nY", "a"),
        ("X-A", "a\u{0}"),
    ] {
        let outcome = world.text("http_request", json!({"url": server.url("/"), "headers": {name: value}})).await;
        assert!(outcome.starts_with("validation_error: "), "{name}: {outcome}");
    }
    assert_eq!(server.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn d11_credentials_stay_with_their_origin() {
    let other = Server::start(Answers::from([("/", page("text/plain", "there"))])).await;
    let to: &'static str = Box::leak(other.url("/").into_boxed_str());
    let server = Server::start(Answers::from([("/", redirect(to))])).await;
    let world = Setup::allowing([server.address, other.address]).open();
    let headers = json!({"Authorization": "Bearer abc", "Cookie": "a=b", "X-Api-Key": "k", "Accept": "text/plain"});
    let outcome = world.text("http_request", json!({"url": server.url("/"), "headers": headers})).await;
    assert!(outcome.contains("there"), "{outcome}");
    assert!(server.asked()[0].to_ascii_lowercase().contains("authorization: bearer abc"));
    let hop = other.asked()[0].to_ascii_lowercase();
    assert!(hop.contains("accept: text/plain") && !hop.contains("authorization") && !hop.contains("cookie"), "{hop}");
}

#[tokio::test]
async fn d11_key_of_a_search_provider_is_not_sent_to_where_it_redirects() {
    let other = Server::start(Answers::from([("/", page("application/json", r#"{"results": []}"#))])).await;
    let to: &'static str = Box::leak(other.url("/").into_boxed_str());
    let server = Server::start(Answers::from([("/", redirect(to))])).await;
    let (url, key) = (server.url("/?q={query}"), Some(SearchKey("k-123".into())));
    let search = SearchEndpoint { provider: SearchProvider::Json, url, key, fields: SearchFields::default() };
    let setup = Setup { search: Some(search), ..Setup::allowing([server.address, other.address]) };
    let outcome = setup.open().text("web_search", json!({"query": "axe"})).await;
    assert!(outcome.starts_with("network_error: The search provider json answered HTTP 302."), "{outcome}");
    assert!(server.asked()[0].contains("k-123"), "{:?}", server.asked());
    assert_eq!(other.asked(), Vec::<String>::new());
}

#[tokio::test]
async fn d11_cookies_of_one_page_are_not_sent_with_the_next() {
    let setting = answer(200, "Content-Type: text/plain\r\nSet-Cookie: id=42; Path=/\r\n", b"one");
    let server = Server::start(Answers::from([("/one", setting), ("/two", page("text/plain", "two"))])).await;
    let world = Setup::allowing([server.address]).open();
    for (tool, path) in [("web_fetch", "/one"), ("web_fetch", "/two"), ("http_request", "/one"), ("http_request", "/two")] {
        world.text(tool, json!({"url": server.url(path)})).await;
    }
    assert_eq!(server.asked().len(), 4);
    assert!(server.asked().iter().all(|request| !request.to_ascii_lowercase().contains("cookie:")), "{:?}", server.asked());
}
