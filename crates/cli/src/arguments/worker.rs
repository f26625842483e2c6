//! The command line of `haft worker` and `haft fleet`.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueHint};

use crate::help;

/// The longest name of a worker, and of a label.
const MOST_NAME: usize = 64;

#[derive(Debug, Args)]
pub(crate) struct WorkerArgs {
    /// The agents whose turns it runs [default: all of its configuration]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = haft_config::agent_name)]
    pub(crate) agents: Vec<String>,
    /// The tools whose calls it runs [default: none]
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub(crate) tools: Vec<String>,
    /// What this machine has, such as gpu or browser: it takes work with these labels, too
    #[arg(long, value_name = "NAME,…", value_delimiter = ',', value_parser = plain_name)]
    pub(crate) labels: Vec<String>,
    /// How much it does at once
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u64).range(1..=1024))]
    pub(crate) capacity: u64,
    /// Its name [default: that of this machine]
    #[arg(long, value_name = "NAME", value_parser = plain_name)]
    pub(crate) name: Option<String>,
    /// Seconds after which others count its work as lost if it says nothing
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) lease: u64,
    /// A folder in which each session has one of its own, in place of the folder of the server
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) volumes: Option<PathBuf>,
    /// A Git remote: the folder of a session is a clone of it, and each turn is pushed to the branch haft/SESSION
    #[arg(long, value_name = "URL", requires = "volumes")]
    pub(crate) git: Option<String>,
    /// Where to answer GET /metrics for Prometheus
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) metrics: Option<SocketAddr>,
    /// Seconds that work may take when it is stopped; then it is handed to another worker
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(0..=3600))]
    pub(crate) grace: u64,
}

/// A name of a worker or a label: it is shown on the terminals of others.
fn plain_name(text: &str) -> Result<String, String> {
    let name = text.trim();
    if name.is_empty() || name.chars().count() > MOST_NAME || name.chars().any(char::is_control) {
        return Err(format!("use 1 to {MOST_NAME} visible characters"));
    }
    Ok(name.to_owned())
}

#[derive(Debug, Subcommand)]
pub(crate) enum FleetCommand {
    /// Show queues, leases and workers
    #[command(after_long_help = help::FLEET_EXAMPLES)]
    Status,
    /// Start a fleet on this machine, run the demo model on it, and remove everything
    #[command(after_long_help = help::FLEET_EXAMPLES)]
    Demo,
}
