//! TLS for servers that other machines can reach.

use std::io;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::extract::connect_info::Connected;
use axum::serve::{IncomingStream, Listener};
use haft_listen::{BoundedListener, HttpConnection, OpenRequests};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Sleep;
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::ring;
use tokio_rustls::rustls::pki_types::pem::PemObject;
use tokio_rustls::rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio_rustls::server::TlsStream;
use tokio_rustls::{Accept, TlsAcceptor};

use crate::connections::PageRequests;

/// How long a client may take to agree on the keys.
const HANDSHAKE: Duration = Duration::from_secs(10);

/// The files of a certificate, in PEM.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct TlsFiles {
    /// The certificate, followed by those that signed it.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl TlsFiles {
    /// A certificate and its key.
    pub fn new(certificate: PathBuf, key: PathBuf) -> Self {
        Self { certificate, key }
    }

    /// Reads both; the error says which of them cannot be used, and why.
    pub(crate) fn acceptor(&self) -> Result<TlsAcceptor, String> {
        let unusable = |file: &Path, why: &dyn std::fmt::Display| format!("{} cannot be used: {why}", file.display());
        let certificates = CertificateDer::pem_file_iter(&self.certificate).and_then(Iterator::collect::<Result<Vec<_>, _>>);
        let certificates = certificates.map_err(|error| unusable(&self.certificate, &error))?;
        if certificates.is_empty() {
            return Err(unusable(&self.certificate, &"it has no certificate"));
        }
        let key = PrivateKeyDer::from_pem_file(&self.key).map_err(|error| unusable(&self.key, &error))?;
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider())).with_safe_default_protocol_versions();
        let config = config.and_then(|config| config.with_no_client_auth().with_single_cert(certificates, key));
        let mut config = config.map_err(|error| unusable(&self.certificate, &error))?;
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }
}

/// Accepts connections that are encrypted.
pub(crate) struct SecureListener {
    listener: BoundedListener,
    acceptor: TlsAcceptor,
}

impl SecureListener {
    pub(crate) fn new(listener: BoundedListener, acceptor: TlsAcceptor) -> Self {
        Self { listener, acceptor }
    }
}

impl Listener for SecureListener {
    type Io = SecureConnection;
    type Addr = SocketAddr;

    async fn accept(&mut self) -> (SecureConnection, SocketAddr) {
        let (connection, address) = self.listener.accept().await;
        let requests = connection.requests().clone();
        let handshake = Handshake { accept: self.acceptor.accept(connection), deadline: Box::pin(tokio::time::sleep(HANDSHAKE)) };
        (SecureConnection { requests, state: SecureState::Begun(Box::new(handshake)) }, address)
    }

    fn local_addr(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// A connection that agrees on its keys when it is first used: one that dawdles does not keep the others from being accepted.
pub(crate) struct SecureConnection {
    requests: OpenRequests,
    state: SecureState,
}

enum SecureState {
    Begun(Box<Handshake>),
    Open(Box<TlsStream<HttpConnection>>),
}

impl Connected<IncomingStream<'_, SecureListener>> for PageRequests {
    fn connect_info(stream: IncomingStream<'_, SecureListener>) -> Self {
        Self(stream.io().requests.clone())
    }
}

struct Handshake {
    accept: Accept<HttpConnection>,
    deadline: Pin<Box<Sleep>>,
}

impl SecureConnection {
    /// The encrypted stream, when the keys are agreed on.
    fn poll_open(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<Pin<&mut TlsStream<HttpConnection>>>> {
        if let SecureState::Begun(handshake) = &mut self.state {
            match Pin::new(&mut handshake.accept).poll(cx) {
                Poll::Ready(stream) => self.state = SecureState::Open(Box::new(stream?)),
                Poll::Pending => {
                    ready!(handshake.deadline.as_mut().poll(cx));
                    return Poll::Ready(Err(io::ErrorKind::TimedOut.into()));
                }
            }
        }
        match &mut self.state {
            SecureState::Open(stream) => Poll::Ready(Ok(Pin::new(&mut **stream))),
            SecureState::Begun(_) => Poll::Ready(Err(io::ErrorKind::NotConnected.into())),
        }
    }
}

impl AsyncRead for SecureConnection {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(cx))?.poll_read(cx, buffer)
    }
}

impl AsyncWrite for SecureConnection {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(cx))?.poll_write(cx, bytes)
    }
    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, parts: &[io::IoSlice<'_>]) -> Poll<io::Result<usize>> {
        ready!(self.poll_open(cx))?.poll_write_vectored(cx, parts)
    }
    fn is_write_vectored(&self) -> bool {
        true
    }
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(cx))?.poll_flush(cx)
    }
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.poll_open(cx))?.poll_shutdown(cx)
    }
}
