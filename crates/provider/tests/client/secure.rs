//! TLS through a proxy, with certificates that the environment names, in HTTP/1.1 and 2. The certificate in `data/` is for
//! `secure.example`, signed by itself, and of no use anywhere else.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::sync::{Arc, Mutex};

use haft_provider::{Options, ProviderErrorKind};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::plain::reply;
use crate::server::read_request;
use crate::support::{HELLO, KEY, WHOLE, ask, endpoint, quick};

const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client/data/certificate.pem");

/// Serves one TLS connection with these protocols to offer, as `talk` says, then ends.
fn secure_server(protocols: &[&[u8]], talk: Talk) -> SocketAddr {
    let mut config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(CERTIFICATE).unwrap()],
            PrivateKeyDer::try_from(include_bytes!("data/key.der").to_vec()).unwrap(),
        )
        .unwrap();
    config.alpn_protocols = protocols.iter().map(|protocol| protocol.to_vec()).collect();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut secure = Stream::new(&mut connection, &mut stream);
        // A client that does not trust the certificate hangs up here.
        if secure.conn.complete_io(secure.sock).is_ok() {
            talk(&mut secure);
            secure.conn.send_close_notify();
            drop(secure.flush());
        }
    });
    address
}

trait Conversation: Read + Write {}
impl<T: Read + Write> Conversation for T {}
type Talk = fn(&mut dyn Conversation);

fn first_version(connection: &mut dyn Conversation) {
    let mut request = Vec::new();
    while !request.ends_with(b"}") {
        let mut bytes = [0; 4096];
        let length = connection.read(&mut bytes).unwrap();
        request.extend_from_slice(&bytes[..length]);
    }
    assert!(String::from_utf8(request).unwrap().contains(KEY));
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ncontent-length: {}\r\n\r\n", WHOLE.len());
    connection.write_all(head.as_bytes()).unwrap();
    connection.write_all(WHOLE.as_bytes()).unwrap();
}

/// HTTP/2 by hand: settings, the request to its end, and the answer in two frames of data.
fn second_version(connection: &mut dyn Conversation) {
    const DATA: u8 = 0;
    const HEADERS: u8 = 1;
    const SETTINGS: u8 = 4;
    const END_STREAM: u8 = 1;
    const END_HEADERS: u8 = 4;
    let mut preface = [0; 24];
    connection.read_exact(&mut preface).unwrap();
    assert_eq!(&preface, b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    write_frame(connection, SETTINGS, 0, 0, b"");
    loop {
        let mut head = [0; 9];
        connection.read_exact(&mut head).unwrap();
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        connection.read_exact(&mut payload).unwrap();
        if head[3] == DATA && head[4] & END_STREAM == END_STREAM {
            break;
        }
    }
    // `:status: 200` from the static table, and `content-type` with its value.
    let headers = [b"\x88\x0f\x10\x11".as_slice(), b"text/event-stream"].concat();
    write_frame(connection, HEADERS, END_HEADERS, 1, &headers);
    write_frame(connection, DATA, 0, 1, HELLO.as_bytes());
    write_frame(connection, DATA, END_STREAM, 1, &WHOLE.as_bytes()[HELLO.len()..]);
}

fn write_frame(connection: &mut dyn Conversation, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
    let head = [&length[1..], &[kind, flags], &stream.to_be_bytes()].concat();
    connection.write_all(&[&head, payload].concat()).unwrap();
}

/// A proxy that connects everybody to one place, and remembers what they asked for.
struct Proxy {
    address: SocketAddr,
    asked: Arc<Mutex<Vec<String>>>,
    task: JoinHandle<()>,
}

impl Proxy {
    async fn to(target: SocketAddr) -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let (address, asked) = (listener.local_addr().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let log = Arc::clone(&asked);
        let task = tokio::spawn(async move {
            loop {
                let (mut client, _) = listener.accept().await.unwrap();
                let Some(request) = read_request(&mut client).await else { continue };
                log.lock().unwrap().push(request);
                client.write_all(b"HTTP/1.1 200 Connected\r\n\r\n").await.unwrap();
                let mut server = TcpStream::connect(target).await.unwrap();
                // Either side may hang up first; what came through is for the test to check.
                drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
            }
        });
        Self { address, asked, task }
    }

    fn options(&self, certificates: Option<&str>) -> Options {
        let environment = |name: &str| match name {
            "HTTPS_PROXY" => Some(self.address.to_string()),
            "SSL_CERT_FILE" => certificates.map(str::to_owned),
            _ => None,
        };
        let from_env = Options::from_env(environment).unwrap();
        let mut options = quick(2);
        (options.proxies, options.certificates) = (from_env.proxies, from_env.certificates);
        options
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[tokio::test]
async fn http_1_and_2_work_through_a_proxy_that_sees_no_key() {
    let versions: [(&[&[u8]], Talk); 3] = [(&[], first_version), (&[b"http/1.1"], first_version), (&[b"h2"], second_version)];
    for (protocols, talk) in versions {
        let proxy = Proxy::to(secure_server(protocols, talk)).await;
        let outcome = ask(proxy.options(Some(CERTIFICATE)), &endpoint("https://secure.example/v1")).await;
        assert_eq!(outcome.answer.map(|answer| (answer.reply, answer.retries)), Ok((reply("Hello", 0), 0)), "{protocols:?}");
        let asked = proxy.asked.lock().unwrap().join("");
        assert!(asked.starts_with("CONNECT secure.example:443 HTTP/1.1\r\n") && !asked.contains(KEY), "{asked}");
    }
}

#[tokio::test]
async fn invalid_certificate_is_refused_and_not_retried() {
    for (certificates, host) in [(None, "secure.example"), (Some(CERTIFICATE), "other.example")] {
        let proxy = Proxy::to(secure_server(&[], first_version)).await;
        let outcome = ask(proxy.options(certificates), &endpoint(format!("https://{host}/v1"))).await;
        let (kind, message) = outcome.error();
        assert_eq!((kind, outcome.waits.len()), (ProviderErrorKind::Network, 0));
        assert!(message.starts_with(&format!("The certificate of {host} was not accepted: ")), "{message}");
        assert!(
            message.ends_with("Nothing was sent. If a proxy of your network signs it, name its certificates in SSL_CERT_FILE."),
            "{message}"
        );
    }
}

#[tokio::test]
async fn port_without_tls_is_reported() {
    let server = crate::server::Server::playing(vec![vec![crate::support::say("HTTP/1.1 400 Bad Request\r\n\r\n")]]).await;
    let outcome = ask(quick(2), &endpoint(format!("https://{}", server.address))).await;
    let message = format!(
        "No secure connection to {}: received corrupt message of type InvalidContentType. Check that the base_url uses https.",
        server.address
    );
    assert_eq!((outcome.error(), outcome.waits.len()), ((ProviderErrorKind::Network, message.as_str()), 0));
}

#[tokio::test]
async fn unusable_certificate_file_is_named() {
    let nowhere = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client/data/none.pem");
    let empty = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/client/main.rs");
    for (path, why) in [(nowhere, "No such file or directory (os error 2)"), (empty, "it has none")] {
        assert_eq!(Path::new(path).exists(), path == empty);
        let mut options = quick(2);
        options.certificates = Some(path.into());
        let outcome = ask(options, &endpoint("https://127.0.0.1:1")).await;
        let message = format!("Cannot use the certificates in {path} (SSL_CERT_FILE): {why}. Name a PEM file.");
        assert_eq!((outcome.error(), outcome.waits.len()), ((ProviderErrorKind::Network, message.as_str()), 0));
    }
}
