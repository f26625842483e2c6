//! What a line is asked for with.

use std::path::PathBuf;
use std::time::Duration;

use haft_contract::{ExecHost, Line, LineRequest, ToolError};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::super::limits::Asked;
use super::super::running;
use crate::shared::words;

/// More hosts than this are a configuration, not a call.
const MOST_HOSTS: usize = 32;
const LONGEST_NAME: usize = 64;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The line of shell to run, as it would be typed; it may have several lines. Needed, unless 'commit' is given.
    #[serde(default)]
    #[schemars(extend("x-verbatim" = true, "x-aliases" = ["cmd", "script"]))]
    pub(super) command: String,
    /// What it is for, in a few words; shown to the person.
    pub(super) description: Option<String>,
    /// The directory to run it in. Defaults to the workspace.
    #[schemars(extend("x-aliases" = ["cwd", "directory", "working_directory"]))]
    workdir: Option<PathBuf>,
    /// A name of your choice, such as 'build': the next line with this name starts in the directory that this one ends in.
    shell: Option<String>,
    /// Environment variables to set for it.
    #[schemars(extend("x-aliases" = ["environment"]))]
    env: Option<Map<String, Value>>,
    /// After how many milliseconds it goes on in the background, 10 to 120000. Defaults to 10000.
    yield_ms: Option<u64>,
    /// Put it into the background at once, with its input left open, as for a server. Defaults to false.
    #[schemars(extend("x-aliases" = ["run_in_background"]))]
    background: Option<bool>,
    /// When to end it, in seconds. Defaults to 1800, or to never for what goes to the background by the call's own wish.
    pub(super) timeout: Option<f64>,
    /// Give it a terminal, for programs that want one. Defaults to false.
    #[schemars(extend("x-aliases" = ["tty"]))]
    pty: Option<bool>,
    /// Let it use less memory than is configured, in megabytes; at least 16.
    memory_mb: Option<u64>,
    /// Let each of its processes use less processor time than is configured, in seconds.
    cpu_seconds: Option<u64>,
    /// Let it have fewer processes and threads at one time than is configured; at least 8.
    processes: Option<u64>,
    /// Hosts that it has to reach, such as 'packages.example.org' or 'example.org:8443'. Defaults to none.
    #[schemars(extend("x-aliases" = ["allow_hosts"]))]
    allow_host: Option<Vec<String>>,
    /// Where to run it. Defaults to what is configured; 'host', outside the sandbox, needs the person's yes.
    host: Option<Place>,
    /// Which paired machine to run it on; only for host 'node'.
    node: Option<String>,
    /// Allow fewer programs than is configured: 'safe-bin' asks the person about all but harmless ones, 'paranoid' about all.
    security: Option<Security>,
    /// Ask the person more often than is configured: 'always'.
    ask: Option<Ask>,
    /// Not supported: only the person can grant more.
    elevated: Option<bool>,
    /// Run it on a copy of the workspace that is thrown away, and show what it would change. Defaults to false.
    dry_run: Option<bool>,
    /// Instead of a command: do exactly what a dry run has shown, by the name that it gave, such as 'chg-1f2e…'.
    pub(super) commit: Option<String>,
    /// Ask the person to let it run outside the sandbox, as with host 'host'.
    dangerously_disable_sandbox: Option<bool>,
    /// Whether it has namespaces of its own; only the person can do without.
    namespace_restrictions: Option<bool>,
    /// Whether it is kept from the network, whatever 'allow_host' says.
    isolate_network: Option<bool>,
    /// Which files it reaches; only the person can open more than the workspace.
    filesystem_mode: Option<FilesystemMode>,
    /// Further directories that it reaches; only the person can open them.
    allowed_mounts: Option<Vec<String>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum Place {
    Sandbox,
    Container,
    Host,
    Node,
    Gateway,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Security {
    Paranoid,
    SafeBin,
    Full,
    Deny,
    Allowlist,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
enum Ask {
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
    /// Says beforehand what is wrong with them.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        if self.commit.is_some() {
            return self.check_commit();
        }
        if self.command.trim().is_empty() {
            return Err(ToolError::validation("Parameter 'command' is empty. Give the line to run, such as 'ls -l'."));
        }
        if self.command.contains('\0') {
            return Err(ToolError::validation("Parameter 'command' has a NUL character, which no shell can read. Leave it out."));
        }
        if self.elevated == Some(true) {
            return Err(ToolError::denied(
                "Parameter 'elevated' is not supported: a call cannot give itself more than it has. \
                 Only the person can, in their configuration. Leave it out.",
            ));
        }
        if let Some(node) = self.node.as_deref().filter(|_| self.host == Some(Place::Node)) {
            let node = words::shown(node);
            return Err(ToolError::validation(format!(
                "A line cannot be run on a chosen machine yet ('{node}'). Leave 'host' and 'node' out to run it here."
            )));
        }
        self.check_shell()?;
        self.limits().check()?;
        self.timeout().map(drop)
    }

    fn check_shell(&self) -> Result<(), ToolError> {
        let Some(name) = &self.shell else { return Ok(()) };
        let fits = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.');
        if !name.is_empty() && name.len() <= LONGEST_NAME && name.chars().all(fits) {
            return Ok(());
        }
        let name = words::shown(name);
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

    pub(super) fn request(&self) -> Result<LineRequest, ToolError> {
        let count = self.hosts().len();
        if count > MOST_HOSTS {
            return Err(ToolError::validation(format!("Parameter 'allow_host' names {count} hosts; {MOST_HOSTS} are the most.")));
        }
        Ok(LineRequest {
            line: self.command.clone(),
            directory: self.workdir.clone(),
            environment: self.env.iter().flatten().map(|(name, value)| variable(name, value)).collect::<Result<_, _>>()?,
            host: self.host(),
            program: None,
            reach: if self.isolate_network == Some(true) { Vec::new() } else { self.hosts().to_vec() },
            dry_run: self.is_dry_run(),
            limits: self.limits().limits(),
            tells_directory: false,
        })
    }

    pub(super) fn limits(&self) -> Asked {
        Asked { memory_mb: self.memory_mb, cpu_seconds: self.cpu_seconds, processes: self.processes }
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
            Some(Place::Sandbox) => Some(ExecHost::Sandbox),
            Some(Place::Container | Place::Gateway) => Some(ExecHost::Container),
            Some(Place::Host) => Some(ExecHost::Host),
            Some(Place::Node) => Some(ExecHost::Node),
        }
    }

    /// Why a person is to be asked, by the call's own wish.
    pub(super) fn asks(&self, line: &Line) -> Option<String> {
        let wish = match (self.ask, self.security) {
            (Some(Ask::Always), _) => "ask=always",
            (_, Some(Security::Paranoid | Security::Deny)) => "security=paranoid",
            (_, Some(Security::SafeBin | Security::Allowlist)) if !line.only_reads() => "security=safe-bin",
            _ => return None,
        };
        Some(format!("the call itself wants a person to be asked ({wish})"))
    }

    /// After how long it goes on in the background, if the call says so.
    pub(super) fn yield_ms(&self) -> Option<u64> {
        self.yield_ms
    }

    /// When the line is ended.
    pub(super) fn timeout(&self) -> Result<Option<Duration>, ToolError> {
        running::timeout(self.timeout, self.in_background() || self.yield_ms.is_some())
    }

    /// What was asked for and is not done, because only the person can widen what a line reaches.
    pub(super) fn warnings(&self) -> Vec<String> {
        let mounts = self.allowed_mounts.as_ref().is_some_and(|mounts| !mounts.is_empty());
        let ignored = [
            (self.leaves_sandbox() && self.host.is_some(), "dangerously_disable_sandbox", "'host' says where it runs"),
            (self.node.is_some(), "node", "it is for host 'node' alone"),
            (self.security == Some(Security::Full), "security", "it can only allow fewer programs than is configured"),
            (matches!(self.ask, Some(Ask::Auto | Ask::Off)), "ask", "it can only ask more often than is configured"),
            (self.namespace_restrictions == Some(false), "namespace_restrictions", "only the person can take walls away"),
            (self.isolate_network == Some(false), "isolate_network", "hosts to reach go into 'allow_host'"),
            (self.isolate_network == Some(true) && !self.hosts().is_empty(), "allow_host", "'isolate_network' is given as well"),
            (
                matches!(self.filesystem_mode, Some(FilesystemMode::Off | FilesystemMode::AllowList)),
                "filesystem_mode",
                "only the person can take walls away",
            ),
            (mounts, "allowed_mounts", "only the person can open more than the workspace"),
        ];
        ignored.iter().filter(|(given, ..)| *given).map(|(_, name, why)| format!("'{name}' was ignored: {why}")).collect()
    }
}

fn variable(name: &str, value: &Value) -> Result<(String, String), ToolError> {
    let shown = words::shown(name);
    if name.is_empty() || name.contains(['=', '\0']) {
        return Err(ToolError::validation(format!("Invalid name of a variable in 'env': '{shown}'. Use letters, digits and '_' only.")));
    }
    let text = match value {
        Value::String(text) if !text.contains('\0') => text.clone(),
        Value::Number(_) | Value::Bool(_) => value.to_string(),
        _ => {
            let value = words::shown(&value.to_string());
            return Err(ToolError::validation(format!("Variable '{shown}' in 'env' must be text without NUL characters, not {value}.")));
        }
    };
    Ok((name.to_owned(), text))
}
