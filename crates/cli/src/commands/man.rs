//! `haft man`: the manual page, made from the same texts as the help.

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
    let unwritten = |error| Failure::failed("execution_error", format!("the page cannot be written: {error}"));
    clap_mangen::Man::new(command).render(&mut page).map_err(unwritten)?;
    output.tool_text(&String::from_utf8_lossy(&page))?;
    Ok(Exit::Success)
}
