//! The machine, as capabilities. Tools never see these traits directly: they reach them through a
//! [`ToolContext`](crate::ToolContext), which checks each use against the call's plan first.

use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use crate::{
    BoxFuture, ChangeSets, Connect, EntryKind, ErrorKind, Exec, Job, JobOptions, JobScope, JobStatus, Journal, Line, LineRequest, Location,
    ToolError, TreeOptions, TreeVisitor, Walked,
};

/// Everything a session's tools can reach of the machine.
pub trait Host: Send + Sync {
    /// Files.
    fn files(&self) -> &dyn FileSystem;
    /// The network.
    fn http(&self) -> &dyn HttpClient;
    /// Programs.
    fn processes(&self) -> &dyn ProcessRunner;
    /// The time.
    fn clock(&self) -> &dyn Clock;
    /// Notices to the person.
    fn notifier(&self) -> &dyn Notifier;
    /// Facts about the machine.
    fn system(&self) -> &dyn SystemInfo;
}

/// What a path turned out to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileKind {
    /// An ordinary file.
    File,
    /// A directory.
    Directory,
    /// A pipe, device, socket: never opened.
    Special,
}

/// What is known of a file without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FileInfo {
    /// What it is.
    pub kind: FileKind,
    /// Its size in bytes.
    pub size: u64,
    /// When it was changed last.
    pub modified: Option<SystemTime>,
}

/// How a write treats what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WriteMode {
    /// Replace the file.
    Overwrite,
    /// Add to its end.
    Append,
}

/// What a write did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// Bytes of content that were written.
    pub bytes: u64,
    /// Whether the file is new.
    pub created: bool,
    /// SHA-256 of the whole file as it is now, as hex.
    pub fingerprint: String,
}

/// What a file was before a change, so that the change can be taken back.
pub struct PreImage {
    /// Where the file is.
    pub path: PathBuf,
    /// Its content, or `None` if it did not exist.
    pub content: Option<Box<dyn Read + Send>>,
    /// Its permission bits; with [`LINK`](Self::LINK) or [`DIRECTORY`](Self::DIRECTORY) if it was no file.
    pub mode: Option<u32>,
    /// SHA-256 of what the change leaves behind, as hex; `None` if the change removes the file. Only a file that still is
    /// so can be put back.
    pub after: Option<String>,
    /// Directories the change creates, outermost first.
    pub created_directories: Vec<PathBuf>,
}

impl PreImage {
    /// Among the bits of `mode`: a symbolic link, whose content is where it leads.
    pub const LINK: u32 = 0o12_0000;
    /// Among the bits of `mode`: a directory, which has no content.
    pub const DIRECTORY: u32 = 0o4_0000;
    /// The bits that say what it was.
    pub const KIND: u32 = 0o17_0000;
    /// The bits of a directory's permissions that are kept.
    pub const KEPT: u32 = 0o3777;

    /// The [`state`](FileSystem::state) of what has this mode, and content with this fingerprint.
    pub fn state(mode: Option<u32>, fingerprint: Option<String>) -> Option<String> {
        match mode.map(|mode| mode & Self::KIND) {
            Some(Self::LINK) => fingerprint.map(|fingerprint| format!("link:{fingerprint}")),
            Some(Self::DIRECTORY) => mode.map(|mode| format!("directory:{:04o}", mode & Self::KEPT)),
            _ => fingerprint,
        }
    }
    /// What has this state.
    pub fn kind_of(state: &str) -> EntryKind {
        match state.split_once(':') {
            Some(("link", _)) => EntryKind::Link,
            Some(_) => EntryKind::Directory,
            None => EntryKind::File,
        }
    }
}

impl std::fmt::Debug for PreImage {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PreImage").field("path", &self.path).field("existed", &self.content.is_some()).finish_non_exhaustive()
    }
}

/// Files, resolved beneath open directory handles.
pub trait FileSystem: Send + Sync {
    /// Resolves a path: every link and `..`, so that what is judged is what is opened. Missing parts are fine, and so is a
    /// file where a directory should be: what is there shows when it is opened, not before. Fails only for paths that
    /// cannot be meant (empty, NUL, control bytes, a loop of links).
    fn locate(&self, path: &Path) -> Result<Location, ToolError>;
    /// The same for the path itself, even if it is a link: for whoever makes and removes links. None is followed, and where one is
    /// on the way when it is used, nothing happens.
    fn locate_entry(&self, path: &Path) -> Result<Location, ToolError> {
        self.locate(path)
    }
    /// What is at a location, in a word that is another one whenever it changes: the [`fingerprint`](Self::fingerprint) of a
    /// file, something else of a link and of a directory; `None` if nothing is there.
    fn state<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        self.fingerprint(at)
    }
    /// What is at a location; `file_not_found` if nothing is.
    fn info<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<FileInfo, ToolError>>;
    /// Opens an ordinary file for reading. Directories and special files are refused without blocking.
    fn open<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Box<dyn Reader>, ToolError>>;
    /// Writes atomically, creating parents. The journal has the pre-image before anything changes; if nothing changes after
    /// all, it is withdrawn.
    fn write<'a>(
        &'a self,
        at: &'a Location,
        content: Vec<u8>,
        mode: WriteMode,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<Written, ToolError>>;
    /// As [`write`](Self::write), but only over what still has this fingerprint, or where still nothing is: what was changed
    /// meanwhile is not overwritten.
    fn replace<'a>(
        &'a self,
        at: &'a Location,
        content: Vec<u8>,
        expected: Option<&'a str>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<Written, ToolError>>;
    /// Writes a file where nothing is yet, as the new place of another one: it gets that one's permissions.
    fn succeed<'a>(
        &'a self,
        at: &'a Location,
        other: &'a Location,
        content: Vec<u8>,
        journal: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<Written, ToolError>> {
        let _ = other;
        self.replace(at, content, None, journal)
    }
    /// Removes an ordinary file, with the journal as in [`write`](Self::write).
    fn delete<'a>(&'a self, at: &'a Location, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Visits what is beneath a directory, or a file alone, and may be read. Links are not followed; what may not be read is
    /// passed over. Resolves when no visitor runs any more; dropped, it stops soon.
    fn walk<'a>(
        &'a self,
        at: &'a Location,
        options: TreeOptions,
        visitor: Arc<dyn TreeVisitor>,
    ) -> BoxFuture<'a, Result<Walked, ToolError>>;
    /// SHA-256 of a file's content as hex; `None` if there is no file.
    fn fingerprint<'a>(&'a self, at: &'a Location) -> BoxFuture<'a, Result<Option<String>, ToolError>>;
    /// The same of content that is in no file.
    fn fingerprint_of(&self, content: Box<dyn Read + Send>) -> BoxFuture<'_, Result<String, ToolError>>;
    /// Puts a file back as its pre-image has it, removing created directories that are empty. A file that is not what the
    /// image's `after` says is refused. What is replaced goes to the journal, as in [`write`](Self::write).
    fn restore<'a>(&'a self, at: &'a Location, image: PreImage, journal: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>>;
}

/// An open file. Reads at a position, so that memory does not depend on the file's size.
pub trait Reader: Send + Sync {
    /// The file's size when it was opened.
    fn size(&self) -> u64;
    /// Up to `length` bytes from `offset`; fewer only at the end.
    fn read_at(&self, offset: u64, length: usize) -> BoxFuture<'_, Result<Vec<u8>, ToolError>>;
}

/// A request to send.
#[derive(Debug, Clone)]
pub struct HttpRequest {
    /// The method, in upper case.
    pub method: String,
    /// The URL, as asked for.
    pub url: String,
    /// Headers in order.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Option<Vec<u8>>,
    /// How many redirects may be followed.
    pub redirects: u8,
}

/// A response whose body has not been read yet.
pub struct HttpResponse {
    /// The status code.
    pub status: u16,
    /// The status in words.
    pub reason: String,
    /// Every header, in order; values that are not text are shown lossily.
    pub headers: Vec<(String, String)>,
    /// The URL that answered, after redirects.
    pub url: String,
    /// The URLs that redirected, in order.
    pub redirected_from: Vec<String>,
    /// The body, decompressed, piece by piece.
    pub body: Box<dyn Body>,
}

impl std::fmt::Debug for HttpResponse {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HttpResponse").field("status", &self.status).field("url", &self.url).finish_non_exhaustive()
    }
}

/// A body that arrives in pieces.
pub trait Body: Send {
    /// The next piece, or `None` at the end.
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, ToolError>>;
}

/// Judges a connection that a redirect asks for.
pub trait HopJudge: Send + Sync {
    /// Whether the call may follow it.
    fn judge(&self, hop: &Connect) -> Result<(), ToolError>;
}

/// The network: one client, one address guard.
pub trait HttpClient: Send + Sync {
    /// Parses a URL, once and for all, and says what the guard knows already.
    fn locate(&self, method: &str, url: &str) -> Result<Connect, ToolError>;
    /// Sends a request: resolve, judge, pin, connect; every redirect judged again.
    fn send<'a>(&'a self, request: HttpRequest, judge: &'a dyn HopJudge) -> BoxFuture<'a, Result<HttpResponse, ToolError>>;
}

/// A program to run, and how.
#[derive(Debug, Clone)]
pub struct CommandSpec {
    /// What runs, exactly as planned.
    pub exec: Exec,
    /// Values of the environment variables that the plan names.
    pub environment: Vec<(String, String)>,
    /// Its standard input; nothing by default.
    pub input: Option<Vec<u8>>,
    /// How many bytes of each stream are kept.
    pub output_limit: usize,
    /// How long it may run.
    pub timeout: Duration,
}

/// What a program did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessOutput {
    /// Its exit code, or `None` if a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output, up to the limit.
    pub stdout: Vec<u8>,
    /// Standard error, up to the limit.
    pub stderr: Vec<u8>,
    /// Whether anything was cut.
    pub truncated: bool,
    /// Whether its time was up.
    pub timed_out: bool,
}

/// What a helper may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AsideLimits {
    /// Bytes of memory.
    pub memory: u64,
    /// How long it may run.
    pub time: Duration,
    /// How many bytes of each stream are kept.
    pub output: usize,
}

/// What a helper said, and behind which walls it ran.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Helped {
    /// How it ended.
    pub output: ProcessOutput,
    /// The walls, in words; `none` where the person wants none.
    pub walls: String,
    /// What these walls do not hold, and why no better ones stand; empty where they hold all.
    pub lacks: Vec<String>,
}

/// Runs programs; none outlives its call.
pub trait ProcessRunner: Send + Sync {
    /// Runs one to its end, its timeout, or the cancellation.
    fn run(&self, command: CommandSpec, cancel: CancellationToken) -> BoxFuture<'_, Result<ProcessOutput, ToolError>>;
    /// Runs a stage of this very program on data that may be hostile, as a helper: it sees no files of the session and no
    /// network, and whatever becomes of it is an answer. It needs no plan, because it reaches nothing. Walls that are
    /// required and cannot be had are an error, as they are for a line of shell.
    fn aside(
        &self,
        stage: &'static str,
        input: Vec<u8>,
        limits: AsideLimits,
        cancel: CancellationToken,
    ) -> BoxFuture<'_, Result<Helped, ToolError>> {
        let _ = (stage, input, limits, cancel);
        Box::pin(std::future::ready(Err(ToolError::new(ErrorKind::SandboxUnavailable, "This host starts no helpers."))))
    }
    /// Reads a line of shell: the programs it runs, the files it writes, the hosts it reaches. What cannot be followed is
    /// [`Effect::Unknown`](crate::Effect::Unknown); what is too much to follow is an error.
    fn plan(&self, request: &LineRequest) -> Result<Line, ToolError> {
        let _ = request;
        Err(no_shell())
    }
    /// Starts a planned line. Dropping the last handle of a job that was not kept ends it.
    fn start<'a>(&'a self, line: &'a Line, options: JobOptions) -> BoxFuture<'a, Result<Arc<dyn Job>, ToolError>> {
        let _ = (line, options);
        Box::pin(std::future::ready(Err(no_shell())))
    }
    /// Changes that were kept apart, if this host can.
    fn change_sets(&self) -> Option<&dyn ChangeSets> {
        None
    }
    /// Lets a job go on after its call, under the name that the answer has: it is listed until it is forgotten.
    fn keep(&self, job: Arc<dyn Job>) -> BoxFuture<'_, Arc<dyn Job>> {
        Box::pin(std::future::ready(job))
    }
    /// Finds jobs of this scope that other processes run, or ran, and lists them with those of a session.
    fn adopt<'a>(&'a self, session: &'a str, scope: JobScope) -> BoxFuture<'a, Result<(), ToolError>> {
        let _ = (session, scope);
        Box::pin(std::future::ready(Ok(())))
    }
    /// The kept jobs of a session that have ended since the last time, and whose end nobody was told yet.
    fn notices(&self, session: &str) -> Vec<JobStatus> {
        let _ = session;
        Vec::new()
    }
    /// Whether a line is waited for to its end unless the call says otherwise: there is no later call that could follow it.
    fn waits(&self) -> bool {
        false
    }
    /// The jobs of a session that were kept, oldest first.
    fn jobs(&self, session: &str) -> Vec<Arc<dyn Job>> {
        let _ = session;
        Vec::new()
    }
    /// Forgets a job that was kept; one that still runs is ended.
    fn forget<'a>(&'a self, session: &'a str, id: &'a str) -> BoxFuture<'a, ()> {
        let _ = (session, id);
        Box::pin(std::future::ready(()))
    }
}

fn no_shell() -> ToolError {
    ToolError::new(ErrorKind::SandboxUnavailable, "This host runs no shell lines.")
}

/// The time, injected so that tests can choose it.
pub trait Clock: Send + Sync {
    /// Now.
    fn now(&self) -> SystemTime;
    /// The IANA name of the machine's time zone; `None` if it has none or is not known.
    fn time_zone(&self) -> Option<String>;
    /// How far the machine's zone, named or not, is from UTC at a moment; `None` if it is not known.
    fn offset(&self, at: SystemTime) -> Option<LocalOffset>;
}

/// How far a time zone is from UTC at a moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LocalOffset {
    /// Seconds, positive to the east.
    pub seconds: i32,
    /// What the zone is called then, such as `CET`.
    pub abbreviation: String,
}

/// A notice to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Notice {
    /// What to say.
    pub message: String,
    /// `low`, `normal`, `high` or `critical`.
    pub urgency: String,
    /// For whom.
    pub recipient: String,
}

/// Shows notices.
pub trait Notifier: Send + Sync {
    /// Shows one, and says where it went.
    fn notify(&self, notice: Notice) -> BoxFuture<'_, Result<String, ToolError>>;
}

/// Facts about the machine; what cannot be had is absent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Default)]
pub struct SystemFacts {
    /// The operating system.
    pub os: String,
    /// Its version.
    pub version: Option<String>,
    /// The kernel.
    pub kernel: Option<String>,
    /// The processor architecture.
    pub architecture: String,
    /// The machine's name.
    pub hostname: Option<String>,
    /// Processors that can be used.
    pub processors: usize,
    /// Memory in bytes.
    pub memory_total: Option<u64>,
    /// Memory that is free to use, in bytes.
    pub memory_available: Option<u64>,
    /// Seconds since the machine started.
    pub uptime_seconds: Option<u64>,
}

/// Knows the machine.
pub trait SystemInfo: Send + Sync {
    /// The facts.
    fn facts(&self) -> BoxFuture<'_, SystemFacts>;
}

/// A place for output that is too large for the model.
pub trait SpillWriter: Send {
    /// Adds to it.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Whether it was given more than it may hold, and has the beginning alone.
    fn is_cut(&self) -> bool {
        false
    }
    /// Ends it; only now can it be read.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<SpillFile, ToolError>>;
}

/// A finished spill, readable with `read_file`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpillFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}
