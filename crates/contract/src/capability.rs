//! The machine, narrowed to a call's plan: what was not planned is refused here, whatever the tool's code says.

use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use crate::tree::NamesOnly;
use crate::{
    AsideLimits, CommandSpec, Connect, Effect, ErrorKind, FileInfo, Helped, HopJudge, Host, HttpRequest, HttpResponse, Job, JobOptions,
    LocalOffset, Notice, ProcessOutput, Reader, SpillWriter, SystemFacts, ToolContext, ToolError, TreeOptions, TreeVisitor, Walked,
    WriteMode, Written,
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

impl Files<'_> {
    /// What is at a path.
    pub async fn info(&self, path: impl AsRef<Path>) -> Result<FileInfo, ToolError> {
        alive(self.cx)?;
        let path = path.as_ref();
        let plan = self.cx.plan();
        let at = plan
            .readable(path)
            .or_else(|| plan.writable(path))
            .or_else(|| plan.deletable(path))
            .ok_or_else(|| unplanned("look at", &path.to_string_lossy()))?;
        self.cx.host().files().info(at).await
    }
    /// Opens a file for reading.
    pub async fn open(&self, path: impl AsRef<Path>) -> Result<Box<dyn Reader>, ToolError> {
        alive(self.cx)?;
        let path = path.as_ref();
        let at = self.cx.plan().readable(path).ok_or_else(|| unplanned("read", &path.to_string_lossy()))?;
        self.cx.host().files().open(at).await
    }
    /// Opens what a planned write is about to replace, to tell people what it changes. What may not be read is not opened, and
    /// what is seen here must not reach the model: reading was not planned.
    pub async fn open_replaced(&self, path: impl AsRef<Path>) -> Result<Box<dyn Reader>, ToolError> {
        alive(self.cx)?;
        let path = path.as_ref();
        let at = self.cx.plan().writable(path).ok_or_else(|| unplanned("look at", &path.to_string_lossy()))?;
        match at.no_read() {
            Some(why) => Err(ToolError::denied(why.to_owned())),
            None => self.cx.host().files().open(at).await,
        }
    }
    /// Writes a file: atomically, with its pre-image kept.
    pub async fn write(&self, path: impl AsRef<Path>, content: Vec<u8>, mode: WriteMode) -> Result<Written, ToolError> {
        alive(self.cx)?;
        let path = path.as_ref();
        let at = self.cx.plan().writable(path).ok_or_else(|| unplanned("write", &path.to_string_lossy()))?;
        self.cx.host().files().write(at, content, mode, self.cx.journal()).await
    }
    /// Writes a file as [`write`](Self::write) does, unless it was changed since it had this fingerprint.
    pub async fn replace(&self, path: impl AsRef<Path>, content: Vec<u8>, expected: Option<&str>) -> Result<Written, ToolError> {
        alive(self.cx)?;
        let path = path.as_ref();
        let at = self.cx.plan().writable(path).ok_or_else(|| unplanned("write", &path.to_string_lossy()))?;
        self.cx.host().files().replace(at, content, expected, self.cx.journal()).await
    }
    /// Writes a file where nothing is yet, as the new place of another one that is to be removed: it gets that one's permissions.
    pub async fn succeed(&self, path: impl AsRef<Path>, other: impl AsRef<Path>, content: Vec<u8>) -> Result<Written, ToolError> {
        alive(self.cx)?;
        let (path, other) = (path.as_ref(), other.as_ref());
        let at = self.cx.plan().writable(path).ok_or_else(|| unplanned("write", &path.to_string_lossy()))?;
        let other = self.cx.plan().deletable(other).ok_or_else(|| unplanned("remove", &other.to_string_lossy()))?;
        self.cx.host().files().succeed(at, other, content, self.cx.journal()).await
    }
    /// SHA-256 of a file's content as hex; `None` if there is no file.
    pub async fn fingerprint(&self, path: impl AsRef<Path>) -> Result<Option<String>, ToolError> {
        alive(self.cx)?;
        let path = path.as_ref();
        let at = self.cx.plan().readable(path).ok_or_else(|| unplanned("read", &path.to_string_lossy()))?;
        self.cx.host().files().fingerprint(at).await
    }
    /// SHA-256 of content that was read or is to be written, as hex.
    pub async fn fingerprint_of(&self, content: impl AsRef<[u8]> + Send + 'static) -> Result<String, ToolError> {
        self.cx.host().files().fingerprint_of(Box::new(std::io::Cursor::new(content))).await
    }
    /// Visits what is in a tree, and may be read. Of a directory that was planned as one file, only the names in it: no
    /// deeper, and without a way to open them.
    pub async fn walk(&self, path: impl AsRef<Path>, options: TreeOptions, visitor: Arc<dyn TreeVisitor>) -> Result<Walked, ToolError> {
        alive(self.cx)?;
        let (path, plan, files) = (path.as_ref(), self.cx.plan(), self.cx.host().files());
        match (plan.walkable(path), plan.readable(path)) {
            (Some(at), _) => files.walk(at, options, visitor).await,
            (None, Some(at)) if options.depth.is_some_and(|depth| depth <= 1) => {
                files.walk(at, options, Arc::new(NamesOnly(visitor))).await
            }
            _ => Err(unplanned("walk through", &path.to_string_lossy())),
        }
    }
    /// Removes a file, with its pre-image kept.
    pub async fn delete(&self, path: impl AsRef<Path>) -> Result<(), ToolError> {
        alive(self.cx)?;
        let path = path.as_ref();
        let at = self.cx.plan().deletable(path).ok_or_else(|| unplanned("remove", &path.to_string_lossy()))?;
        self.cx.host().files().delete(at, self.cx.journal()).await
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

impl HopJudge for Http<'_> {
    fn judge(&self, hop: &Connect) -> Result<(), ToolError> {
        alive(self.cx)?;
        if self.cx.plan().permits_connect(hop) {
            return Ok(());
        }
        self.cx.gate().allows(self.cx.call(), &Effect::Connect(hop.clone()))
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
    /// Runs a stage of this very program on data that may be hostile; it reaches nothing, so nothing is planned.
    pub async fn aside(&self, stage: &'static str, input: Vec<u8>, limits: AsideLimits) -> Result<Helped, ToolError> {
        alive(self.cx)?;
        self.cx.host().processes().aside(stage, input, limits, self.cx.cancellation().clone()).await
    }
    /// Starts the line that was planned, for the session of this call.
    pub async fn start(&self, options: JobOptions) -> Result<Arc<dyn Job>, ToolError> {
        alive(self.cx)?;
        let line = self.cx.plan().planned_line().ok_or_else(|| unplanned("run", "a line of shell"))?;
        let options = JobOptions { session: self.session().to_owned(), ..options };
        self.cx.host().processes().start(line, options).await
    }
    /// Lets a job go on after this call, under the name that the answer has.
    pub async fn keep(&self, job: Arc<dyn Job>) -> Arc<dyn Job> {
        self.cx.host().processes().keep(job).await
    }
    /// Whether a line is waited for to its end unless the call says otherwise.
    pub fn waits(&self) -> bool {
        self.cx.host().processes().waits()
    }
    /// The jobs that this session kept, oldest first. They were judged when they were started.
    pub fn jobs(&self) -> Vec<Arc<dyn Job>> {
        self.cx.host().processes().jobs(self.session())
    }
    /// Forgets a job of this session; one that still runs is ended.
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

impl std::fmt::Debug for Clocks<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clocks")
    }
}

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

/// A place for output that is too large for the model.
#[derive(Debug, Clone, Copy)]
pub struct Spills<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl Spills<'_> {
    /// Opens one. What is written is redacted, private to the person, and readable with `read_file`.
    pub async fn create(&self, extension: &'static str) -> Result<Box<dyn SpillWriter>, ToolError> {
        alive(self.cx)?;
        self.cx.journal().spill(extension).await
    }
}
