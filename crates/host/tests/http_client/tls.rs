//! Certificates. The one in `data/` is for `secure.example`, signed by itself, and of no use anywhere else.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;

use haft_contract::ErrorKind;
use haft_host::GuardedClient;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::{ServerConfig, ServerConnection, Stream};
use tokio::io::AsyncWriteExt;

use crate::support::{Names, Server, client_with, ok, pass_again, patient, redirect, request, send, text};

const CERTIFICATE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/http_client/data/certificate.pem");
/// Set in the child in which the certificate is trusted: trust comes from the environment of a process.
const TRUSTED: &str = "HAFT_TEST_TRUSTED";

/// Serves one TLS connection with this answer, then ends. The answer is never sent if the client hangs up.
fn secure_server(answer: String) -> SocketAddr {
    let config = ServerConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_single_cert(
            vec![CertificateDer::from_pem_file(CERTIFICATE).unwrap()],
            PrivateKeyDer::try_from(include_bytes!("data/key.der").to_vec()).unwrap(),
        )
        .unwrap();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let mut connection = ServerConnection::new(Arc::new(config)).unwrap();
        let mut secure = Stream::new(&mut connection, &mut stream);
        if matches!(secure.read(&mut [0; 4096]), Ok(1..)) {
            secure.write_all(answer.as_bytes()).unwrap();
            secure.conn.send_close_notify();
            secure.flush().unwrap();
        }
    });
    address
}

fn client() -> GuardedClient {
    let names = Names::default().with("secure.example", &[&["127.0.0.1"]]).with("other.example", &[&["127.0.0.1"]]);
    client_with(&["127.0.0.1".into()], patient(), Arc::new(names))
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_not_accepted() {
    let address = secure_server(ok("secret"));
    let error = send(&client(), request("GET", &format!("https://secure.example:{}/", address.port()))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NetworkError);
    assert!(error.message().starts_with("The certificate of secure.example was not accepted: "), "{error}");
    assert!(error.message().ends_with(" The connection was not made; nothing was sent."), "{error}");
}

#[tokio::test]
async fn a_port_without_tls_is_said_to_be_so() {
    let server = Server::handling(|mut stream| async move {
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await.unwrap();
    })
    .await;
    let error = send(&client(), request("GET", &format!("https://{}/", server.address))).await.unwrap_err();
    let expected =
        "No secure connection to 127.0.0.1: received corrupt message of type InvalidContentType. Check that the port speaks https.";
    assert_eq!((error.kind(), error.message()), (ErrorKind::NetworkError, expected));
}

#[tokio::test]
async fn trusted_certificates_are_used_checked_by_name_and_not_left_for_plain_http() {
    if std::env::var_os(TRUSTED).is_some() {
        return with_trust().await;
    }
    let name = "tls::trusted_certificates_are_used_checked_by_name_and_not_left_for_plain_http";
    pass_again(name, &[(TRUSTED, "1"), ("SSL_CERT_FILE", CERTIFICATE), ("SSL_CERT_DIR", "/nonexistent")]).await;
}

async fn with_trust() {
    let get = |host: &str, address: SocketAddr| request("GET", &format!("https://{host}:{}/", address.port()));
    let response = send(&client(), get("secure.example", secure_server(ok("secret")))).await.unwrap();
    assert_eq!(text(response).await, "secret");

    let misnamed = send(&client(), get("other.example", secure_server(ok("")))).await.unwrap_err();
    assert!(misnamed.message().starts_with("The certificate of other.example was not accepted: "), "{misnamed}");

    let plain = Server::answering(|_| ok("")).await;
    let downgrade = send(&client(), get("secure.example", secure_server(redirect(302, &plain.url("/x"))))).await.unwrap_err();
    assert!(downgrade.message().contains(&format!("leads to {}. It would drop encryption.", plain.url("/x"))), "{downgrade}");
    assert_eq!(plain.connections(), 0);
}
