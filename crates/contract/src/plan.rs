//! Plans: everything a call will do, in order.

use std::path::Path;
use std::sync::Arc;

use crate::{ChangeSet, Connect, Effect, Exec, Extent, JobAccess, JobStatus, JobUse, Location, PathEffect, ShellCommand};

/// Everything a call will do, in order.
#[derive(Debug, Clone, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a use that no effect names, independent of the others")]
pub struct Plan {
    /// Shared with history, which writes them when the call is over; none for a plan that touches nothing.
    effects: Option<Arc<Vec<Effect>>>,
    /// What few plans have; apart, because every stage hands its plan on.
    rare: Option<Box<RareParts>>,
    /// Whether the jobs of the session are listed.
    lists_jobs: bool,
    /// Whether other conversations are read.
    reads_sessions: bool,
    /// Whether its connections are those of a sandboxed command that already runs.
    egress: bool,
    /// Whether it uses the browser of the session.
    browser: bool,
}

/// What few plans have.
#[derive(Debug, Clone, Default)]
struct RareParts {
    /// The command that runs; its effects are among the others.
    command: Option<Arc<ShellCommand>>,
    /// The change set that is committed; its changes are among the effects.
    commit: Option<Arc<ChangeSet>>,
    /// The jobs that are used.
    jobs: Vec<JobUse>,
    /// Why the call itself requires approval.
    approval: Option<String>,
}

impl Plan {
    /// A plan that touches nothing.
    pub const fn nothing() -> Self {
        Self { effects: None, rare: None, lists_jobs: false, reads_sessions: false, egress: false, browser: false }
    }
    /// Adds any effect.
    pub fn with(mut self, effect: Effect) -> Self {
        self.effects_mut().push(effect);
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
        self.effects_mut().extend_from_slice(command.effects());
        self.rare_mut().command = Some(Arc::new(command));
        self
    }
    /// The planned command.
    pub fn planned_command(&self) -> Option<&ShellCommand> {
        self.rare.as_ref()?.command.as_deref()
    }
    /// Commits a change set: its effects must name every change that it makes, in its order, and come first.
    pub fn commits(mut self, set: Arc<ChangeSet>) -> Self {
        self.rare_mut().commit = Some(set);
        self
    }
    /// A connection of a sandboxed command that already runs.
    pub fn egress(connect: Connect) -> Self {
        Self { egress: true, ..Self::nothing().connect(connect) }
    }
    /// Adds the use of the session's browser, whose pages may connect while the call runs.
    pub const fn browse(mut self) -> Self {
        self.browser = true;
        self
    }
    /// Whether it uses the browser of the session.
    pub const fn uses_browser(&self) -> bool {
        self.browser
    }
    /// Whether its connections are those of a sandboxed command that already runs.
    pub fn is_egress(&self) -> bool {
        self.egress
    }
    /// Adds the use of a job of the session. Input of a job outside the sandbox can make it do anything: the caller adds that
    /// as an effect.
    pub fn with_job(mut self, job: &JobStatus, access: JobAccess) -> Self {
        self.rare_mut().jobs.push(JobUse { id: job.id.clone(), access, command: job.command.clone(), host: job.host });
        self
    }
    /// Adds the list of the session's jobs.
    pub fn list_jobs(mut self) -> Self {
        self.lists_jobs = true;
        self
    }
    /// The jobs that are used.
    pub fn jobs(&self) -> &[JobUse] {
        self.rare.as_ref().map_or(&[], |rare| rare.jobs.as_slice())
    }
    /// Whether it runs programs, all of them in the sandbox; the browser is one.
    pub fn runs_sandboxed(&self) -> bool {
        if self.egress || self.browser {
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
        self.rare.as_ref()?.commit.as_deref()
    }
    /// Adds starting an agent, by the name that rules know it by.
    pub fn spawn(self, agent: impl Into<String>) -> Self {
        self.with(Effect::Spawn { agent: agent.into() })
    }
    /// Adds reading the conversations that the session sees, and the state of its sub-agents.
    pub const fn read_sessions(mut self) -> Self {
        self.reads_sessions = true;
        self
    }
    /// Adds a message.
    pub fn send(self, channel: impl Into<String>, to: impl Into<String>, outward: bool) -> Self {
        self.with(Effect::Send { channel: channel.into(), to: to.into(), outward })
    }
    /// Adds the change of a setting.
    pub fn configure(self, key: impl Into<String>) -> Self {
        self.with(Effect::Configure { key: key.into() })
    }
    /// Requires approval, whatever allows the effects: a call may be stricter than the policy.
    pub fn require_approval(mut self, why: impl Into<String>) -> Self {
        self.rare_mut().approval = Some(why.into());
        self
    }
    /// Why the call itself requires approval.
    pub fn required_approval(&self) -> Option<&str> {
        self.rare.as_ref()?.approval.as_deref()
    }
    /// The effects.
    pub fn effects(&self) -> &[Effect] {
        self.effects.as_ref().map_or(&[], |effects| effects.as_slice())
    }
    /// The effects, for a caller that needs them longer than the plan.
    pub fn shared_effects(&self) -> Option<Arc<Vec<Effect>>> {
        self.effects.clone()
    }
    fn effects_mut(&mut self) -> &mut Vec<Effect> {
        Arc::make_mut(self.effects.get_or_insert_default())
    }
    fn rare_mut(&mut self) -> &mut RareParts {
        self.rare.get_or_insert_default()
    }
    /// Whether any effect changes something.
    pub fn changes_something(&self) -> bool {
        self.effects().iter().any(Effect::changes_something) || self.jobs().iter().any(|job| job.access != JobAccess::Read)
    }

    /// The planned location of a path, as it was requested at planning, with the first effect that `select` accepts.
    fn location(&self, path: &Path, select: impl Fn(&Effect) -> Option<&PathEffect>) -> Option<&Location> {
        let mut locations = self.effects().iter().filter_map(|effect| select(effect).map(|effect| &effect.location));
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
        let uses = self.jobs().iter().filter(|job| job.id == id).map(|job| job.access);
        uses.fold(None, |found, access| found.filter(|found| *found != JobAccess::Read).or(Some(access)))
    }
    pub(crate) fn permits_job_list(&self) -> bool {
        self.lists_jobs
    }
    pub(crate) fn permits_session_reads(&self) -> bool {
        self.reads_sessions
    }
    pub(crate) fn permits_spawn(&self, wanted: &str) -> bool {
        self.effects().iter().any(|effect| matches!(effect, Effect::Spawn { agent } if agent == wanted))
    }
    pub(crate) fn permits_connect(&self, wanted: &Connect) -> bool {
        self.effects().iter().any(|effect| matches!(effect, Effect::Connect(planned) if planned.covers(wanted)))
    }
    pub(crate) fn permits_exec(&self, wanted: &Exec) -> bool {
        self.effects().iter().any(|effect| matches!(effect, Effect::Exec(planned) if planned == wanted))
    }
    pub(crate) fn permits_send(&self, wanted_channel: &str, wanted_to: &str) -> bool {
        self.effects()
            .iter()
            .any(|effect| matches!(effect, Effect::Send { channel, to, .. } if channel == wanted_channel && to == wanted_to))
    }
    pub(crate) fn permits_configure(&self, wanted: &str) -> bool {
        self.effects().iter().any(|effect| matches!(effect, Effect::Configure { key } if key == wanted))
    }
}
