//! Command lines that programs start often, read without the whole grammar: that takes longer to make than such a command takes to start.
//!
//! Whatever is wrong with one, or asks for help, is left to the whole grammar.

use std::ffi::OsString;

use clap::{Args, Command, FromArgMatches};

use super::{CallArgs, Cli, CliCommand, Common, McpArgs, McpServeArgs};

/// The command line, if it is one of these.
pub(crate) fn parse(words: &[OsString]) -> Option<Result<Cli, clap::Error>> {
    let [program, command, rest @ ..] = words else { return None };
    let words = || std::iter::once(program).chain(rest);
    match command.to_str()? {
        "--version" | "-V" if rest.is_empty() => {
            // The answer is an error of the grammar, as all that it says itself.
            let version = Command::new("haft").version(env!("CARGO_PKG_VERSION")).try_get_matches_from([program, command]);
            version.err().map(Err)
        }
        "mcp" => {
            let (common, serve) = read::<McpServeArgs>(words())?;
            Some(Ok(Cli { common, command: CliCommand::Mcp(McpArgs { serve, command: None }) }))
        }
        "call" => {
            let (common, call) = read::<CallArgs>(words())?;
            Some(Ok(Cli { common, command: CliCommand::Call(call) }))
        }
        _ => None,
    }
}

fn read<'a, T: Args + FromArgMatches>(words: impl Iterator<Item = &'a OsString>) -> Option<(Common, T)> {
    let grammar = T::augment_args(Common::augment_args(Command::new("haft"))).disable_help_subcommand(true);
    let matches = grammar.try_get_matches_from(words).ok()?;
    Some((Common::from_arg_matches(&matches).ok()?, T::from_arg_matches(&matches).ok()?))
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    fn words(line: &str) -> Vec<OsString> {
        std::iter::once("haft").chain(line.split('|').filter(|word| !word.is_empty())).map(OsString::from).collect()
    }

    #[test]
    fn quick_reading_is_that_of_the_whole_grammar() {
        for line in [
            "mcp",
            "mcp|--http|127.0.0.1:0|--json",
            "mcp|--json|--http|127.0.0.1:0|--host|a|--host|b|--allow-remote",
            "mcp|--workspace|w|--access|read-only",
            "mcp|--allow-remote",
            "mcp|install|vscode",
            "mcp|list",
            "mcp|nonsense",
            "mcp|--nonsense",
            "mcp|--help",
            "mcp|-h",
            "mcp|--version",
            "call",
            "call|noop",
            "call|--json|noop|--x|1",
            "call|noop|--json",
            "call|noop|{}|--verbose",
            "call|noop|--help",
            "call|--help",
            "call|read_file|a|b|--|--json",
            "call|--access|nonsense|noop",
            "--version",
            "-V",
            "--version|mcp",
            "tools",
            "",
        ] {
            let words = words(line);
            let whole = Cli::try_parse_from(&words);
            match (parse(&words), whole) {
                (Some(Ok(quick)), Ok(whole)) => assert_eq!(format!("{quick:?}"), format!("{whole:?}"), "{line}"),
                (Some(Err(quick)), Err(whole)) => assert_eq!(quick.to_string(), whole.to_string(), "{line}"),
                (Some(quick), whole) => panic!("{line}: {quick:?} beside {whole:?}"),
                (None, _) => {}
            }
        }
        for line in ["mcp", "mcp|--http|127.0.0.1:0|--json", "call|noop", "--version", "-V"] {
            assert!(parse(&words(line)).is_some(), "{line}");
        }
    }
}
