//! The way to the gateway: one outgoing WebSocket, with TLS unless it stays on this machine.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use haft_websocket::request_upgrade;
use tokio::net::{TcpStream, lookup_host};
use tokio::time::timeout;
use tokio_rustls::TlsConnector;
use tokio_rustls::rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use tokio_rustls::rustls::crypto::{CryptoProvider, ring as provider, verify_tls12_signature, verify_tls13_signature};
use tokio_rustls::rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use tokio_rustls::rustls::{self, ClientConfig, DigitallySignedStruct, SignatureScheme};
use url::Url;

use crate::link::BoxStream;

/// Where gateways wait for nodes.
pub const NODE_PATH: &str = "/node";
const CONNECT: Duration = Duration::from_secs(15);

/// The address of a gateway, checked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewayAddress {
    host: String,
    port: u16,
    is_secure: bool,
    fingerprint: Option<String>,
}

impl GatewayAddress {
    /// Reads `wss://host:port#FINGERPRINT`, `https://host:port`, and for this machine alone `ws://127.0.0.1:port` or `http://…`.
    pub fn parse(text: &str) -> Result<Self, String> {
        let url = Url::parse(text.trim()).map_err(|error| format!("'{text}' is no address ({error}); write wss://HOST:PORT"))?;
        let is_secure = match url.scheme() {
            "wss" | "https" => true,
            "ws" | "http" => false,
            other => return Err(format!("a gateway is reached by wss://HOST:PORT, not by {other}:")),
        };
        let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']).to_owned();
        if host.is_empty() || !url.username().is_empty() || url.password().is_some() {
            return Err(format!("'{text}' has to be wss://HOST:PORT, without a user"));
        }
        let is_local = host == "localhost" || host.parse::<IpAddr>().is_ok_and(|address| address.is_loopback());
        if !is_secure && !is_local {
            return Err(format!(
                "ws:// to {host} would go unencrypted over the network. Use wss://, and start the gateway with --tls-certificate and --tls-key"
            ));
        }
        let fingerprint = url.fragment().map(str::to_ascii_lowercase).filter(|text| !text.is_empty());
        Ok(Self { port: url.port().unwrap_or(if is_secure { 443 } else { 80 }), host, is_secure, fingerprint })
    }

    /// The gateway that the address means.
    pub(crate) fn fingerprint(&self) -> Option<&str> {
        self.fingerprint.as_deref()
    }

    /// `host:port`, as the header `Host` has it.
    fn authority(&self) -> String {
        if self.host.contains(':') { format!("[{}]:{}", self.host, self.port) } else { format!("{}:{}", self.host, self.port) }
    }

    /// Opens a WebSocket there.
    pub async fn connect(&self) -> io::Result<BoxStream> {
        let late = |_| io::Error::new(io::ErrorKind::TimedOut, "the gateway does not answer");
        timeout(CONNECT, self.dial()).await.map_err(late)?
    }

    async fn dial(&self) -> io::Result<BoxStream> {
        let addresses: Vec<SocketAddr> = lookup_host((self.host.as_str(), self.port)).await?.collect();
        if !self.is_secure && addresses.iter().any(|address| !address.ip().is_loopback()) {
            return Err(io::Error::other(format!("'{}' is another machine: use wss://", self.host)));
        }
        let stream = TcpStream::connect(&addresses[..]).await?;
        stream.set_nodelay(true)?;
        let mut stream: BoxStream = if self.is_secure { Box::new(self.encrypt(stream).await?) } else { Box::new(stream) };
        self.upgrade(&mut stream).await?;
        Ok(stream)
    }

    async fn encrypt(&self, stream: TcpStream) -> io::Result<tokio_rustls::client::TlsStream<TcpStream>> {
        let crypto = Arc::new(provider::default_provider());
        let config = ClientConfig::builder_with_provider(Arc::clone(&crypto)).with_safe_default_protocol_versions();
        let config = config.map_err(io::Error::other)?.dangerous().with_custom_certificate_verifier(Arc::new(AnyCertificate(crypto)));
        let name = ServerName::try_from(self.host.clone()).map_err(io::Error::other)?;
        TlsConnector::from(Arc::new(config.with_no_client_auth())).connect(name, stream).await
    }

    async fn upgrade(&self, stream: &mut BoxStream) -> io::Result<()> {
        let refused = |error: io::Error| {
            io::Error::new(error.kind(), format!("the gateway: {error}; is it `haft serve`, and does it know this name (--host-name)?"))
        };
        request_upgrade(stream, &self.authority(), NODE_PATH).await.map_err(refused)
    }
}

/// Takes any certificate: the gateway proves the pinned key inside the connection, and everything in it is sealed to that key. TLS hides
/// even that from who listens on the way, and a certificate that expires or changes does not part a node from its gateway.
#[derive(Debug)]
struct AnyCertificate(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyCertificate {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }
    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }
    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signed, &self.0.signature_verification_algorithms)
    }
    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_encrypted_or_stay_on_this_machine() {
        let address = |host: &str, port, is_secure| Ok(GatewayAddress { host: host.into(), port, is_secure, fingerprint: None });
        for (text, expected) in [
            ("wss://gateway.example:7318", address("gateway.example", 7318, true)),
            ("https://gateway.example/", address("gateway.example", 443, true)),
            ("ws://127.0.0.1:7318", address("127.0.0.1", 7318, false)),
            ("http://[::1]:80", address("::1", 80, false)),
            (" ws://localhost:1 ", address("localhost", 1, false)),
        ] {
            assert_eq!(GatewayAddress::parse(text), expected, "{text}");
        }
        for text in ["ws://10.0.0.1:7318", "http://gateway.example", "ftp://x", "7318", "", "wss://user@x:1", "wss://:1", "ws://0.0.0.0:1"]
        {
            assert!(GatewayAddress::parse(text).is_err(), "{text}");
        }
        assert_eq!(GatewayAddress::parse("http://[::1]:80").unwrap().authority(), "[::1]:80");
        assert_eq!(GatewayAddress::parse("wss://x:1#ABc").unwrap().fingerprint(), Some("abc"));
    }
}
