//! Effects and plans: what a call will do, before it does it.
//!
//! Permission, approval text, locks, sandbox, taint, undo and audit are all derived from a [`Plan`]; no tool
//! implements any of them itself.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};

use crate::settings::named_enum;
use crate::{Access, ChangeSet, ErrorKind, JobAccess, JobStatus, JobUse, Location, ShellCommand, Zone};

/// Whether a path effect touches one file or everything beneath it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Extent {
    /// This path alone.
    File,
    /// This path and all beneath it.
    Tree,
}

/// A path and how far it reaches.
#[derive(Debug, Clone)]
pub struct PathEffect {
    /// Where.
    pub location: Location,
    /// One file or a whole tree.
    pub extent: Extent,
}

named_enum! {
    /// Where a program runs.
    #[derive(Default)]
    #[non_exhaustive]
    ExecHost {
        /// On this machine, as the user.
        #[default]
        Host = "host",
        /// On this machine, in a sandbox.
        Sandbox = "sandbox",
        /// In a container.
        Container = "container" | "gateway",
        /// On a paired machine.
        Node = "node",
    }
}

impl ExecHost {
    /// Whether a program there writes in the workspace alone and has no network.
    pub const fn is_sandboxed(self) -> bool {
        matches!(self, Self::Sandbox | Self::Container)
    }
}

/// A program to run. A line that runs several is several effects: a rule must hold for every one of them.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Exec {
    /// The program, resolved to the file that will run.
    pub program: PathBuf,
    /// The program as it was called: a bare name was looked up among the installed programs, anything else is a path.
    pub named: String,
    /// Its arguments, without the program.
    pub arguments: Vec<String>,
    /// Where it runs.
    pub directory: PathBuf,
    /// Names of the environment variables it is given beyond the clean default.
    pub environment: Vec<String>,
    /// Where it runs: on this machine, in a sandbox, or elsewhere.
    pub host: ExecHost,
    /// What is known of the program with these arguments.
    pub nature: ExecNature,
    /// Whether its sandbox lets it change nothing of the workspace.
    pub read_only_view: bool,
    /// What else it stands for when a rule forbids programs.
    pub reach: ExecReach,
}

/// What a program stands for besides its own words. Only rules that deny or ask look at it: it can never permit anything.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct ExecReach {
    /// The words of each wrapper that starts it, outermost first: `timeout 5 git push`.
    pub wrappers: Vec<Vec<String>>,
    /// Commands that it may start, as far as its words tell: those behind `sudo`, the value of `--to-command`.
    pub commands: Vec<Vec<String>>,
    /// Whether it runs shell text that is known only when it runs, which may be any program.
    pub is_any: bool,
}

/// What is known of a program with its arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
#[non_exhaustive]
pub enum ExecNature {
    /// Nothing: it may do whatever programs can do.
    #[default]
    Any,
    /// Its arguments are not known before it runs: the shell expands them.
    Expanded,
    /// It only reads what it is told to, and writes to its output.
    Reads,
    /// It only reads its input, and writes to its output.
    Filters,
}

impl Exec {
    /// A program that is called by its path, on this machine, in the clean environment.
    pub fn new(program: impl Into<PathBuf>, arguments: Vec<String>, directory: impl Into<PathBuf>) -> Self {
        let program = program.into();
        let named = program.to_string_lossy().into_owned();
        Self {
            program,
            named,
            arguments,
            directory: directory.into(),
            environment: Vec::new(),
            host: ExecHost::default(),
            nature: ExecNature::default(),
            read_only_view: false,
            reach: ExecReach::default(),
        }
    }
}

/// A connection to make.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Connect {
    /// `http` or `https`.
    pub scheme: String,
    /// The host in canonical form: lower case, punycode, addresses spelled one way.
    pub host: String,
    /// The port.
    pub port: u16,
    /// The HTTP method.
    pub method: String,
    /// Why the address guard refuses it, if that is known already.
    pub refused: Option<String>,
    /// Whether it is the search provider that the user configured: a request there only reads, whatever its method.
    pub searches: bool,
}

impl Connect {
    /// A connection; for implementors of [`HttpClient`](crate::ports::HttpClient).
    pub fn new(scheme: impl Into<String>, host: impl Into<String>, port: u16, method: impl Into<String>) -> Self {
        Self { scheme: scheme.into(), host: host.into(), port, method: method.into(), refused: None, searches: false }
    }
    /// A tunnel, as a sandboxed command gets one to a host and port. Its scheme is the usual one of the port.
    pub fn tunnel(host: impl Into<String>, port: u16) -> Self {
        Self::new(if port == 80 { "http" } else { "https" }, host, port, "CONNECT")
    }
    /// The name under which the tools of a session reach servers that its sandboxed commands run.
    pub const SANDBOX_HOST: &'static str = "sandbox.localhost";
    /// Whether it stays in the session's own sandbox: to a server that a command runs there.
    pub fn is_sandbox(&self) -> bool {
        self.host == Self::SANDBOX_HOST && !self.is_tunnel()
    }
    /// Whether the method only asks for something.
    pub const fn only_reads(&self) -> bool {
        self.searches || matches!(self.method.as_bytes(), b"GET" | b"HEAD" | b"OPTIONS")
    }
    /// Whether it is a tunnel, as a command gets one: anything may be sent through it.
    pub fn is_tunnel(&self) -> bool {
        self.method == "CONNECT"
    }
    pub(crate) fn covers(&self, other: &Self) -> bool {
        self.host == other.host && self.port == other.port && self.method == other.method && self.scheme == other.scheme
    }
}

/// One thing a call will do.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum Effect {
    /// Read a path.
    Read(PathEffect),
    /// Create or change a path.
    Write(PathEffect),
    /// Remove a path.
    Delete(PathEffect),
    /// Run a program.
    Exec(Exec),
    /// Connect to a host.
    Connect(Connect),
    /// Send something to someone.
    Send {
        /// How: `desktop`, `mail`, ….
        channel: String,
        /// To whom.
        to: String,
        /// Whether it leaves this machine.
        outward: bool,
    },
    /// Start an agent.
    Spawn {
        /// Which.
        agent: String,
    },
    /// Change configuration.
    Configure {
        /// Which key.
        key: String,
    },
    /// Ask a user.
    Ask {
        /// Whom to ask.
        user: String,
    },
    /// What it will do cannot be known beforehand.
    Unknown {
        /// Why not.
        why: String,
    },
    /// What a sandboxed command will do cannot be known beforehand, but it can do no more than its sandbox lets it.
    Contained {
        /// Why not.
        why: String,
        /// Whether its sandbox lets it change nothing of the workspace.
        read_only: bool,
    },
}

/// What an effect needs before it may happen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Need {
    /// This access level.
    Access(Access),
    /// It is refused at every level, for this reason.
    Never(ErrorKind, String),
}

impl Effect {
    /// The names of all kinds: those that a rule can name, then the two that it cannot.
    pub const KINDS: &[&str] = &["read", "write", "delete", "exec", "connect", "send", "spawn", "configure", "ask", "unknown"];

    /// The name of its kind, as in rules and JSON.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Read(_) => "read",
            Self::Write(_) => "write",
            Self::Delete(_) => "delete",
            Self::Exec(_) => "exec",
            Self::Connect(_) => "connect",
            Self::Send { .. } => "send",
            Self::Spawn { .. } => "spawn",
            Self::Configure { .. } => "configure",
            Self::Ask { .. } => "ask",
            Self::Unknown { .. } | Self::Contained { .. } => "unknown",
        }
    }

    /// The access it needs, or why it can never be had.
    pub fn need(&self) -> Need {
        match self {
            Self::Read(effect) => read_need(&effect.location),
            Self::Write(effect) | Self::Delete(effect) => write_need(&effect.location),
            Self::Connect(Connect { refused: Some(why), .. }) => Need::Never(ErrorKind::NetworkError, why.clone()),
            Self::Connect(connect) if connect.only_reads() => Need::Access(Access::ReadOnly),
            // It changes what a command of the session could change as well.
            Self::Connect(connect) if connect.is_sandbox() => Need::Access(Access::WorkspaceWrite),
            Self::Send { outward: false, .. } | Self::Ask { .. } => Need::Access(Access::ReadOnly),
            Self::Configure { .. } => Need::Access(Access::WorkspaceWrite),
            // A sandboxed program writes in the workspace alone and has no network; every exception is an effect of its own.
            Self::Exec(exec) if exec.host.is_sandboxed() => Need::Access(view_access(exec.read_only_view)),
            Self::Contained { read_only, .. } => Need::Access(view_access(*read_only)),
            Self::Connect(_) | Self::Exec(_) | Self::Send { .. } | Self::Spawn { .. } | Self::Unknown { .. } => {
                Need::Access(Access::FullAccess)
            }
        }
    }

    /// Whether it changes anything: such calls are recorded before they run.
    pub const fn changes_something(&self) -> bool {
        match self {
            Self::Read(_) | Self::Ask { .. } | Self::Contained { read_only: true, .. } => false,
            Self::Exec(exec) => !exec.read_only_view,
            Self::Connect(connect) => !connect.only_reads(),
            _ => true,
        }
    }

    /// Whether it can carry data off this machine.
    pub fn is_outward(&self) -> bool {
        match self {
            Self::Connect(connect) => !connect.is_sandbox(),
            Self::Send { outward: true, .. } | Self::Unknown { .. } => true,
            Self::Exec(exec) => !exec.host.is_sandboxed(),
            _ => false,
        }
    }

    /// The path it touches and whether it changes it.
    pub fn path(&self) -> Option<(&PathEffect, bool)> {
        match self {
            Self::Read(effect) => Some((effect, false)),
            Self::Write(effect) | Self::Delete(effect) => Some((effect, true)),
            _ => None,
        }
    }

    /// What it touches, as text. Not escaped: a display must do that.
    pub fn target(&self) -> String {
        match self {
            Self::Read(effect) | Self::Write(effect) | Self::Delete(effect) => effect.location.display().to_owned(),
            Self::Exec(exec) => {
                std::iter::once(exec.program.display().to_string()).chain(exec.arguments.iter().cloned()).collect::<Vec<_>>().join(" ")
            }
            Self::Connect(connect) => format!("{} {}://{}:{}", connect.method, connect.scheme, connect.host, connect.port),
            Self::Send { channel, to, .. } => format!("{channel} to {to}"),
            Self::Spawn { agent } => agent.clone(),
            Self::Configure { key } => key.clone(),
            Self::Ask { user } => user.clone(),
            Self::Unknown { why } => why.clone(),
            Self::Contained { why, .. } => format!("it runs in the sandbox, and what it does there is not known before ({why})"),
        }
    }
}

/// The access that a sandboxed program needs.
const fn view_access(read_only: bool) -> Access {
    if read_only { Access::ReadOnly } else { Access::WorkspaceWrite }
}

fn read_need(location: &Location) -> Need {
    if let Some(why) = location.no_read() {
        return Need::Never(ErrorKind::PathNotAllowed, why.to_owned());
    }
    Need::Access(if location.zone() == Zone::Outside { Access::FullAccess } else { Access::ReadOnly })
}

fn write_need(location: &Location) -> Need {
    if let Some(why) = location.no_write() {
        return Need::Never(ErrorKind::PathNotAllowed, why.to_owned());
    }
    match location.zone() {
        Zone::Workspace => Need::Access(Access::WorkspaceWrite),
        Zone::ReadOnlyRoot => {
            Need::Never(ErrorKind::PathNotAllowed, format!("'{}' lies in a folder that may only be read", location.display()))
        }
        Zone::Outside => Need::Access(Access::FullAccess),
    }
}

impl Serialize for Effect {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("effect", self.kind())?;
        match self {
            Self::Read(effect) | Self::Write(effect) | Self::Delete(effect) => {
                map.serialize_entry("path", &effect.location.path().to_string_lossy())?;
                if effect.extent == Extent::Tree {
                    map.serialize_entry("tree", &true)?;
                }
                if effect.location.zone() == Zone::Outside {
                    map.serialize_entry("outside", &true)?;
                }
            }
            Self::Exec(exec) => {
                map.serialize_entry("program", &exec.program.to_string_lossy())?;
                if exec.program.as_os_str() != exec.named.as_str() {
                    map.serialize_entry("named", &exec.named)?;
                }
                map.serialize_entry("arguments", &exec.arguments)?;
                map.serialize_entry("directory", &exec.directory.to_string_lossy())?;
                map.serialize_entry("host", exec.host.as_str())?;
                if !exec.environment.is_empty() {
                    map.serialize_entry("environment", &exec.environment)?;
                }
                if exec.read_only_view {
                    map.serialize_entry("read_only", &true)?;
                }
            }
            Self::Connect(connect) => {
                map.serialize_entry("host", &connect.host)?;
                map.serialize_entry("port", &connect.port)?;
                map.serialize_entry("method", &connect.method)?;
            }
            Self::Send { channel, to, .. } => {
                map.serialize_entry("channel", channel)?;
                map.serialize_entry("to", to)?;
            }
            Self::Spawn { agent } => map.serialize_entry("agent", agent)?,
            Self::Configure { key } => map.serialize_entry("key", key)?,
            Self::Ask { user } => map.serialize_entry("user", user)?,
            Self::Unknown { why } => map.serialize_entry("why", why)?,
            Self::Contained { why, .. } => {
                map.serialize_entry("why", why)?;
                map.serialize_entry("host", ExecHost::Sandbox.as_str())?;
            }
        }
        map.end()
    }
}

/// Everything a call will do, in order.
#[derive(Debug, Clone, Default)]
pub struct Plan {
    effects: Vec<Effect>,
    /// The command that runs; its effects are among the others.
    command: Option<Arc<ShellCommand>>,
    /// The change set that is committed; its changes are among the effects.
    commit: Option<Arc<ChangeSet>>,
    /// The jobs that are used.
    jobs: Vec<JobUse>,
    /// Whether the jobs of the session are listed.
    lists_jobs: bool,
    /// Why the call itself requires approval.
    approval: Option<String>,
    /// Whether its connections are those of a sandboxed command that already runs.
    egress: bool,
}

impl Plan {
    /// A plan that touches nothing.
    pub const fn nothing() -> Self {
        Self { effects: Vec::new(), command: None, commit: None, jobs: Vec::new(), lists_jobs: false, approval: None, egress: false }
    }
    /// Adds any effect.
    pub fn with(mut self, effect: Effect) -> Self {
        self.effects.push(effect);
        self
    }
    /// Adds reading one file.
    pub fn read(self, location: Location) -> Self {
        self.with(Effect::Read(PathEffect { location, extent: Extent::File }))
    }
    /// Adds reading a whole tree.
    pub fn read_tree(self, location: Location) -> Self {
        self.with(Effect::Read(PathEffect { location, extent: Extent::Tree }))
    }
    /// Adds writing one file.
    pub fn write(self, location: Location) -> Self {
        self.with(Effect::Write(PathEffect { location, extent: Extent::File }))
    }
    /// Adds removing one file.
    pub fn delete(self, location: Location) -> Self {
        self.with(Effect::Delete(PathEffect { location, extent: Extent::File }))
    }
    /// Adds a connection.
    pub fn connect(self, connect: Connect) -> Self {
        self.with(Effect::Connect(connect))
    }
    /// Adds running a program.
    pub fn exec(self, exec: Exec) -> Self {
        self.with(Effect::Exec(exec))
    }
    /// Adds a command with all its effects. A plan has one: a second replaces the first.
    pub fn command(mut self, command: ShellCommand) -> Self {
        self.effects.extend_from_slice(command.effects());
        self.command = Some(Arc::new(command));
        self
    }
    /// The planned command.
    pub fn planned_command(&self) -> Option<&ShellCommand> {
        self.command.as_deref()
    }
    /// Commits a change set: its effects must name every change that it makes, in its order, and come first.
    pub fn commits(mut self, set: Arc<ChangeSet>) -> Self {
        self.commit = Some(set);
        self
    }
    /// A connection of a sandboxed command that already runs.
    pub fn egress(connect: Connect) -> Self {
        Self { egress: true, ..Self::nothing().connect(connect) }
    }
    /// Whether its connections are those of a sandboxed command that already runs.
    pub fn is_egress(&self) -> bool {
        self.egress
    }
    /// Adds the use of a job of the session. Input of a job outside the sandbox can make it do anything: the caller adds that
    /// as an effect.
    pub fn with_job(mut self, job: &JobStatus, access: JobAccess) -> Self {
        self.jobs.push(JobUse { id: job.id.clone(), access, command: job.command.clone(), host: job.host });
        self
    }
    /// Adds the list of the session's jobs.
    pub fn list_jobs(mut self) -> Self {
        self.lists_jobs = true;
        self
    }
    /// The jobs that are used.
    pub fn jobs(&self) -> &[JobUse] {
        &self.jobs
    }
    /// Whether it runs programs, all of them in the sandbox.
    pub fn runs_sandboxed(&self) -> bool {
        if self.egress {
            return true;
        }
        let mut programs = self.effects().iter().filter_map(|effect| match effect {
            Effect::Exec(exec) => Some(exec.host.is_sandboxed()),
            _ => None,
        });
        programs.next() == Some(true) && programs.all(|sandboxed| sandboxed)
    }
    /// The change set that is committed.
    pub fn committed(&self) -> Option<&ChangeSet> {
        self.commit.as_deref()
    }
    /// Adds a message.
    pub fn send(self, channel: impl Into<String>, to: impl Into<String>, outward: bool) -> Self {
        self.with(Effect::Send { channel: channel.into(), to: to.into(), outward })
    }
    /// Requires approval, whatever allows the effects: a call may be stricter than the policy.
    pub fn require_approval(mut self, why: impl Into<String>) -> Self {
        self.approval = Some(why.into());
        self
    }
    /// Why the call itself requires approval.
    pub fn required_approval(&self) -> Option<&str> {
        self.approval.as_deref()
    }
    /// The effects.
    pub fn effects(&self) -> &[Effect] {
        &self.effects
    }
    /// Whether any effect changes something.
    pub fn changes_something(&self) -> bool {
        self.effects.iter().any(Effect::changes_something) || self.jobs.iter().any(|job| job.access != JobAccess::Read)
    }

    /// The planned location of a path, as it was requested at planning, with the first effect that `select` accepts.
    fn location(&self, path: &Path, select: impl Fn(&Effect) -> Option<&PathEffect>) -> Option<&Location> {
        let mut locations = self.effects.iter().filter_map(|effect| select(effect).map(|effect| &effect.location));
        locations.find(|location| location.requested() == path)
    }
    /// The planned location for reading a path.
    pub(crate) fn readable(&self, path: &Path) -> Option<&Location> {
        self.location(path, |effect| if let Effect::Read(effect) = effect { Some(effect) } else { None })
    }
    /// The planned location for walking through a tree.
    pub(crate) fn walkable(&self, path: &Path) -> Option<&Location> {
        self.location(path, |effect| match effect {
            Effect::Read(effect) if effect.extent == Extent::Tree => Some(effect),
            _ => None,
        })
    }
    /// The planned location for writing a path.
    pub(crate) fn writable(&self, path: &Path) -> Option<&Location> {
        self.location(path, |effect| if let Effect::Write(effect) = effect { Some(effect) } else { None })
    }
    /// The planned location for removing a path.
    pub(crate) fn deletable(&self, path: &Path) -> Option<&Location> {
        self.location(path, |effect| if let Effect::Delete(effect) = effect { Some(effect) } else { None })
    }
    /// The planned use of a job. A plan may name it more than once: the strongest access that it names counts.
    pub(crate) fn job_access(&self, id: &str) -> Option<JobAccess> {
        let uses = self.jobs.iter().filter(|job| job.id == id).map(|job| job.access);
        uses.fold(None, |found, access| found.filter(|found| *found != JobAccess::Read).or(Some(access)))
    }
    pub(crate) fn permits_job_list(&self) -> bool {
        self.lists_jobs
    }
    pub(crate) fn permits_connect(&self, wanted: &Connect) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Connect(planned) if planned.covers(wanted)))
    }
    pub(crate) fn permits_exec(&self, wanted: &Exec) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Exec(planned) if planned == wanted))
    }
    pub(crate) fn permits_send(&self, wanted_channel: &str, wanted_to: &str) -> bool {
        self.effects.iter().any(|effect| matches!(effect, Effect::Send { channel, to, .. } if channel == wanted_channel && to == wanted_to))
    }
}
