//! Capabilities: the ports, narrowed to the plan of a call. Everything that was not planned is refused here.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::tree::NamesOnly;
use crate::{
    CommandSpec, Connect, Effect, ErrorKind, FileInfo, FileReader, HelperLimits, HelperOutput, HttpRequest, HttpResponse, Job, JobOptions,
    LocalOffset, Location, Notice, Plan, ProcessOutput, SpillWriter, SystemFacts, ToolContext, ToolError, TreeOptions, TreeVisitor,
    WalkSummary, WriteMode, WriteOutcome,
    ports::{FileSystem, Host, RedirectCheck},
};

pub(crate) fn unplanned(what: &str, target: &str) -> ToolError {
    ToolError::denied(format!(
        "The tool tried to {what} '{target}', which its plan does not name. This is a fault of the tool; nothing was done."
    ))
}

/// A context that was kept beyond its call reaches nothing: the locks and the time of the call are gone.
pub(crate) fn alive(cx: &ToolContext) -> Result<(), ToolError> {
    if cx.is_cancelled() {
        return Err(ToolError::new(ErrorKind::Cancelled, "The call has ended, and with it what its tool may do. Nothing was done."));
    }
    Ok(())
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
        self.port().open(at).await
    }
    /// Opens the file that a planned write replaces, to show the user what changes. An unreadable file is not opened, and the
    /// content must not reach the model: reading was not planned.
    pub async fn open_replaced(&self, path: impl AsRef<Path>) -> Result<Box<dyn FileReader>, ToolError> {
        let at = self.planned("look at", path.as_ref(), Plan::writable)?;
        match at.no_read() {
            Some(why) => Err(ToolError::denied(why.to_owned())),
            None => self.port().open(at).await,
        }
    }
    /// Writes a file atomically, and keeps its pre-image.
    pub async fn write(&self, path: impl AsRef<Path>, content: Vec<u8>, mode: WriteMode) -> Result<WriteOutcome, ToolError> {
        let at = self.writable(path.as_ref())?;
        self.port().write(at, content, mode, self.cx.journal()).await
    }
    /// Writes a file as [`write`](Self::write) does, unless it was changed since it had this fingerprint.
    pub async fn replace(&self, path: impl AsRef<Path>, content: Vec<u8>, expected: Option<&str>) -> Result<WriteOutcome, ToolError> {
        let at = self.writable(path.as_ref())?;
        self.port().replace(at, content, expected, self.cx.journal()).await
    }
    /// Writes a new file that takes the place of another one, which is to be removed: it gets the permissions of that one.
    pub async fn succeed(&self, path: impl AsRef<Path>, other: impl AsRef<Path>, content: Vec<u8>) -> Result<WriteOutcome, ToolError> {
        let (at, other) = (self.writable(path.as_ref())?, self.deletable(other.as_ref())?);
        self.port().succeed(at, other, content, self.cx.journal()).await
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
        self.port().delete(at, self.cx.journal()).await
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
        client.send(request, self).await
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
    /// Starts the planned command, for the session of this call.
    pub async fn start(&self, options: JobOptions) -> Result<Arc<dyn Job>, ToolError> {
        alive(self.cx)?;
        let command = self.cx.plan().planned_command().ok_or_else(|| unplanned("run", "a command"))?;
        let options = JobOptions { session: self.session().to_owned(), egress: self.cx.egress(), ..options };
        self.cx.host().processes().start(command, options).await
    }
    /// Lets a job continue after this call, under the name that the result has.
    pub async fn keep(&self, job: Arc<dyn Job>) -> Arc<dyn Job> {
        self.cx.host().processes().keep(job).await
    }
    /// Whether a call waits for the exit of its command by default.
    pub fn waits_for_exit(&self) -> bool {
        self.cx.host().processes().waits_for_exit()
    }
    /// The kept jobs of this session, oldest first. The policy permitted them when they were started.
    pub fn jobs(&self) -> Vec<Arc<dyn Job>> {
        self.cx.host().processes().jobs(self.session())
    }
    /// Removes a job of this session; one that still runs is ended.
    pub async fn forget(&self, id: &str) {
        self.cx.host().processes().forget(self.session(), id).await;
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
