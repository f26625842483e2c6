//! The command line of `haft serve`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7318")]
    pub(crate) listen: SocketAddr,
    /// Another name of this machine that browsers use; may be given several times
    #[arg(long = "host-name", value_name = "NAME")]
    pub(crate) host_names: Vec<String>,
    /// The certificate with which other machines may reach it, in PEM, followed by those that signed it
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub(crate) tls_certificate: Option<PathBuf>,
    /// The key of the certificate, in PEM
    #[arg(long, value_name = "FILE", requires = "tls_certificate")]
    pub(crate) tls_key: Option<PathBuf>,
    /// Where to answer GET /metrics for Prometheus, with HAFT_QUEUE
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
    /// End the process of a tenant that nobody used for this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 600, hide_short_help = true)]
    pub(crate) tenant_idle: u64,
}
