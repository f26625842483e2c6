//! One file for each command.

mod agents;
mod background;
mod browser;
mod call;
pub(crate) mod channels;
mod chat;
mod completions;
mod config;
mod cron;
mod demo;
mod doctor;
mod explain;
#[cfg(feature = "postgres")]
mod fleet;
mod history;
mod man;
mod mcp;
mod memory;
mod models;
mod node;
mod plugins;
mod policy;
mod prune;
mod quarantine;
mod run;
mod serve;
mod sessions;
mod skills;
mod store;
mod tenants;
mod tools;
mod trust;
mod undo;
#[cfg(feature = "postgres")]
mod worker;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use haft_tui::interrupt;

use crate::arguments::{Cli, CliCommand};
use crate::failure::{Exit, Failure};

/// Does what the command line asks for.
pub(crate) fn run(cli: Cli) -> Result<Exit, Failure> {
    let Cli { common, command } = cli;
    let output = || common.output();
    match command {
        CliCommand::Run(request) => run::run(&common, &request, &output()),
        CliCommand::Chat(request) => chat::run(&common, &request, &output()),
        CliCommand::Call(words) => call::run(common, words),
        CliCommand::Explain(request) => explain::run(common, request),
        CliCommand::Tools(request) => tools::run(&common, &request, &output()),
        CliCommand::Agents { command } => agents::run(&common, &command, &output()),
        CliCommand::Serve(request) => serve::run(&common, &request, &output()),
        #[cfg(feature = "postgres")]
        CliCommand::Worker(request) => worker::run(&common, &request, &output()),
        #[cfg(feature = "postgres")]
        CliCommand::Fleet { command } => fleet::run(&command, &output()),
        #[cfg(not(feature = "postgres"))]
        CliCommand::Worker(_) | CliCommand::Fleet { .. } => Err(needs_postgres()),
        CliCommand::Sessions { command } => sessions::run(&common, &command, &output()),
        CliCommand::Skills { command } => skills::run(&common, &command, &output()),
        CliCommand::Plugins { command } => plugins::run(&common, &command, &output()),
        CliCommand::Mcp(request) => mcp::run(&common, &request, &output()),
        CliCommand::Browser { command } => browser::run(&command, &output()),
        CliCommand::Channels { command } => channels::run(&common, &command, &output()),
        CliCommand::Cron { command } => cron::run(&common, &command, &output()),
        CliCommand::Memory { command } => memory::run(&common, &command, &output()),
        CliCommand::Node { command } => node::run(&common, &command, &output()),
        CliCommand::Models(request) => models::run(&common, request, &output()),
        CliCommand::History(request) => history::run(request, &output()),
        CliCommand::Undo(request) => undo::run(&common, &request, &output()),
        CliCommand::Quarantine { command } => quarantine::run(command.as_ref(), &output()),
        CliCommand::Prune(request) => prune::run(&common, &request, &output()),
        CliCommand::Store { command } => store::run(&command, &output()),
        CliCommand::Tenants { command } => tenants::run(&common, &command, &output()),
        CliCommand::Policy { command } => policy::run(&common, &command, &output()),
        CliCommand::Trust(request) => trust::run(&common, request, &output()),
        CliCommand::Config { command } => config::run(&common, command, &output()),
        CliCommand::Demo(request) => demo::run(&common, request, &output()),
        CliCommand::Doctor(request) => doctor::run(&common, request, &output()),
        CliCommand::Completions { shell } => completions::run(shell, &output()),
        CliCommand::Man { command, folder: None } => man::run(&command, &output()),
        CliCommand::Man { folder: Some(folder), .. } => man::write_all(&folder),
    }
}

#[cfg(not(feature = "postgres"))]
fn needs_postgres() -> Failure {
    let message = "this build has no workers: they need the features of PostgreSQL and NATS".to_owned();
    Failure::usage(message).help("build it with `cargo build --release --features postgres`")
}

/// What a call leaves running on a blocking thread has this long to clean up.
const GRACE: Duration = Duration::from_secs(1);

/// Runs one future to its end, on this thread: a single call needs no more.
pub(crate) fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed("execution_error", format!("the runtime cannot be started: {error}")))?;
    // Boxed: the machinery of the runtime would be built once for each command.
    let future: Pin<Box<dyn Future<Output = _> + '_>> = Box::pin(future);
    let outcome = runtime.block_on(future);
    runtime.block_on(crate::wire::close_servers());
    // What commands leave behind is cleared away by tasks of this runtime, so it must not end before them.
    if !haft_jobs::end_all_jobs(Duration::ZERO) {
        runtime.block_on(async { drop(tokio::task::spawn_blocking(|| haft_jobs::end_all_jobs(crate::LAST_GRACE)).await) });
    }
    runtime.shutdown_timeout(GRACE);
    outcome
}
