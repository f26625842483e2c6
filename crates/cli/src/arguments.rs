//! The command line: what can be typed.

mod agents;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use haft_contract::{Access, Dialect};

pub(crate) use self::agents::{Agents, EditAgent, KEYS as AGENT_KEYS};
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
    /// How much may be done: read-only, workspace-write or full-access
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) access: Option<Access>,
    /// The agent on whose behalf it is done [default: main]
    #[arg(long, global = true, value_name = "NAME", value_parser = haft_config::agent_name)]
    pub(crate) agent: Option<String>,
    /// The tools to start from: minimal, messaging, coding or full
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub(crate) profile: Option<String>,
    /// Ready-made settings: ask, auto, readonly or full
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub(crate) preset: Option<String>,
    /// A configuration file in place of your own
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub(crate) config: Option<PathBuf>,
    /// Write the result as JSON, errors too
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Say more on standard error
    #[arg(short, long, global = true, hide_short_help = true)]
    pub(crate) verbose: bool,
    /// Lines and words only, for screen readers: nothing that moves, no symbols
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) plain: bool,
}

impl Common {
    /// What stands nearer to the end of the command line wins.
    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            workspace: later.workspace.or(self.workspace),
            access: later.access.or(self.access),
            agent: later.agent.or(self.agent),
            profile: later.profile.or(self.profile),
            preset: later.preset.or(self.preset),
            config: later.config.or(self.config),
            json: later.json || self.json,
            verbose: later.verbose || self.verbose,
            plain: later.plain || self.plain,
        }
    }
}

/// For whom a policy is asked: without these, for you and the agent that you talk to.
#[derive(Debug, Clone, Default, PartialEq, Eq, Args)]
#[command(next_help_heading = "As if")]
pub(crate) struct Who {
    /// As if this provider, or provider/model, called
    #[arg(long, value_name = "PROVIDER[/MODEL]")]
    pub(crate) provider: Option<String>,
    /// As if the message came from this channel: telegram, or telegram:-100 for one group of it
    #[arg(long, value_name = "CHANNEL")]
    pub(crate) channel: Option<String>,
    /// As if this person had sent it: id:42, e164:+49…, username:ann or name:Ann
    #[arg(long, value_name = "SENDER")]
    pub(crate) sender: Option<String>,
    /// As if that many agents stood between you and the one that calls
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub(crate) depth: u32,
    /// As if the session ran in a sandbox
    #[arg(long)]
    pub(crate) sandboxed: bool,
    /// As if someone who is not the owner had asked
    #[arg(long)]
    pub(crate) guest: bool,
}

impl Who {
    /// What stands nearer to the end of the command line wins.
    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            provider: later.provider.or(self.provider),
            channel: later.channel.or(self.channel),
            sender: later.sender.or(self.sender),
            depth: if later.depth > 0 { later.depth } else { self.depth },
            sandboxed: later.sandboxed || self.sandboxed,
            guest: later.guest || self.guest,
        }
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Ask a model: one turn, with the tools that you allow
    #[command(long_about = help::RUN, after_long_help = help::RUN_EXAMPLES)]
    Run(Run),
    /// Talk with a model in the terminal; the conversation can be gone on with later
    #[command(long_about = help::CHAT, after_long_help = help::CHAT_EXAMPLES)]
    Chat(Chat),
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
    Explain(Explain),
    /// List, show and change agents: their models, prompts and tools
    #[command(long_about = help::AGENTS, after_long_help = help::AGENTS_EXAMPLES, disable_help_subcommand = true)]
    Agents {
        #[command(subcommand)]
        command: Agents,
    },
    /// List, show, go on with, copy and remove conversations
    #[command(long_about = help::SESSIONS, after_long_help = help::SESSIONS_EXAMPLES, disable_help_subcommand = true)]
    Sessions {
        #[command(subcommand)]
        command: Sessions,
    },
    /// List the models: where their keys come from, what they cost, and who answers
    #[command(long_about = help::MODELS, after_long_help = help::MODELS_EXAMPLES)]
    Models(Models),
    /// List past calls, or show one in full
    #[command(long_about = help::HISTORY, after_long_help = help::HISTORY_EXAMPLES)]
    History(History),
    /// Put the files of a call back as they were
    #[command(long_about = help::UNDO, after_long_help = help::UNDO_EXAMPLES)]
    Undo(Undo),
    /// Try a policy: against examples, or against what was called before
    #[command(long_about = help::POLICY, after_long_help = help::POLICY_EXAMPLES, disable_help_subcommand = true)]
    Policy {
        #[command(subcommand)]
        command: Policy,
    },
    /// Let the project's file start what it wants to start
    #[command(long_about = help::TRUST, after_long_help = help::TRUST_EXAMPLES)]
    Trust(Trust),
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
pub(crate) struct Run {
    /// What to say to the model, or - to read it from standard input
    pub(crate) prompt: String,
    /// The model, as provider/model [default: from the configuration, or one whose key is set, or the demo model]
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// Go on with this session: its id, 4 or more characters of it, or `last`
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// End the turn after this many rounds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_rounds: Option<u32>,
}

#[derive(Debug, Default, Args)]
pub(crate) struct Chat {
    /// What to say first
    pub(crate) prompt: Option<String>,
    /// The model, as provider/model [default: that of the session, or as for `haft run`]
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// Go on with the last session of this folder
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub(crate) continued: bool,
    /// Go on with a session: its id, 4 or more characters of it, or words that were said in it; without any, choose one
    #[arg(long, value_name = "ID or TEXT", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct Explain {
    /// Every tool in a table: its verdict, and what decided it
    #[arg(long)]
    pub(crate) all: bool,
    #[command(flatten)]
    pub(crate) who: Who,
    #[command(flatten)]
    pub(crate) words: ToolWords,
}

#[derive(Debug, Args)]
pub(crate) struct Tools {
    /// Show one tool in full, with its parameters
    pub(crate) name: Option<String>,
    /// With --json: also the tools that are not offered, each with the reason
    #[arg(long)]
    pub(crate) all: bool,
    /// Show names and parameters as a model of this family knows them: haft, claw or openclaw
    #[arg(long, value_name = "DIALECT", default_value = "haft")]
    pub(crate) dialect: Dialect,
    #[command(flatten)]
    pub(crate) who: Who,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Sessions {
    /// List the sessions of this workspace, the one updated last first
    List {
        /// Those of every workspace
        #[arg(long)]
        all: bool,
        /// Only those in which this was said, whatever the case: in their titles, messages, calls and results
        #[arg(long, value_name = "TEXT")]
        search: Option<String>,
        /// List at most this many
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
    },
    /// Show what was said in a session
    Show {
        /// Its id, 4 or more characters of it, or `last`
        id: String,
    },
    /// Go on with a session: one turn with a prompt, or a conversation without one
    #[command(after_long_help = help::SESSIONS_RESUME_EXAMPLES)]
    Resume {
        /// Its id, 4 or more characters of it, or `last`
        #[arg(default_value = "last")]
        id: String,
        /// What to say to the model, or - to read it from standard input
        prompt: Option<String>,
    },
    /// Write a session as JSON, with everything that is kept of it
    Export {
        /// Its id, 4 or more characters of it, or `last`
        id: String,
    },
    /// Copy a session, to go on from there in another way
    Fork {
        /// Its id, 4 or more characters of it, or `last`
        id: String,
        /// Copy the entries before this number only
        #[arg(long, value_name = "N")]
        at: Option<u64>,
    },
    /// Remove a session for good
    Delete {
        /// Its id, 4 or more characters of it, or `last`
        id: String,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Models {
    /// Ask each provider for the list of its models, with the key; exit code 1 if the one in use does not work
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Policy {
    /// Run examples: calls with the verdict that they should get; exit code 1 if one gets another
    #[command(after_long_help = help::POLICY_EXAMPLES)]
    Test {
        /// A TOML file with [[case]] tables
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Judge past calls of this workspace by the policy as it is now, or as --config FILE has it
    #[command(after_long_help = help::POLICY_EXAMPLES)]
    Simulate {
        /// Look at this many calls at most, newest first
        #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct Trust {
    /// Only show what the project's file would start, and what it cannot do
    #[arg(long)]
    pub(crate) show: bool,
    /// Take the trust back
    #[arg(long, conflicts_with = "show")]
    pub(crate) revoke: bool,
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
    #[arg(required_unless_present = "session")]
    pub(crate) id: Option<String>,
    /// Put back all that a session changed: its id, 4 or more characters of it, or none for the newest in this workspace
    #[arg(long, value_name = "SESSION", num_args = 0..=1, default_missing_value = "last", conflicts_with = "id")]
    pub(crate) session: Option<String>,
    /// Also put back files that something else changed; a copy of what they held is kept
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
