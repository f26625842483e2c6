//! `haft completions`: a script for a shell.

use clap_complete::Shell;

use crate::completion;
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(shell: Shell, output: &Output) -> Result<Exit, Failure> {
    let script = completion::script(&shell.to_string()).map_err(|error| Failure::failed("execution_error", error.to_string()))?;
    output.tool_text(&String::from_utf8_lossy(&script))?;
    Ok(Exit::Success)
}
