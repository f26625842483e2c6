//! What the machine has and lacks: certificates that nobody signed, no Chromium, an ordinary user.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use haft_browser::{BrowserService, BrowserSettings};
use haft_contract::ErrorKind;
use haft_contract::ports::BrowserAction;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};

use crate::world::World;

const DATA: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../host/tests/http_client/data");

/// Serves TLS connections with a certificate that no one trusts, until the test ends.
fn secure_server() -> SocketAddr {
    let key = std::fs::read(format!("{DATA}/key.der")).unwrap();
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(format!("{DATA}/certificate.pem")).unwrap()],
            PrivateKeyDer::try_from(key).unwrap(),
        )
        .unwrap();
    let (config, listener) = (Arc::new(config), TcpListener::bind("127.0.0.2:0").unwrap());
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for mut stream in listener.incoming().flatten() {
            let mut connection = ServerConnection::new(Arc::clone(&config)).unwrap();
            let mut secure = Stream::new(&mut connection, &mut stream);
            // A client that does not trust the certificate hangs up here.
            if matches!(secure.read(&mut [0; 4096]), Ok(1..)) {
                secure.write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\nConnection: close\r\n\r\nread").ok();
            }
        }
    });
    address
}

pub(crate) async fn certificate_that_no_one_signed_is_named() {
    let (world, address) = (World::new(), secure_server());
    let refused = world.perform(BrowserAction::Open(format!("https://{address}/"))).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::NetworkError);
    assert!(
        refused.message().contains(&format!("'https://{address}/' was not opened: its certificate is not valid (ERR_CERT_")),
        "{}",
        refused.message()
    );
    let shown = world.perform(BrowserAction::Snapshot(crate::world::options())).await;
    assert!(!shown.is_ok_and(|reply| reply.page.unwrap_or_default().contains("read")), "nothing of it is read");
}

pub(crate) async fn absent_chromium_is_one_sentence_with_the_command() {
    let mut world = World::new();
    let settings = BrowserSettings { program: Some("/nonexistent/chromium".into()), ..BrowserSettings::default() };
    world.browsers = BrowserService::new(Arc::clone(&world.processes), settings);
    let missing = world.perform(BrowserAction::Open("about:blank".into())).await.unwrap_err();
    assert_eq!(
        missing.message(),
        "There is no browser on this machine: browser.program is '/nonexistent/chromium', and there is no such file. The user can install \
         it with: sudo apt-get install chromium"
    );
}

pub(crate) async fn ordinary_user_has_a_browser() {
    let words = ["page_is_described_with_refs", "killed_program_leaves_no_process"];
    println!("{}", haft_testkit::again_as_an_ordinary_user(&words, &[]).unwrap_or_else(|output| panic!("{output}")));
}
