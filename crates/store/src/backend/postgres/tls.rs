//! TLS to the server: rustls with the certificates that the system trusts (or those of `SSL_CERT_FILE`).

use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};

use haft_contract::BoxFuture;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::BuilderVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, MakeTlsConnect, TlsConnect, TlsStream};
use tokio_rustls::TlsConnector;

use super::failure::Failure;
use crate::ServerFault;

/// Makes connections; whether one is encrypted is said by `sslmode` of the address.
#[derive(Clone)]
pub(super) struct Tls(Arc<rustls::ClientConfig>);

impl Tls {
    pub(super) fn new() -> Result<Self, Failure> {
        let refused = |error: rustls::Error| Failure::Fault(ServerFault::Refused, format!("TLS cannot be used: {error}"));
        let config = rustls::ClientConfig::builder_with_provider(Arc::new(rustls::crypto::ring::default_provider()))
            .with_safe_default_protocol_versions()
            .map_err(refused)?
            .with_platform_verifier()
            .map_err(refused)?
            .with_no_client_auth();
        Ok(Self(Arc::new(config)))
    }
}

/// A connection to one host; a socket in a folder has no name, and is not encrypted.
pub(super) struct HostTls(Arc<rustls::ClientConfig>, Option<ServerName<'static>>);

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> MakeTlsConnect<S> for Tls {
    type Stream = Encrypted<S>;
    type TlsConnect = HostTls;
    type Error = io::Error;

    fn make_tls_connect(&mut self, domain: &str) -> io::Result<HostTls> {
        Ok(HostTls(Arc::clone(&self.0), ServerName::try_from(domain).ok().map(|name| name.to_owned())))
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin + Send + 'static> TlsConnect<S> for HostTls {
    type Stream = Encrypted<S>;
    type Error = io::Error;
    type Future = BoxFuture<'static, io::Result<Encrypted<S>>>;

    fn connect(self, stream: S) -> Self::Future {
        Box::pin(async move {
            let name = self.1.ok_or_else(|| io::Error::other("its host has no name that a certificate could have"))?;
            Ok(Encrypted(Box::new(TlsConnector::from(self.0).connect(name, stream).await?)))
        })
    }
}

/// An encrypted stream.
pub(super) struct Encrypted<S>(Box<tokio_rustls::client::TlsStream<S>>);

impl<S: AsyncRead + AsyncWrite + Unpin> TlsStream for Encrypted<S> {
    /// The certificate is checked, which is more than its hash would say.
    fn channel_binding(&self) -> ChannelBinding {
        ChannelBinding::none()
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncRead for Encrypted<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, out: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_read(cx, out)
    }
}

impl<S: AsyncRead + AsyncWrite + Unpin> AsyncWrite for Encrypted<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut *self.0).poll_write(cx, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut *self.0).poll_shutdown(cx)
    }
}
