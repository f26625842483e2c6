//! Completion in shells: the script of a shell asks `haft` itself, so values are completed too.

mod values;

use std::ffi::OsString;
use std::io;

use clap::{Command, CommandFactory};
use clap_complete::CompleteEnv;
use clap_complete::env::Shells;

use crate::arguments::Cli;
use crate::invocation;

/// Names the shell when a completion script asks.
const VARIABLE: &str = "HAFT_COMPLETE";
/// Commands whose first word is a tool, and the next its parameters.
const WITH_TOOLS: [&str; 2] = ["call", "explain"];

/// Answers a completion script, if one asks; whether it did.
pub(crate) fn answer_if_asked() -> bool {
    let words: Vec<OsString> = std::env::args_os().collect();
    let folder = std::env::current_dir().ok();
    let asked = CompleteEnv::with_factory(command).var(VARIABLE).try_complete(words, folder.as_deref());
    // The script of a shell has no use for an error: there is nothing to complete.
    asked.unwrap_or(true)
}

/// The script that a shell loads.
pub(crate) fn script(shell: &str) -> io::Result<Vec<u8>> {
    let mut script = Vec::new();
    let shells = Shells::builtins();
    let shell = shells.completer(shell).ok_or_else(|| io::Error::other(format!("there is no completion for '{shell}'")))?;
    shell.write_registration(VARIABLE, "haft", "haft", "haft", &mut script)?;
    Ok(script)
}

/// The command line with every tool as a command, and with the values of its arguments.
fn command() -> Command {
    WITH_TOOLS.into_iter().fold(values::add(Cli::command()), with_tools)
}

fn with_tools(cli: Command, name: &'static str) -> Command {
    let Some(registry) = values::registry() else { return cli };
    let tools = registry.entries().into_iter().map(|entry| {
        let definition = entry.definition();
        let short = definition.description.split_inclusive(". ").next().unwrap_or_default().trim().to_owned();
        let grammar = invocation::grammar(name, &definition.name, Some(definition)).name(definition.name.to_string()).about(short);
        values::of_parameters(grammar, definition)
    });
    cli.mut_subcommand(name, |command| command.subcommands(tools.map(values::of_common_flags)))
}
