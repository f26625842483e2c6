//! The command line: what can be typed.

mod agents;
mod browser;
mod caller;
mod channels;
mod cron;
mod mcp;
mod mcp_servers;
mod memory;
mod node;
mod past;
mod plugins;
pub(crate) mod quick;
mod serve;
mod sessions;
pub(crate) mod shortcut;
mod skills;
mod tenants;
mod worker;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueHint};
use clap_complete::Shell;
use haft_contract::{Access, Dialect};
use haft_tui::chat::ChatOptions;

pub(crate) use self::agents::{AgentsCommand, EditAgentArgs, KEYS as AGENT_KEYS};
pub(crate) use self::browser::BrowserCommand;
pub(crate) use self::caller::{ActingArgs, CallerArgs};
pub(crate) use self::channels::{ChannelsCommand, SendersCommand};
pub(crate) use self::cron::{AddJobArgs, CronCommand};
pub(crate) use self::mcp::{McpArgs, McpClient, McpCommand, McpInstallArgs, McpServeArgs, McpTokenCommand};
pub(crate) use self::mcp_servers::{AddServerArgs, LoginArgs, ServersCommand};
pub(crate) use self::memory::MemoryCommand;
pub(crate) use self::node::{NodeCommand, NodeRunArgs};
pub(crate) use self::past::{HistoryArgs, PruneArgs, QuarantineCommand, StoreCommand, UndoArgs};
pub(crate) use self::plugins::{AddPluginArgs, PluginsCommand};
pub(crate) use self::serve::ServeArgs;
pub(crate) use self::sessions::SessionsCommand;
pub(crate) use self::skills::SkillsCommand;
pub(crate) use self::tenants::{AddTenantArgs, InviteArgs, TenantsCommand};
pub(crate) use self::worker::{FleetCommand, WorkerArgs};
use crate::failure::Failure;
use crate::help;
use crate::output::Output;

/// The tool system for AI agents: everything between "the model asked for a tool" and "the model has its result".
#[derive(Debug, Parser)]
#[command(name = "haft", version, about = help::ABOUT, long_about = help::LONG_ABOUT, after_long_help = help::AFTER)]
#[command(subcommand_value_name = "COMMAND", override_usage = help::USAGE)]
pub(crate) struct Cli {
    #[command(subcommand)]
    pub(crate) command: CliCommand,
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
    /// The access level: read-only, workspace-write or full-access
    #[arg(long, global = true, value_name = "LEVEL")]
    pub(crate) access: Option<Access>,
    /// The agent that calls [default: main]
    #[arg(long, global = true, value_name = "NAME", value_parser = haft_config::agent_name)]
    pub(crate) agent: Option<String>,
    /// The tools to start from: minimal, messaging, coding or full
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub(crate) profile: Option<String>,
    /// Ready-made settings: careful, default, auto or trusted; `haft config preset` lists all
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub(crate) preset: Option<String>,
    /// Tool names and parameters as this family of models knows them: haft, claw or openclaw
    #[arg(long, global = true, value_name = "NAME", hide_short_help = true)]
    pub(crate) dialect: Option<Dialect>,
    /// A configuration file in place of your own
    #[arg(long, global = true, value_name = "FILE", value_hint = ValueHint::FilePath, hide_short_help = true)]
    pub(crate) config: Option<PathBuf>,
    /// Write the result as JSON, errors too
    #[arg(long, global = true)]
    pub(crate) json: bool,
    /// Print more on standard error
    #[arg(short, long, global = true, hide_short_help = true)]
    pub(crate) verbose: bool,
    /// Plain text for screen readers: no symbols, nothing redrawn
    #[arg(long, global = true, hide_short_help = true)]
    pub(crate) plain: bool,
}

impl Common {
    /// How this command writes.
    pub(crate) fn output(&self) -> Output {
        Output::new(self.json, self.verbose, self.plain)
    }

    /// What a conversation may change of it.
    pub(crate) fn chat_options(&self) -> ChatOptions {
        ChatOptions { workspace: self.workspace.clone(), agent: self.agent.clone(), access: self.access }
    }

    /// The flags with what a conversation changed.
    pub(crate) fn with(&self, options: &ChatOptions) -> Result<Self, Failure> {
        let ChatOptions { workspace, agent, access } = options.clone();
        let agent = agent.as_deref().map(haft_config::agent_name).transpose().map_err(Failure::usage)?;
        Ok(Self { workspace, access, agent, ..self.clone() })
    }

    /// The flags that hold for another process with a workspace and a configuration file of its own.
    pub(crate) fn passed_on(&self) -> Vec<OsString> {
        let flag = |name: &str, value: Option<String>| value.map(|value| [OsString::from(name), value.into()]);
        let flags = [
            flag("--access", self.access.map(|level| level.to_string())),
            flag("--agent", self.agent.clone()),
            flag("--profile", self.profile.clone()),
            flag("--preset", self.preset.clone()),
            flag("--dialect", self.dialect.map(|dialect| dialect.to_string())),
        ];
        flags.into_iter().flatten().flatten().collect()
    }

    /// Later flags win.
    pub(crate) fn then(self, later: Self) -> Self {
        Self {
            workspace: later.workspace.or(self.workspace),
            access: later.access.or(self.access),
            agent: later.agent.or(self.agent),
            profile: later.profile.or(self.profile),
            preset: later.preset.or(self.preset),
            dialect: later.dialect.or(self.dialect),
            config: later.config.or(self.config),
            json: later.json || self.json,
            verbose: later.verbose || self.verbose,
            plain: later.plain || self.plain,
        }
    }
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum CliCommand {
    /// Ask a model: one turn, with the tools that you allow
    #[command(long_about = help::RUN, after_long_help = help::RUN_EXAMPLES)]
    Run(RunArgs),
    /// Chat with a model in the terminal; the conversation can be resumed later
    #[command(long_about = help::CHAT, after_long_help = help::CHAT_EXAMPLES)]
    Chat(ChatArgs),
    /// Call one tool, without a model
    #[command(long_about = help::CALL, after_long_help = help::CALL_EXAMPLES, override_usage = help::CALL_USAGE)]
    #[command(disable_help_subcommand = true)]
    Call(CallArgs),
    /// List the tools and who may use them
    #[command(long_about = help::TOOLS, after_long_help = help::TOOLS_EXAMPLES)]
    Tools(ToolsArgs),
    /// Explain why a tool or a call is allowed, needs approval, or is denied
    #[command(long_about = help::EXPLAIN, after_long_help = help::EXPLAIN_EXAMPLES, override_usage = help::EXPLAIN_USAGE)]
    #[command(disable_help_subcommand = true)]
    Explain(ExplainArgs),
    /// List, show and change agents: their models, prompts and tools
    #[command(long_about = help::AGENTS, after_long_help = help::AGENTS_EXAMPLES, disable_help_subcommand = true)]
    Agents {
        #[command(subcommand)]
        command: AgentsCommand,
    },
    /// List, show, create and check skills: instructions that a model loads
    #[command(long_about = help::SKILLS, after_long_help = help::SKILLS_EXAMPLES, disable_help_subcommand = true)]
    Skills {
        #[command(subcommand)]
        command: SkillsCommand,
    },
    /// List, add, check and remove plugins: tools of your own, as commands in the sandbox
    #[command(long_about = help::PLUGINS, after_long_help = help::PLUGINS_EXAMPLES, disable_help_subcommand = true)]
    Plugins {
        #[command(subcommand)]
        command: PluginsCommand,
    },
    /// Offer the tools to an MCP client, such as an editor; use the tools of MCP servers
    #[command(long_about = help::MCP, after_long_help = help::MCP_EXAMPLES, disable_help_subcommand = true)]
    Mcp(McpArgs),
    /// Serve a page and an HTTP API: chat, approve, watch and search on this machine
    #[command(long_about = help::SERVE, after_long_help = help::SERVE_EXAMPLES)]
    Serve(ServeArgs),
    /// Do the work of servers on other machines
    #[command(hide = true, long_about = help::WORKER, after_long_help = help::WORKER_EXAMPLES)]
    Worker(WorkerArgs),
    /// Show how servers and workers of several machines stand
    #[command(hide = true, long_about = help::FLEET, after_long_help = help::FLEET_EXAMPLES, disable_help_subcommand = true)]
    Fleet {
        #[command(subcommand)]
        command: FleetCommand,
    },
    /// Watch the browser of a session, take it over, and look at recordings
    #[command(long_about = help::BROWSER, after_long_help = help::BROWSER_EXAMPLES, disable_help_subcommand = true)]
    Browser {
        #[command(subcommand)]
        command: BrowserCommand,
    },
    /// List and test channels for messages; pair, list and remove senders
    #[command(long_about = help::CHANNELS, after_long_help = help::CHANNELS_EXAMPLES, disable_help_subcommand = true)]
    Channels {
        #[command(subcommand)]
        command: ChannelsCommand,
    },
    /// List, add, run, pause and remove scheduled jobs; `haft serve` runs them
    #[command(long_about = help::CRON, after_long_help = help::CRON_EXAMPLES, disable_help_subcommand = true)]
    Cron {
        #[command(subcommand)]
        command: CronCommand,
    },
    /// Add, search, list, remove and check notes that outlast a conversation
    #[command(long_about = help::MEMORY, after_long_help = help::MEMORY_EXAMPLES, disable_help_subcommand = true)]
    Memory {
        #[command(subcommand)]
        command: MemoryCommand,
    },
    /// Pair other machines with this one, or make this machine a node
    #[command(long_about = help::NODE, after_long_help = help::NODE_EXAMPLES, disable_help_subcommand = true, alias = "nodes")]
    Node {
        #[command(subcommand)]
        command: NodeCommand,
    },
    /// List, show, resume, copy and delete conversations
    #[command(long_about = help::SESSIONS, after_long_help = help::SESSIONS_EXAMPLES, disable_help_subcommand = true)]
    Sessions {
        #[command(subcommand)]
        command: SessionsCommand,
    },
    /// List the models: keys, prices, and which one answers
    #[command(long_about = help::MODELS, after_long_help = help::MODELS_EXAMPLES)]
    Models(ModelsArgs),
    /// List past calls, or show one in full
    #[command(long_about = help::HISTORY, after_long_help = help::HISTORY_EXAMPLES)]
    History(HistoryArgs),
    /// Restore the files that a call changed
    #[command(long_about = help::UNDO, after_long_help = help::UNDO_EXAMPLES)]
    Undo(UndoArgs),
    /// List, show, restore and remove what commands wrote and could not stay
    #[command(long_about = help::QUARANTINE, after_long_help = help::QUARANTINE_EXAMPLES, disable_help_subcommand = true)]
    Quarantine {
        #[command(subcommand)]
        command: Option<QuarantineCommand>,
    },
    /// Remove old data: list what exceeds its limits, then remove it with --yes
    #[command(long_about = help::PRUNE, after_long_help = help::PRUNE_EXAMPLES)]
    Prune(PruneArgs),
    /// Copy everything that is kept to a PostgreSQL server
    // Of no use in an ordinary build, so that the list leaves it out; docs/FLEET.md names it.
    #[command(hide = true, long_about = help::STORE, after_long_help = help::STORE_EXAMPLES, disable_help_subcommand = true)]
    Store {
        #[command(subcommand)]
        command: StoreCommand,
    },
    /// Add, list, show, change and remove tenants of `haft serve`; invite and dismiss their users
    // For those who run Haft for others; docs/TENANTS.md names it.
    #[command(hide = true, long_about = help::TENANTS, after_long_help = help::TENANTS_EXAMPLES, disable_help_subcommand = true)]
    Tenants {
        #[command(subcommand)]
        command: TenantsCommand,
    },
    /// Try a policy: against examples, or against what was called before
    #[command(long_about = help::POLICY, after_long_help = help::POLICY_EXAMPLES, disable_help_subcommand = true)]
    Policy {
        #[command(subcommand)]
        command: PolicyCommand,
    },
    /// Trust a project: the hooks of its file, its skills, commands and plugins
    #[command(long_about = help::TRUST, after_long_help = help::TRUST_EXAMPLES)]
    Trust(TrustArgs),
    /// Check and show the configuration
    #[command(long_about = help::CONFIG, after_long_help = help::CONFIG_EXAMPLES, disable_help_subcommand = true)]
    Config {
        #[command(subcommand)]
        command: ConfigCommand,
    },
    /// Play a tour in a scratch folder: a sandboxed command, an edit, a refused escape, undo
    #[command(long_about = help::DEMO, after_long_help = help::DEMO_EXAMPLES)]
    Demo(DemoArgs),
    /// Check what works here, and how to fix what does not
    #[command(long_about = help::DOCTOR, after_long_help = help::DOCTOR_EXAMPLES)]
    Doctor(DoctorArgs),
    /// Write a completion script for a shell
    #[command(long_about = help::COMPLETIONS, after_long_help = help::COMPLETIONS_EXAMPLES)]
    Completions {
        /// The shell
        shell: Shell,
    },
    /// Write the manual page of haft, or of one command
    #[command(after_long_help = help::MAN_EXAMPLES)]
    Man {
        /// A command, such as `call`, or `config show`
        command: Vec<String>,
        /// Write the pages of all commands to this folder
        #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath, conflicts_with = "command")]
        folder: Option<PathBuf>,
    },
}

/// How the tour is played.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct DemoArgs {
    /// Do not pause between the scenes
    #[arg(long)]
    pub(crate) fast: bool,
}

/// A tool and its arguments, parsed once the tool's parameters are known.
#[derive(Debug, Clone, Args)]
pub(crate) struct ToolWords {
    #[command(subcommand)]
    tool: Option<ToolWordList>,
}

#[derive(Debug, Clone, Subcommand)]
enum ToolWordList {
    #[command(external_subcommand)]
    All(Vec<OsString>),
}

impl ToolWords {
    /// The tool's name and its arguments.
    pub(crate) fn split(self) -> Option<(OsString, Vec<OsString>)> {
        let Some(ToolWordList::All(words)) = self.tool else { return None };
        let mut words = words.into_iter();
        words.next().map(|name| (name, words.collect()))
    }

    /// The workspace that a flag after the tool names. The words are parsed with the tool's parameters, and a tool of the
    /// workspace must be known before that.
    pub(crate) fn workspace(&self) -> Option<PathBuf> {
        let Some(ToolWordList::All(words)) = &self.tool else { return None };
        let at = words.iter().position(|word| word == "--workspace").and_then(|at| words.get(at + 1)).map(PathBuf::from);
        let joined = words.iter().find_map(|word| word.to_str()?.strip_prefix("--workspace=").map(PathBuf::from));
        at.or(joined)
    }
}

#[derive(Debug, Args)]
pub(crate) struct CallArgs {
    #[command(flatten)]
    pub(crate) acting: ActingArgs,
    #[command(flatten)]
    pub(crate) words: ToolWords,
}

#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The message to the model, or - to read it from standard input
    pub(crate) prompt: String,
    /// The model, as provider/model [default: from the configuration, or one whose key is set, or the demo model]
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// Resume this session: its id, 4 or more characters of it, or `last`
    #[arg(long, value_name = "ID")]
    pub(crate) session: Option<String>,
    /// Attach a file or picture, as @PATH in the message; may be given several times
    #[arg(long = "file", value_name = "PATH", value_hint = ValueHint::FilePath)]
    pub(crate) files: Vec<PathBuf>,
    /// End the turn after this many rounds
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) max_rounds: Option<u32>,
    /// Print JSON that fits the JSON Schema in this file, and nothing else
    #[arg(long, value_name = "FILE")]
    pub(crate) schema: Option<PathBuf>,
    /// Run the turn in a server that `haft serve` started; without a value, in the one that runs for you
    #[arg(long, value_name = "URL", num_args = 0..=1, require_equals = true, default_missing_value = "", conflicts_with_all = ["schema", "max_rounds"])]
    pub(crate) server: Option<String>,
}

#[derive(Debug, Default, Args)]
pub(crate) struct ChatArgs {
    /// The first message
    pub(crate) prompt: Option<String>,
    /// The model, as provider/model [default: that of the session, or as for `haft run`]
    #[arg(long, value_name = "PROVIDER/MODEL")]
    pub(crate) model: Option<String>,
    /// Resume the last session of this folder
    #[arg(short = 'c', long = "continue", conflicts_with = "resume")]
    pub(crate) continued: bool,
    /// Resume a session: its id, 4 or more characters of it, or text that it contains; without a value, choose one
    #[arg(long, value_name = "ID or TEXT", num_args = 0..=1, default_missing_value = "")]
    pub(crate) resume: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct ExplainArgs {
    /// Every tool in a table: its verdict, and what decided it
    #[arg(long)]
    pub(crate) all: bool,
    /// Do not look up the hosts that a call connects to; as HAFT_NO_RESOLVE=1
    #[arg(long)]
    pub(crate) no_resolve: bool,
    /// A past session: what the user granted, what has tainted it, which tools it found; its id, 4 or more characters, or `last`
    #[arg(long, value_name = "ID", conflicts_with_all = ["all", "no_resolve"])]
    pub(crate) session: Option<String>,
    #[command(flatten)]
    pub(crate) acting: ActingArgs,
    #[command(flatten)]
    pub(crate) who: CallerArgs,
    #[command(flatten)]
    pub(crate) words: ToolWords,
}

#[derive(Debug, Args)]
pub(crate) struct ToolsArgs {
    /// Show one tool in full, with its parameters
    pub(crate) name: Option<String>,
    /// With --json: also the tools that are not offered, each with the reason
    #[arg(long)]
    pub(crate) all: bool,
    /// Print about how many tokens each tool and server takes in every request
    #[arg(long, conflicts_with = "name")]
    pub(crate) cost: bool,
    #[command(flatten)]
    pub(crate) who: CallerArgs,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct DoctorArgs {
    /// Print the one command that installs what is missing here, and nothing else; it is not run
    #[arg(long)]
    pub(crate) fix: bool,
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ModelsArgs {
    /// Ask each provider for its models, with the key; exit code 1 if the active one does not work
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum PolicyCommand {
    /// Run test cases: calls with an expected verdict; exit code 1 if one differs
    #[command(after_long_help = help::POLICY_EXAMPLES)]
    Test {
        /// A TOML file with [[case]] tables
        #[arg(value_hint = ValueHint::FilePath)]
        file: PathBuf,
    },
    /// Evaluate past calls of this workspace with the current policy, or with --config FILE
    #[command(after_long_help = help::POLICY_EXAMPLES)]
    Simulate {
        /// At most this many calls, newest first
        #[arg(long, value_name = "N", default_value_t = 1000, value_parser = clap::value_parser!(u32).range(1..=100_000))]
        limit: u32,
    },
}

#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct TrustArgs {
    /// Only show what the project's file would start, and what it cannot widen
    #[arg(long)]
    pub(crate) show: bool,
    /// Revoke the trust
    #[arg(long, conflicts_with = "show")]
    pub(crate) revoke: bool,
}

#[derive(Debug, Clone, Subcommand)]
pub(crate) enum ConfigCommand {
    /// Check every file, variable and flag; exit code 2 if anything is wrong
    #[command(after_long_help = help::CONFIG_EXAMPLES)]
    Check,
    /// Show every value and where it came from
    #[command(after_long_help = help::CONFIG_EXAMPLES)]
    Show,
    /// Write the JSON Schema of the file, for editors
    #[command(after_long_help = help::CONFIG_EXAMPLES)]
    Schema,
    /// List the presets, or put one into your own file
    #[command(after_long_help = help::PRESET_EXAMPLES)]
    Preset {
        /// The preset: careful, default, auto, trusted, readonly or full
        name: Option<String>,
        /// Show the change and write nothing
        #[arg(long)]
        dry_run: bool,
    },
    /// Show where the files and the data are
    #[command(after_long_help = help::CONFIG_EXAMPLES)]
    Path,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn command_line_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn later_flags_win() {
        let parse = |words: &[&str]| Cli::try_parse_from(words).unwrap().common;
        let first = parse(&["haft", "--access", "read-only", "--agent", "a", "--json", "doctor"]);
        let merged = first.then(parse(&["haft", "doctor", "--access", "full-access", "-v"]));
        assert_eq!(
            (merged.access, merged.agent.as_deref(), merged.json, merged.verbose),
            (Some(Access::FullAccess), Some("a"), true, true)
        );
    }
}
