//! What goes wrong is said in the words that models know.

use std::io;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{BoxFuture, ErrorKind};
use haft_host::{HttpOptions, Resolve};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpSocket;

use crate::support::{Names, Server, client_for, client_with, patient, read_request, request, send};

#[tokio::test]
async fn an_unknown_host_is_named() {
    for (names, why) in [(Names::default(), "no such name"), (Names::default().with("gone.example", &[&[]]), "the name has no addresses")] {
        let client = client_with(&[], patient(), Arc::new(names));
        let error = send(&client, request("GET", "http://gone.example/x")).await.unwrap_err();
        let expected = format!("Cannot resolve host: gone.example ({why}). Check the spelling and the connection.");
        assert_eq!((error.kind(), error.message()), (ErrorKind::NetworkError, &*expected));
    }
}

#[tokio::test]
async fn a_closed_port_is_a_refused_connection() {
    // Bound but not listening: nobody else can take the port meanwhile.
    let socket = TcpSocket::new_v4().unwrap();
    socket.bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let address = socket.local_addr().unwrap();
    let client = client_with(&[address.to_string()], patient(), Arc::new(Names::default()));
    let url = format!("http://{address}/x?y=z");
    let error = send(&client, request("GET", &url)).await.unwrap_err();
    let expected = format!("Connection refused: {url}. Nothing listens there, or it does not accept connections.");
    assert_eq!((error.kind(), error.message()), (ErrorKind::NetworkError, &*expected));
}

struct Silent;

impl Resolve for Silent {
    fn resolve<'a>(&'a self, _: &'a str) -> BoxFuture<'a, io::Result<Vec<IpAddr>>> {
        Box::pin(std::future::pending())
    }
}

#[tokio::test]
async fn a_lookup_that_hangs_is_given_up() {
    let options = HttpOptions { connect_timeout: Duration::from_millis(100), ..patient() };
    let client = client_with(&[], options, Arc::new(Silent));
    let error = send(&client, request("GET", "http://slow.example/")).await.unwrap_err();
    let expected = "HTTP request timed out: no connection from slow.example within 100ms. Try again later, or another address.";
    assert_eq!((error.kind(), error.message()), (ErrorKind::Timeout, expected));
}

#[tokio::test]
async fn an_answer_that_breaks_off_is_no_answer() {
    let server = Server::handling(|mut stream| async move {
        read_request(&mut stream).await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nab").await.unwrap();
    })
    .await;
    let mut response = send(&client_for(&server), request("GET", &server.url("/"))).await.unwrap();
    assert_eq!(response.body.chunk().await.unwrap(), Some(b"ab".to_vec()));
    let error = response.body.chunk().await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NetworkError);
    assert!(error.message().starts_with(&format!("HTTP request failed: {}: ", server.url("/"))), "{error}");
}

#[tokio::test]
async fn what_is_not_http_is_said_to_be_so() {
    let server = Server::answering(|_| "SSH-2.0-OpenSSH_9.2\r\n".into()).await;
    let error = send(&client_for(&server), request("GET", &server.url("/"))).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NetworkError);
    assert!(error.message().starts_with(&format!("HTTP request failed: {}: ", server.url("/"))), "{error}");
}
