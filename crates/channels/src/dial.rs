//! Connections that are not HTTP: mail, and the sockets of services.

use std::sync::Arc;

use rustls::ClientConfig;
use rustls::pki_types::ServerName;
use rustls_platform_verifier::ConfigVerifierExt;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

/// A connection: plain or encrypted.
pub(crate) trait DialedStream: AsyncRead + AsyncWrite + Send + Unpin {}
impl<T: AsyncRead + AsyncWrite + Send + Unpin> DialedStream for T {}

/// Connects to a server; encrypted, with a certificate that this machine trusts, unless it is plain.
pub(crate) async fn dial(host: &str, port: u16, is_plain: bool) -> Result<Box<dyn DialedStream>, String> {
    let stream = TcpStream::connect((host, port)).await.map_err(|error| error.to_string())?;
    // Without it answers wait for others.
    stream.set_nodelay(true).ok();
    if is_plain {
        return Ok(Box::new(stream));
    }
    // The TLS library has one crypto provider per process; if another part installed one, it stays.
    drop(rustls::crypto::ring::default_provider().install_default());
    let config = ClientConfig::with_platform_verifier().map_err(|error| error.to_string())?;
    let name = ServerName::try_from(host.to_owned()).map_err(|error| error.to_string())?;
    let secure = TlsConnector::from(Arc::new(config)).connect(name, stream).await.map_err(|error| error.to_string())?;
    Ok(Box::new(secure))
}
