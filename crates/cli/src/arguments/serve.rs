//! The command line of `haft serve`.

use std::net::SocketAddr;

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// Where to listen; port 0 takes any that is free
    #[arg(long, value_name = "ADDRESS:PORT", default_value = "127.0.0.1:7318")]
    pub(crate) listen: SocketAddr,
    /// Another name of this machine that browsers use; may be given several times
    #[arg(long = "host-name", value_name = "NAME")]
    pub(crate) host_names: Vec<String>,
}
