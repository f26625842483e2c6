//! The `haft` binary: parse, dispatch, exit code.

mod arguments;
mod attachments;
mod commands;
mod completion;
mod conversation;
mod help;
mod invocation;
mod parameters;
mod system_prompt;
mod tenants;
mod usage;
mod user_commands;
mod wire;

use std::io::IsTerminal;
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;
use haft_tui::{effects, failure, output, signals, table, terminal, text_builder};

use crate::arguments::{Cli, quick, shortcut};
use crate::failure::Failure;
use crate::output::Output;

/// How long commands that still run may take to end with us.
const LAST_GRACE: Duration = Duration::from_secs(5);

fn main() -> ExitCode {
    // Started again by itself, it is a step of the launcher or the helper of a tool, and nothing else.
    haft_sandbox::launcher::main_if_asked();
    haft_builtin::helpers::main_if_asked();
    if completion::answer_if_asked() {
        return ExitCode::SUCCESS;
    }
    haft_tui::prepare(end_processes);
    let is_terminal = std::io::stdin().is_terminal() && std::io::stdout().is_terminal();
    let words: Vec<_> = std::env::args_os().collect();
    let outcome = match quick::parse(&words).unwrap_or_else(|| Cli::try_parse_from(shortcut::complete(words, is_terminal))) {
        Ok(cli) => commands::run(cli),
        Err(error) => Err(usage::refused(&shortcut::with_advice(error))),
    };
    let fail = |failure: Failure| {
        // A program that asks for JSON gets JSON, whatever is wrong with the other arguments.
        let json = std::env::args_os().any(|word| word == "--json");
        Output::new(json, false, false).failure(&failure)
    };
    let exit = outcome.unwrap_or_else(fail);
    wire::finish_cleaning();
    exit.into()
}

/// Ends commands without waiting for them; what they left in the workspace is removed.
fn end_processes() {
    haft_jobs::end_all_jobs(Duration::from_millis(500));
    haft_jobs::end_all_processes();
}
