//! The parameters of a command.

use std::path::PathBuf;
use std::time::Duration;

use haft_contract::{CommandRequest, ExecHost, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::command::limits::RequestedLimits;
use crate::command::run;
use crate::shared::brief;

/// More hosts than this are a configuration, not a call.
const MOST_HOSTS: usize = 32;
const LONGEST_NAME: usize = 64;
/// A command on a node ends with its call.
const LONGEST_ON_NODE: Duration = Duration::from_mins(30);

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The shell command; it may have several lines.
    #[serde(default)]
    #[schemars(extend("x-verbatim" = true, "x-shown-required" = true, "x-aliases" = ["cmd", "script"]))]
    pub(super) command: String,
    /// Its purpose in a few words; shown to the user.
    pub(super) description: Option<String>,
    /// The directory to run it in. Defaults to the workspace.
    #[schemars(extend("x-aliases" = ["cwd", "directory", "working_directory"]))]
    workdir: Option<PathBuf>,
    /// A name of your choice: the next command with this name starts in the directory where this one ends.
    shell: Option<String>,
    /// Environment variables to set for it.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["environment"]))]
    env: Option<Map<String, Value>>,
    /// After how many milliseconds it continues in the background, 10 to 120000. Defaults to 10000.
    #[schemars(extend("x-rare" = true))]
    yield_ms: Option<u64>,
    /// Run it in the background at once, with its input open, as for a server.
    #[schemars(extend("x-aliases" = ["run_in_background"]))]
    background: Option<bool>,
    /// Timeout in seconds. Defaults to 1800, or to none with 'background'.
    pub(super) timeout: Option<f64>,
    /// Give it a terminal, for programs that want one. Defaults to false.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["tty"]))]
    pty: Option<bool>,
    /// Memory limit below the configured one, in megabytes; at least 16.
    #[schemars(extend("x-rare" = true))]
    memory_mb: Option<u64>,
    /// CPU time limit for each process below the configured one, in seconds.
    #[schemars(extend("x-rare" = true))]
    cpu_seconds: Option<u64>,
    /// Limit on processes and threads below the configured one; at least 8.
    #[schemars(extend("x-rare" = true))]
    processes: Option<u64>,
    /// Hosts to ask the user about before it runs, such as 'example.org:8443'. Rarely needed: a connection asks by itself.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["allow_hosts"]))]
    allow_host: Option<Vec<String>>,
    /// Where to run it. Defaults to the configured place; 'host', outside the sandbox, needs approval.
    #[schemars(extend("x-rare" = true))]
    host: Option<ExecPlace>,
    /// The paired machine to run it on; only for host 'node'. Defaults to the only one.
    #[schemars(extend("x-rare" = true))]
    node: Option<String>,
    /// Ask for approval of more programs than configured: 'safe-bin' of all but harmless ones, 'paranoid' of all.
    #[schemars(extend("x-foreign" = true))]
    security: Option<RequestedSecurity>,
    /// Ask for approval more often than configured: 'always'.
    #[schemars(extend("x-foreign" = true))]
    ask: Option<RequestedAsk>,
    /// Not supported: only the user can grant more.
    #[schemars(extend("x-foreign" = true))]
    elevated: Option<bool>,
    /// Only show what it would change, and how to apply that with 'commit'.
    dry_run: Option<bool>,
    /// Instead of a command: apply the changes that a dry run has shown, by their name, such as 'chg-1f2e…'.
    #[schemars(extend("x-rare" = true))]
    pub(super) commit: Option<String>,
    /// Ask for approval to run it outside the sandbox, as with host 'host'.
    #[schemars(extend("x-foreign" = true))]
    dangerously_disable_sandbox: Option<bool>,
    /// Whether it has namespaces of its own; only the user can turn them off.
    #[schemars(extend("x-foreign" = true))]
    namespace_restrictions: Option<bool>,
    /// Whether it has no network, whatever 'allow_host' says.
    #[schemars(extend("x-foreign" = true))]
    isolate_network: Option<bool>,
    /// Files that it reaches; only the user can open more than the workspace.
    #[schemars(extend("x-foreign" = true))]
    filesystem_mode: Option<FilesystemMode>,
    /// Further directories that it reaches; only the user can open them.
    #[schemars(extend("x-foreign" = true))]
    allowed_mounts: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum ExecPlace {
    Sandbox,
    Container,
    Host,
    Node,
    Gateway,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum RequestedSecurity {
    Paranoid,
    SafeBin,
    Full,
    Deny,
    Allowlist,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum RequestedAsk {
    Auto,
    Smart,
    Always,
    Off,
    OnMiss,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum FilesystemMode {
    Off,
    WorkspaceOnly,
    AllowList,
}

impl Params {
    /// Refuses parameters that cannot work.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        if self.commit.is_some() {
            return self.check_commit();
        }
        if self.command.trim().is_empty() {
            return Err(ToolError::validation("Parameter 'command' is empty. Give a command, such as 'ls -l'."));
        }
        if self.command.contains('\0') {
            return Err(ToolError::validation("Parameter 'command' has a NUL character, which no shell can read. Leave it out."));
        }
        if self.elevated == Some(true) {
            return Err(ToolError::denied(
                "Parameter 'elevated' is not supported: a call cannot give itself more than it has. \
                 Only the user can, in their configuration. Leave it out.",
            ));
        }
        self.check_shell()?;
        self.limits().check()?;
        self.timeout().map(drop)
    }

    fn check_shell(&self) -> Result<(), ToolError> {
        let Some(name) = &self.shell else { return Ok(()) };
        let fits = |ch: char| ch.is_ascii_alphanumeric() || matches!(ch, '-' | '_' | '.');
        if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits) {
            return Ok(());
        }
        let name = brief(name);
        Err(ToolError::validation(format!(
            "Parameter 'shell' is '{name}', and has to be a name of up to {LONGEST_NAME} letters, digits, '-', '_' and '.', such as \
             'build'. It is not a program; leave it out to start in the workspace."
        )))
    }

    fn check_commit(&self) -> Result<(), ToolError> {
        if self.command.is_empty() && self.dry_run != Some(true) {
            return Ok(());
        }
        Err(ToolError::validation(
            "Parameter 'commit' stands alone: it does what a dry run has shown, and runs nothing. Leave 'command' and 'dry_run' out, or it.",
        ))
    }

    pub(super) fn request(&self) -> Result<CommandRequest, ToolError> {
        let count = self.hosts().len();
        if count > MOST_HOSTS {
            return Err(ToolError::validation(format!("Parameter 'allow_host' names {count} hosts; {MOST_HOSTS} are the most.")));
        }
        Ok(CommandRequest {
            command: self.command.clone(),
            directory: self.workdir.clone(),
            environment: self.env.iter().flatten().map(|(name, value)| variable(name, value)).collect::<Result<_, _>>()?,
            host: self.host(),
            interpreter: None,
            program: None,
            allow_hosts: if self.isolate_network == Some(true) { Vec::new() } else { self.hosts().to_vec() },
            isolate_network: self.isolate_network == Some(true),
            dry_run: self.is_dry_run(),
            background: self.background == Some(true),
            limits: self.limits().limits(),
            track_cwd: false,
            read_only: false,
            unattended: false,
        })
    }

    pub(super) fn limits(&self) -> RequestedLimits {
        RequestedLimits { memory_mb: self.memory_mb, cpu_seconds: self.cpu_seconds, processes: self.processes }
    }
    /// The name of its shell, if it has one.
    pub(super) fn shell(&self) -> Option<&str> {
        self.shell.as_deref()
    }
    pub(super) fn is_dry_run(&self) -> bool {
        self.dry_run == Some(true)
    }
    pub(super) fn in_background(&self) -> bool {
        self.background == Some(true)
    }
    pub(super) fn wants_terminal(&self) -> bool {
        self.pty == Some(true)
    }
    fn leaves_sandbox(&self) -> bool {
        self.dangerously_disable_sandbox == Some(true)
    }
    fn hosts(&self) -> &[String] {
        self.allow_host.as_deref().unwrap_or_default()
    }

    fn host(&self) -> Option<ExecHost> {
        match self.host {
            None => self.leaves_sandbox().then_some(ExecHost::Host),
            Some(ExecPlace::Sandbox) => Some(ExecHost::Sandbox),
            Some(ExecPlace::Container | ExecPlace::Gateway) => Some(ExecHost::Container),
            Some(ExecPlace::Host) => Some(ExecHost::Host),
            Some(ExecPlace::Node) => Some(ExecHost::Node),
        }
    }

    /// The node that it runs on; `is_default` says that commands do unless a call says otherwise.
    pub(super) fn node(&self, is_default: bool) -> Option<&str> {
        let is_meant = match self.host {
            Some(place) => place == ExecPlace::Node,
            None => is_default && !self.leaves_sandbox(),
        };
        is_meant.then(|| self.node.as_deref().unwrap_or_default())
    }

    /// Its arguments for a node.
    pub(super) fn for_node(&self) -> Result<(Value, Duration), ToolError> {
        let timeout = self.timeout()?.unwrap_or(LONGEST_ON_NODE);
        let arguments = serde_json::json!({
            "command": self.command, "workdir": self.workdir, "env": self.env, "timeout": timeout.as_secs_f64(), "pty": self.pty,
            "memory_mb": self.memory_mb, "cpu_seconds": self.cpu_seconds, "processes": self.processes, "isolate_network": self.isolate_network,
        });
        let mut arguments = arguments;
        if let Some(map) = arguments.as_object_mut() {
            map.retain(|_, value| !value.is_null());
        }
        // The way there and back.
        Ok((arguments, timeout + Duration::from_secs(10)))
    }

    /// Why the call itself asks for approval, if it does.
    pub(super) fn approval_reason(&self, is_read_only: bool) -> Option<String> {
        let parameter = match (self.ask, self.security) {
            (Some(RequestedAsk::Always), _) => "ask=always",
            (_, Some(RequestedSecurity::Paranoid | RequestedSecurity::Deny)) => "security=paranoid",
            (_, Some(RequestedSecurity::SafeBin | RequestedSecurity::Allowlist)) if !is_read_only => "security=safe-bin",
            _ => return None,
        };
        Some(format!("the call itself asks for approval ({parameter})"))
    }

    /// After how long it continues in the background, if the call sets it.
    pub(super) fn yield_ms(&self) -> Option<u64> {
        self.yield_ms
    }

    /// When the command is ended.
    pub(super) fn timeout(&self) -> Result<Option<Duration>, ToolError> {
        run::timeout(self.timeout, self.in_background() || self.yield_ms.is_some())
    }

    /// Parameters that are ignored, because only the user can widen what a command reaches.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mounts = self.allowed_mounts.as_ref().is_some_and(|mounts| !mounts.is_empty());
        let ignored = [
            (self.leaves_sandbox() && self.host.is_some(), "dangerously_disable_sandbox", "'host' says where it runs"),
            (self.node.is_some() && self.host != Some(ExecPlace::Node), "node", "it is for host 'node' alone"),
            (self.security == Some(RequestedSecurity::Full), "security", "it can only allow fewer programs than is configured"),
            (matches!(self.ask, Some(RequestedAsk::Auto | RequestedAsk::Off)), "ask", "it can only ask more often than is configured"),
            (self.namespace_restrictions == Some(false), "namespace_restrictions", "only the user can loosen the sandbox"),
            (self.isolate_network == Some(false), "isolate_network", "hosts to reach go into 'allow_host'"),
            (self.isolate_network == Some(true) && !self.hosts().is_empty(), "allow_host", "'isolate_network' is given as well"),
            (
                matches!(self.filesystem_mode, Some(FilesystemMode::Off | FilesystemMode::AllowList)),
                "filesystem_mode",
                "only the user can loosen the sandbox",
            ),
            (mounts, "allowed_mounts", "only the user can open more than the workspace"),
        ];
        ignored.iter().filter(|(given, ..)| *given).map(|(_, name, why)| format!("'{name}' was ignored: {why}")).collect()
    }
}

fn variable(name: &str, value: &Value) -> Result<(String, String), ToolError> {
    let shown = brief(name);
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(ToolError::validation(format!("Invalid name of a variable in 'env': '{shown}'. Use letters, digits and '_' only.")));
    }
    let text = match value {
        Value::String(text) if !text.contains('\0') => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => {
            let value = brief(&value.to_string());
            return Err(ToolError::validation(format!("Variable '{shown}' in 'env' must be text without NUL characters, not {value}.")));
        }
    };
    Ok((name.to_owned(), text))
}
