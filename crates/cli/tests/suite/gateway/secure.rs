//! A server that other machines can reach: encrypted or not at all. The certificate is the one of the tests of the providers: for
//! `secure.example`, signed by itself, and of no use anywhere else.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore, StreamOwned};
use serde_json::{Value, json};

use super::Served;
use crate::suite::harness::World;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../provider/tests/client/data");

/// Writes the key as text, and returns the flags that name both files.
fn certificate(world: &World) -> Vec<String> {
    let key = haft_text::base64::encode(&std::fs::read(Path::new(DATA).join("key.der")).unwrap());
    let kind = "PRIVATE";
    std::fs::write(world.path("key.pem"), format!("-----BEGIN {kind} KEY-----\n{key}\n-----END {kind} KEY-----\n")).unwrap();
    let key = world.path("key.pem").to_str().unwrap().to_owned();
    ["--tls-certificate".to_owned(), format!("{DATA}/certificate.pem"), "--tls-key".to_owned(), key].into()
}

/// One request over TLS to the server with this certificate.
fn request(port: &str, method: &str, path: &str, headers: &str, body: &str) -> (u16, String) {
    let mut roots = RootCertStore::empty();
    roots.add(CertificateDer::from_pem_file(format!("{DATA}/certificate.pem")).unwrap()).unwrap();
    let config = ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_root_certificates(roots)
        .with_no_client_auth();
    let connection = ClientConnection::new(Arc::new(config), ServerName::try_from("secure.example").unwrap()).unwrap();
    let stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let mut secure = StreamOwned::new(connection, stream);
    let length = body.len();
    let head =
        format!("{method} {path} HTTP/1.1\r\nhost: secure.example:{port}\r\ncontent-type: application/json\r\nconnection: close\r\n");
    write!(secure, "{head}{headers}content-length: {length}\r\n\r\n{body}").unwrap();
    let mut answer = String::new();
    secure.read_to_string(&mut answer).ok();
    (answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or(0), answer)
}

#[test]
fn server_on_other_interfaces_is_encrypted_and_needs_a_token() {
    let world = World::new();
    let mut flags = certificate(&world);
    flags.extend(["--listen", "0.0.0.0:0", "--host-name", "secure.example"].map(str::to_owned));
    let served = Served::start_with(&world, &flags.iter().map(String::as_str).collect::<Vec<_>>());
    let (name, port) = served.address.strip_prefix("https://").unwrap().rsplit_once(':').unwrap();
    assert_eq!(name, "secure.example");
    assert_eq!(request(port, "GET", "/", "", "").0, 200);
    assert_eq!(request(port, "GET", "/api/sessions", "", "").0, 401);
    let origin = format!("origin: https://secure.example:{port}\r\n");
    let (status, signed_in) = request(port, "POST", "/api/login", &origin, &json!({ "token": served.link_token() }).to_string());
    assert_eq!(status, 200, "{signed_in}");
    let cookie = signed_in.lines().find_map(|line| line.strip_prefix("set-cookie: ")).unwrap();
    assert!(cookie.contains("; Secure"), "{cookie}");
    let cookie = format!("cookie: {}\r\n", cookie.split(';').next().unwrap());
    assert_eq!(request(port, "GET", "/api/sessions", &cookie, "").0, 200);
    assert_eq!(request(port, "GET", "/api/sessions", &format!("{cookie}origin: http://secure.example:{port}\r\n"), "").0, 403);
    // Without encryption nothing is answered, and a client that sends rubbish disturbs nobody.
    let mut plain = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    plain.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    write!(plain, "GET /api/me HTTP/1.1\r\nhost: secure.example\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    plain.read_to_end(&mut answer).ok();
    assert!(!answer.starts_with(b"HTTP"), "{answer:?}");
    let idle = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    assert_eq!(request(port, "GET", "/api/me", &cookie, "").0, 200);
    drop(idle);
}

#[test]
fn server_that_cannot_be_safe_does_not_start() {
    let world = World::new();
    let flags = certificate(&world);
    let [certificate, key] = [flags[1].as_str(), flags[3].as_str()];
    for (words, said) in [
        (vec!["--listen", "0.0.0.0:0"], "nothing encrypts what they send"),
        (vec!["--listen", "0.0.0.0:0", "--tls-certificate", certificate, "--tls-key", key], "--host-name"),
        (vec!["--tls-certificate", certificate, "--tls-key", certificate], "cannot be used"),
        (vec!["--tls-certificate", key, "--tls-key", key], "it has no certificate"),
        (vec!["--tls-certificate", "missing.pem", "--tls-key", key], "missing.pem cannot be used"),
        (vec!["--tls-certificate", certificate], "--tls-key"),
    ] {
        let refused = world.run(&[&["serve"], words.as_slice()].concat());
        assert_eq!(refused.code, 2, "{words:?}");
        assert!(refused.stderr.contains(said), "{words:?}: {}", refused.stderr);
    }
}

#[test]
fn pages_stay_signed_in_over_a_restart_in_the_same_workspace_alone() {
    let world = World::new();
    let mut first = Served::start(&world);
    let page = first.page();
    let phone = page.post("/api/tokens", &json!({ "name": "phone", "scopes": ["view"] })).json();
    let gone = page.post("/api/tokens", &json!({ "name": "gone", "scopes": ["view"] })).json();
    assert_eq!(page.send("DELETE", &format!("/api/tokens/{}", gone["id"].as_str().unwrap()), b"").status, 200);
    let secret = |minted: &Value| minted["token"].as_str().unwrap().to_owned();
    let port = first.address.rsplit_once(':').unwrap().1.to_owned();
    // A second server of the workspace does not share them.
    let other = Served::start(&world);
    assert_eq!(other.stranger().bearer(&secret(&phone)).get("/api/me").status, 401);
    drop(other);
    assert_eq!(first.stop(), Some(0));
    let again = Served::start_with(&world, &["--listen", &format!("127.0.0.1:{port}")]);
    assert_eq!(page.get("/api/me").status, 200, "the cookie is still good");
    assert_eq!(page.post("/api/sessions", &json!({})).status, 201);
    let phone = again.stranger().bearer(&secret(&phone));
    assert_eq!((phone.get("/api/sessions").status, phone.post("/api/sessions", &json!({})).status), (200, 403));
    assert_eq!(again.stranger().bearer(&secret(&gone)).get("/api/me").status, 401, "revoked stays revoked");
    assert_eq!(again.stranger().origin().post("/api/login", &json!({ "token": first.link_token() })).status, 401, "used up stays used up");
    drop(again);
    // Another workspace that is served from the same port is none of theirs.
    std::fs::create_dir_all(world.path("elsewhere")).unwrap();
    let elsewhere = world.path("elsewhere");
    let words = ["--listen", &format!("127.0.0.1:{port}"), "--workspace", elsewhere.to_str().unwrap()];
    let _elsewhere = Served::start_with(&world, &words);
    assert_eq!(page.get("/api/me").status, 401);
}
