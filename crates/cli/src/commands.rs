//! One file for each command.

mod agents;
mod call;
mod chat;
mod completions;
mod config;
mod doctor;
mod explain;
pub(crate) mod history;
mod interrupt;
mod man;
mod models;
mod policy;
mod run;
mod sessions;
mod staying;
mod tools;
mod trust;
mod undo;

use std::future::Future;
use std::time::Duration;

use crate::arguments::{Cli, Command};
use crate::failure::{Exit, Failure};
use crate::output::Output;

/// Does what the command line asks for.
pub(crate) fn run(cli: Cli) -> Result<Exit, Failure> {
    let Cli { common, command } = cli;
    let output = Output::new(&common);
    match command {
        Command::Run(request) => run::run(&common, &request, &output),
        Command::Chat(request) => chat::run(&common, &request, &output),
        Command::Call(words) => call::run(common, words),
        Command::Explain(request) => explain::run(common, request),
        Command::Tools(request) => tools::run(&common, &request, &output),
        Command::Agents { command } => agents::run(&common, &command, &output),
        Command::Sessions { command } => sessions::run(&common, &command, &output),
        Command::Models(request) => models::run(&common, request, &output),
        Command::History(request) => history::run(request, &output),
        Command::Undo(request) => undo::run(&common, &request, &output),
        Command::Policy { command } => policy::run(&common, &command, &output),
        Command::Trust(request) => trust::run(&common, request, &output),
        Command::Config { command } => config::run(&common, command, &output),
        Command::Doctor => doctor::run(&common, &output),
        Command::Completions { shell } => completions::run(shell, &output),
        Command::Man { command } => man::run(&command, &output),
    }
}

/// What a call leaves running on a blocking thread has this long to clean up.
const GRACE: Duration = Duration::from_secs(1);

/// Runs one future to its end, on this thread: a single call needs no more.
fn block_on<T>(future: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| Failure::failed("execution_error", format!("the runtime cannot be started: {error}")))?;
    let outcome = runtime.block_on(future);
    // What commands leave behind is cleared away by tasks of this runtime, so it must not end before them.
    runtime.block_on(async { drop(tokio::task::spawn_blocking(|| haft_host::end_all_jobs(crate::LAST_GRACE)).await) });
    runtime.shutdown_timeout(GRACE);
    outcome
}
