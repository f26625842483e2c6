//! Capabilities: the ports, narrowed to the plan of a call. Everything that was not planned is refused here.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::readers::{CallBody, CallReader};
use crate::tree::NamesOnly;
use crate::{
    ChangeMode, CommandSpec, Connect, DirectChanges, Effect, ErrorKind, FileInfo, FileReader, HelperLimits, HelperOutput, HttpRequest,
    HttpResponse, JobAccess, JobHandle, JobOptions, JobStatus, LocalOffset, Location, Notice, Plan, ProcessOutput, ShellCommand,
    SpillWriter, SystemFacts, ToolContext, ToolError, TreeOptions, TreeVisitor, WalkSummary, WriteMode, WriteOutcome,
    ports::{FileSystem, Host, PreImage, RedirectCheck},
};

pub(crate) fn unplanned(what: &str, target: &str) -> ToolError {
    ToolError::denied(format!(
        "The tool tried to {what} '{target}', which its plan does not name. This is a fault of the tool; nothing was done."
    ))
}

/// A context that was kept beyond its call reaches nothing: the locks and the time of the call are gone.
pub(crate) fn alive(cx: &ToolContext) -> Result<(), ToolError> {
    if cx.is_cancelled() { Err(ended()) } else { Ok(()) }
}

/// The error of an operation after its call.
pub(crate) fn ended() -> ToolError {
    ToolError::new(ErrorKind::Cancelled, "The call has ended, and with it what its tool may do. Nothing was done.")
}

/// Files, as planned. Paths are spelled as they were at planning.
#[derive(Debug, Clone, Copy)]
pub struct Files<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl<'a> Files<'a> {
    fn port(self) -> &'a dyn FileSystem {
        self.cx.host().files()
    }
    fn readable(self, path: &Path) -> Result<&'a Location, ToolError> {
        self.planned("read", path, Plan::readable)
    }
    fn writable(self, path: &Path) -> Result<&'a Location, ToolError> {
        self.planned("write", path, Plan::writable)
    }
    fn deletable(self, path: &Path) -> Result<&'a Location, ToolError> {
        self.planned("remove", path, Plan::deletable)
    }
    fn planned(
        self,
        verb: &str,
        path: &Path,
        find: impl FnOnce(&'a Plan, &Path) -> Option<&'a Location>,
    ) -> Result<&'a Location, ToolError> {
        alive(self.cx)?;
        find(self.cx.plan(), path).ok_or_else(|| unplanned(verb, &path.to_string_lossy()))
    }

    /// Metadata of a path.
    pub async fn info(&self, path: impl AsRef<Path>) -> Result<FileInfo, ToolError> {
        let any = |plan: &'a Plan, path: &Path| plan.readable(path).or_else(|| plan.writable(path)).or_else(|| plan.deletable(path));
        let at = self.planned("look at", path.as_ref(), any)?;
        self.port().info(at).await
    }
    /// Opens a file for reading.
    pub async fn open(&self, path: impl AsRef<Path>) -> Result<Box<dyn FileReader>, ToolError> {
        let at = self.readable(path.as_ref())?;
        self.opened(at).await
    }
    async fn opened(&self, at: &Location) -> Result<Box<dyn FileReader>, ToolError> {
        let reader = self.port().open(at).await?;
        Ok(Box::new(CallReader { reader, call: self.cx.cancellation().clone() }))
    }
    /// Opens the file that a planned write replaces, to show the user what changes. An unreadable file is not opened, and the
    /// content must not reach the model: reading was not planned.
    pub async fn open_replaced(&self, path: impl AsRef<Path>) -> Result<Box<dyn FileReader>, ToolError> {
        let at = self.planned("look at", path.as_ref(), Plan::writable)?;
        match at.no_read() {
            Some(why) => Err(ToolError::denied(why.to_owned())),
            None => self.opened(at).await,
        }
    }
    /// Writes a file atomically, and keeps its pre-image.
    pub async fn write(&self, path: impl AsRef<Path>, content: Vec<u8>, mode: WriteMode) -> Result<WriteOutcome, ToolError> {
        let at = self.writable(path.as_ref())?;
        self.port().write(at, content, mode, &**self.cx.journal()).await
    }
    /// Writes a file as [`write`](Self::write) does, unless it was changed since it had this fingerprint.
    pub async fn replace(&self, path: impl AsRef<Path>, content: Vec<u8>, expected: Option<&str>) -> Result<WriteOutcome, ToolError> {
        let at = self.writable(path.as_ref())?;
        self.port().replace(at, content, expected, &**self.cx.journal()).await
    }
    /// Writes a new file that takes the place of another one, which is to be removed: it gets the permissions of that one.
    pub async fn succeed(&self, path: impl AsRef<Path>, other: impl AsRef<Path>, content: Vec<u8>) -> Result<WriteOutcome, ToolError> {
        let (at, other) = (self.writable(path.as_ref())?, self.deletable(other.as_ref())?);
        self.port().succeed(at, other, content, &**self.cx.journal()).await
    }
    /// SHA-256 of a file's content as hex; `None` if there is no file.
    pub async fn fingerprint(&self, path: impl AsRef<Path>) -> Result<Option<String>, ToolError> {
        let at = self.readable(path.as_ref())?;
        self.port().fingerprint(at).await
    }
    /// SHA-256 of content that was read or is to be written, as hex.
    pub async fn fingerprint_of(&self, content: impl AsRef<[u8]> + Send + 'static) -> Result<String, ToolError> {
        self.port().fingerprint_of(Box::new(std::io::Cursor::new(content))).await
    }
    /// Visits the readable entries of a tree. Of a directory that was planned as one file, the visitor sees the names in it
    /// alone: no deeper entries, and no content.
    pub async fn walk(
        &self,
        path: impl AsRef<Path>,
        options: TreeOptions,
        visitor: Arc<dyn TreeVisitor>,
    ) -> Result<WalkSummary, ToolError> {
        alive(self.cx)?;
        let (path, plan) = (path.as_ref(), self.cx.plan());
        match (plan.walkable(path), plan.readable(path)) {
            (Some(at), _) => self.port().walk(at, options, visitor).await,
            (None, Some(at)) if options.depth.is_some_and(|depth| depth <= 1) => {
                self.port().walk(at, options, Arc::new(NamesOnly(visitor))).await
            }
            _ => Err(unplanned("walk through", &path.to_string_lossy())),
        }
    }
    /// Removes a file, and keeps its pre-image.
    pub async fn delete(&self, path: impl AsRef<Path>) -> Result<(), ToolError> {
        let at = self.deletable(path.as_ref())?;
        self.port().delete(at, &**self.cx.journal()).await
    }
    /// Removes a link that was planned as such, and keeps its pre-image.
    pub async fn delete_link(&self, path: impl AsRef<Path>) -> Result<(), ToolError> {
        let at = self.deletable(path.as_ref())?;
        self.port().delete_link(at, &**self.cx.journal()).await
    }
    /// Makes a link as another one, which is to be removed.
    pub async fn copy_link(&self, from: impl AsRef<Path>, to: impl AsRef<Path>) -> Result<(), ToolError> {
        let (from, to) = (self.deletable(from.as_ref())?, self.writable(to.as_ref())?);
        self.port().copy_link(from, to, &**self.cx.journal()).await
    }
    /// Whether reading a path was planned.
    pub fn is_read(&self, path: impl AsRef<Path>) -> bool {
        self.cx.plan().readable(path.as_ref()).is_some()
    }
    /// Whether a link is to be removed itself: what was planned to be removed is not what the path leads to.
    pub fn is_link(&self, path: impl AsRef<Path>) -> bool {
        let (path, plan) = (path.as_ref(), self.cx.plan());
        plan.deletable(path).is_some_and(|at| Some(at.path()) != plan.readable(path).map(Location::path))
    }
}

/// The network, as planned.
#[derive(Debug, Clone, Copy)]
pub struct Http<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl Http<'_> {
    /// Sends a request whose connection was planned; redirects go through the session's policy again.
    pub async fn send(&self, request: HttpRequest) -> Result<HttpResponse, ToolError> {
        alive(self.cx)?;
        let client = self.cx.host().http();
        let wanted = client.locate(&request.method, &request.url)?;
        if !self.cx.plan().permits_connect(&wanted) {
            return Err(unplanned("connect to", &format!("{} {}:{}", wanted.method, wanted.host, wanted.port)));
        }
        let response = client.send(request, self).await?;
        let body = Box::new(CallBody { body: response.body, call: self.cx.cancellation().clone() });
        Ok(HttpResponse { body, ..response })
    }
}

impl RedirectCheck for Http<'_> {
    fn check(&self, hop: &Connect) -> Result<(), ToolError> {
        alive(self.cx)?;
        if self.cx.plan().permits_connect(hop) {
            return Ok(());
        }
        self.cx.gate().allows(self.cx.call(), &Effect::Connect(hop.clone()))
    }
    fn session(&self) -> Option<&str> {
        Some(&self.cx.call().session)
    }
}

/// Programs, as planned.
#[derive(Debug, Clone, Copy)]
pub struct Processes<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl Processes<'_> {
    /// Runs a planned program to its end.
    pub async fn run(&self, command: CommandSpec) -> Result<ProcessOutput, ToolError> {
        alive(self.cx)?;
        let named = command.environment.iter().all(|(name, _)| command.exec.environment.contains(name));
        if !named || !self.cx.plan().permits_exec(&command.exec) {
            return Err(unplanned("run", &Effect::Exec(command.exec).target()));
        }
        self.cx.host().processes().run(command, self.cx.cancellation().clone()).await
    }
    /// Runs a helper process on data that may be hostile; it reaches nothing, so nothing is planned.
    pub async fn run_helper(&self, name: &'static str, input: Vec<u8>, limits: HelperLimits) -> Result<HelperOutput, ToolError> {
        alive(self.cx)?;
        self.cx.host().processes().run_helper(name, input, limits, self.cx.cancellation().clone()).await
    }
    /// Starts the planned command, for the session of this call. What it changes directly is not rolled back if the call fails:
    /// it can be undone.
    pub async fn start(&self, options: JobOptions) -> Result<JobHandle, ToolError> {
        alive(self.cx)?;
        let command = self.cx.plan().planned_command().ok_or_else(|| unplanned("run", "a command"))?;
        if command.change_mode() == ChangeMode::Direct && !command.is_read_only() && !options.serves_calls {
            self.prepare_direct_changes(command).await;
        }
        let journal = (!options.serves_calls).then(|| Arc::clone(self.cx.journal()));
        let options = JobOptions { session: self.session().to_owned(), journal, egress: self.cx.egress(), ..options };
        let job = self.cx.host().processes().start(command, options).await?;
        Ok(JobHandle::started(job, command.shell().clone(), self.session().to_owned(), self.cx.cancellation().clone()))
    }
    /// Outside the sandbox a command can change anything, and no checkpoint covers that: the record says so before it runs.
    async fn prepare_direct_changes(&self, command: &ShellCommand) {
        self.cx.journal().finalize();
        if !command.shell().host.is_sandboxed() {
            let unknown = vec![PreImage::unknown(command.directory().to_owned())];
            // On a full disk the command may be what frees it; that it was begun is recorded already.
            self.cx.journal().keep_all(unknown).await.ok();
        }
    }
    /// A job that an earlier call started with the program that this one plans.
    pub fn resume(&self, job: &JobHandle) -> Result<JobHandle, ToolError> {
        alive(self.cx)?;
        let program = self.cx.plan().planned_command().map(ShellCommand::shell);
        let resumed = program.and_then(|program| job.resume(program, self.session(), self.cx.cancellation().clone()));
        resumed.ok_or_else(|| unplanned("use", "a job"))
    }
    /// Runs some work of a job that serves calls, and records what it changes directly meanwhile.
    pub async fn record_changes<T>(&self, work: impl Future<Output = T>) -> Result<(T, Option<DirectChanges>), ToolError> {
        alive(self.cx)?;
        let command = self.cx.plan().planned_command().ok_or_else(|| unplanned("run", "a command"))?;
        if command.change_mode() != ChangeMode::Direct || command.is_read_only() {
            return Ok((work.await, None));
        }
        self.prepare_direct_changes(command).await;
        let recorder = self.cx.host().processes().checkpoint(command, Arc::clone(self.cx.journal())).await;
        let done = work.await;
        let changes = match recorder {
            Some(recorder) => Some(recorder.finish().await),
            None => None,
        };
        Ok((done, changes))
    }
    /// Lets a job continue after this call, under the name that the result has, and records its direct changes so far.
    pub async fn keep(&self, job: JobHandle) -> Result<(JobHandle, Option<DirectChanges>), ToolError> {
        alive(self.cx)?;
        let job = job.into_kept()?;
        if let Some(applier) = self.late_applier() {
            job.apply_at_end(applier).await;
        }
        let changes = job.record_changes().await;
        let job = self.cx.host().processes().keep(job).await;
        Ok((JobHandle::planned(job, JobAccess::Read, self.cx.cancellation().clone()), changes))
    }
    /// Whether a call waits for the exit of its command by default.
    pub fn waits_for_exit(&self) -> bool {
        self.cx.host().processes().waits_for_exit()
    }
    /// The kept jobs of this session, oldest first.
    pub fn jobs(&self) -> Result<Vec<JobStatus>, ToolError> {
        alive(self.cx)?;
        if !self.cx.plan().permits_job_list() {
            return Err(unplanned("list", "the jobs of the session"));
        }
        Ok(self.cx.host().processes().jobs(self.session()).iter().map(|job| job.status()).collect())
    }
    /// A planned job of this session; `None` if it is gone.
    pub fn job(&self, id: &str) -> Result<Option<JobHandle>, ToolError> {
        alive(self.cx)?;
        let access = self.cx.plan().job_access(id).ok_or_else(|| unplanned("use job", id))?;
        let jobs = self.cx.host().processes().jobs(self.session());
        let job = jobs.into_iter().find(|job| job.status().id == id);
        Ok(job.map(|job| JobHandle::planned(job, access, self.cx.cancellation().clone())))
    }
    /// Removes a planned job of this session; one that still runs is ended.
    pub async fn forget(&self, id: &str) -> Result<(), ToolError> {
        alive(self.cx)?;
        if self.cx.plan().job_access(id) != Some(JobAccess::End) {
            return Err(unplanned("forget job", id));
        }
        self.cx.host().processes().forget(self.session(), id).await;
        Ok(())
    }
    pub(crate) fn session(&self) -> &str {
        &self.cx.call().session
    }
}

/// Notices, as planned.
#[derive(Debug, Clone, Copy)]
pub struct Notices<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl Notices<'_> {
    /// The channel a plan names for notices.
    pub const CHANNEL: &'static str = "desktop";

    /// Shows a planned notice, and says where it went.
    pub async fn notify(&self, notice: Notice) -> Result<String, ToolError> {
        alive(self.cx)?;
        if !self.cx.plan().permits_send(Self::CHANNEL, &notice.recipient) {
            return Err(unplanned("notify", &notice.recipient));
        }
        self.cx.host().notifier().notify(notice).await
    }
}

/// The time and the machine's facts.
#[derive(Clone, Copy)]
pub struct Clocks<'a> {
    pub(crate) host: &'a dyn Host,
}

crate::opaque_debug!(Clocks<'_>);

impl Clocks<'_> {
    /// Now.
    pub fn now(&self) -> SystemTime {
        self.host.clock().now()
    }
    /// The IANA name of the machine's time zone; `None` if it has none or is not known.
    pub fn time_zone(&self) -> Option<String> {
        self.host.clock().time_zone()
    }
    /// How far the machine's zone is from UTC at a moment; `None` if it is not known.
    pub fn offset(&self, at: SystemTime) -> Option<LocalOffset> {
        self.host.clock().offset(at)
    }
    /// Facts about the machine.
    pub async fn system(&self) -> SystemFacts {
        self.host.system().facts().await
    }
}

/// Spills: output that is too large for the model.
#[derive(Debug, Clone, Copy)]
pub struct Spills<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl Spills<'_> {
    /// Opens a spill. It is redacted, private to the user, and readable with `read_file`.
    pub async fn create(&self, extension: &'static str) -> Result<Box<dyn SpillWriter>, ToolError> {
        alive(self.cx)?;
        self.cx.journal().spill(extension).await
    }
}
