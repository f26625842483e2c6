//! The command line: what can be typed.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use haft_contract::Access;

use crate::help;

/// The tool system for AI agents: everything between "the model asked for a tool" and "the model has its result".
#[derive(Debug, Parser)]
#[command(name = "haft", version, about = help::ABOUT, long_about = help::LONG_ABOUT, after_long_help = help::AFTER)]
#[command(subcommand_value_name = "COMMAND")]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: Command,
    #[command(flatten)]
    pub(crate) common: Common,
}

/// Flags that every command takes.
#[derive(Debug, Clone, Default, Args)]
#[command(next_help_heading = "Common options")]
pub(crate) struct Common {
    /// The folder the tools work in [default: the current directory]
    #[arg(long, global = true, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) workspace: Option<PathBuf>,
    /// How much may be done: read-only, workspace-write or full-access [default: from the configuration]
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) access: Option<Access>,
    /// The agent on whose behalf it is done [default: main]
    #[arg(long, global = true, value_name = "NAME", value_parser = agent_name)]
    pub(crate) agent: Option<String>,
    /// A configuration file in place of your own
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(crate) config: Option<PathBuf>,
    /// Write the result as JSON, errors too
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say more on standard error
    #[arg(short, long, global = true)]
    pub(crate) verbose: bool,
}

impl Common {
    /// What stands nearer to the end of the command line wins.
    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            workspace: later.workspace.or(self.workspace),
            access: later.access.or(self.access),
            agent: later.agent.or(self.agent),
            config: later.config.or(self.config),
            json: later.json || self.json,
            verbose: later.verbose || self.verbose,
        }
    }
}

fn agent_name(text: &str) -> Result<String, String> {
    let allowed = |letter: char| letter.is_alphanumeric() || matches!(letter, '_' | '-' | '.');
    if text.is_empty() || text.chars().count() > 64 || !text.chars().all(allowed) {
        return Err("an agent's name has 1 to 64 letters, digits, '_', '-' or '.'".into());
    }
    Ok(text.to_owned())
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Call one tool, without a model
    #[command(long_about = help::CALL, after_long_help = help::CALL_EXAMPLES, override_usage = help::CALL_USAGE)]
    #[command(disable_help_subcommand = true)]
    Call(ToolWords),
    /// List the tools and who may use them
    #[command(long_about = help::TOOLS, after_long_help = help::TOOLS_EXAMPLES)]
    Tools(Tools),
    /// Say why a tool or a call is allowed, asked about, or denied
    #[command(long_about = help::EXPLAIN, after_long_help = help::EXPLAIN_EXAMPLES, override_usage = help::EXPLAIN_USAGE)]
    #[command(disable_help_subcommand = true)]
    Explain(ToolWords),
    /// List past calls, or show one in full
    #[command(long_about = help::HISTORY, after_long_help = help::HISTORY_EXAMPLES)]
    History(History),
    /// Put the files of a call back as they were
    #[command(long_about = help::UNDO, after_long_help = help::UNDO_EXAMPLES)]
    Undo(Undo),
    /// Check and show the configuration
    #[command(long_about = help::CONFIG, after_long_help = help::CONFIG_EXAMPLES, disable_help_subcommand = true)]
    Config {
        #[command(subcommand)]
        command: Config,
    },
    /// See what works here, and how to mend what does not
    #[command(long_about = help::DOCTOR, after_long_help = help::DOCTOR_EXAMPLES)]
    Doctor,
    /// Write a completion script for a shell
    #[command(long_about = help::COMPLETIONS, after_long_help = help::COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual page of haft, or of one command
    #[command(hide = true)]
    Man {
        /// A command, such as `call`, or `config show`
        command: Vec<String>,
    },
}

/// A tool and everything behind it, which is read again when the tool's parameters are known.
#[derive(Debug, Args)]
pub(crate) struct ToolWords {
    #[command(subcommand)]
    tool: Option<Words>,
}

#[derive(Debug, Subcommand)]
enum Words {
    #[command(external_subcommand)]
    All(Vec<OsString>),
}

impl ToolWords {
    /// The tool's name and the words behind it.
    pub(crate) fn split(self) -> Option<(OsString, Vec<OsString>)> {
        let Some(Words::All(words)) = self.tool else { return None };
        let mut words = words.into_iter();
        words.next().map(|name| (name, words.collect()))
    }
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// Show one tool in full, with its parameters
    pub(crate) name: Option<String>,
    /// With --json: also the tools that are not offered, each with the reason
    #[arg(long)]
    pub(crate) all: bool,
}

#[derive(Debug, Args)]
pub(crate) struct History {
    /// Show this call in full: its id, or 4 or more characters of the beginning or end of it
    pub(crate) id: Option<String>,
    /// List at most this many calls
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000), conflicts_with = "id")]
    pub(crate) limit: u32,
    /// Only calls of this tool
    #[arg(long, value_name = "TOOL", conflicts_with = "id")]
    pub(crate) tool: Option<String>,
    /// Only calls that failed
    #[arg(long, conflicts_with = "id")]
    pub(crate) failed: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Undo {
    /// The call's id as `haft history` lists it, or `last`: the newest call in this workspace that is not undone yet
    pub(crate) id: String,
    /// Also put back files that were changed after the call; a copy of what they held is kept
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Clone, Copy, Subcommand)]
pub(crate) enum Config {
    /// Check every file, variable and flag; exit code 2 if anything is wrong
    #[command(after_long_help = help::CONFIG_EXAMPLES)]
    Check,
    /// Show every value and where it came from
    #[command(after_long_help = help::CONFIG_EXAMPLES)]
    Show,
    /// Write the JSON Schema of the file, for editors
    #[command(after_long_help = help::CONFIG_EXAMPLES)]
    Schema,
    /// Show where the files and the data are
    #[command(after_long_help = help::CONFIG_EXAMPLES)]
    Path,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn flags_nearer_to_the_end_win() {
        let parse = |words: &[&str]| Cli::try_parse_from(words).unwrap().common;
        let first = parse(&["haft", "--access", "read-only", "--agent", "a", "--json", "doctor"]);
        let merged = first.then(parse(&["haft", "doctor", "--access", "full-access", "-v"]));
        assert_eq!(
            (merged.access, merged.agent.as_deref(), merged.json, merged.verbose),
            (Some(Access::FullAccess), Some("a"), true, true)
        );
    }
}
