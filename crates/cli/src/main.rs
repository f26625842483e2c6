//! The `haft` binary: parse, dispatch, exit code.

mod arguments;
mod commands;
mod conversation;
mod effects;
mod failure;
mod help;
mod invocation;
mod json;
mod output;
mod page;
mod parameters;
mod signals;
mod table;
mod terminal;
mod wire;

use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use crate::arguments::{Cli, Common};
use crate::output::Output;

/// How long commands that still run may take to end with us.
const LAST_GRACE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    // Started again by itself, it is a stage of a sandbox or of a tool, and nothing else.
    haft_host::sandbox::launcher::main_if_asked();
    haft_builtin::stages::main_if_asked();
    output::install_panic_message();
    // Whatever is wrong with the other words, a program that asks for JSON gets JSON.
    let json = std::env::args_os().any(|word| word == "--json");
    let output = Output::new(&Common { json, ..Common::default() });
    let outcome = match Cli::try_parse() {
        Ok(cli) => commands::run(cli),
        Err(error) => Err(error.into()),
    };
    let exit = outcome.unwrap_or_else(|failure| output.failure(&failure));
    haft_host::end_all_jobs(LAST_GRACE);
    exit.into()
}
