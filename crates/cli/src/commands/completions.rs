//! `haft completions`: a script for a shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::arguments::Cli;
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(shell: Shell, output: &Output) -> Result<Exit, Failure> {
    // Made in memory: the generator gives up on a reader that went away.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "haft", &mut script);
    output.tool_text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
