//! `haft man`: the manual page, made from the same texts as the help.

use std::path::Path;

use clap::CommandFactory;

use crate::arguments::Cli;
use crate::failure::{Exit, Failure};
use crate::output::Output;

pub(crate) fn run(path: &[String], output: &Output) -> Result<Exit, Failure> {
    let mut command = Cli::command();
    command.build();
    for name in path {
        let inner = command.find_subcommand(name).cloned();
        command = inner.ok_or_else(|| Failure::usage(format!("there is no command '{name}'")).help("`haft --help` lists the commands"))?;
    }
    let mut page = Vec::new();
    clap_mangen::Man::new(command)
        .source(concat!("haft ", env!("CARGO_PKG_VERSION")))
        .render(&mut page)
        .map_err(|error| write_error(&error))?;
    output.tool_text(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Success)
}

/// Writes the pages of all commands to an existing folder: `haft.1`, `haft-call.1`, ….
pub(crate) fn write_all(folder: &Path) -> Result<Exit, Failure> {
    clap_mangen::generate_to(Cli::command(), folder)
        .map_err(|error| write_error(&error).help("give an existing folder that you may write"))?;
    Ok(Exit::Success)
}

fn write_error(error: &std::io::Error) -> Failure {
    Failure::failed("execution_error", format!("the manual cannot be written: {error}"))
}
