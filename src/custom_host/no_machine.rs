//! A machine that has nothing but the time. Every refusal names the method that gives the part.

use std::io::Read;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::ports::{
    Clock, FileInfo, FileReader, FileSystem, Host, HttpClient, Journal, Notifier, PreImage, ProcessRunner, RedirectCheck, SystemProbe,
    WriteMode, WriteOutcome,
};
use haft_contract::{
    BoxFuture, CommandSpec, Connect, HttpRequest, HttpResponse, LocalOffset, Location, Notice, ProcessOutput, SystemFacts, ToolError,
    TreeOptions, TreeVisitor, WalkSummary,
};

/// The machine.
#[derive(Debug, Clone, Copy)]
pub(crate) struct NoMachine;

fn no_files() -> ToolError {
    ToolError::execution("This program gives its tools no files: `ToolboxBuilder::workspace` or `ToolboxBuilder::files` does.")
}

fn no_network() -> ToolError {
    ToolError::execution("This program gives its tools no network: `ToolboxBuilder::workspace` or `ToolboxBuilder::http` does.")
}

fn refuse<'a, T: Send + 'a>(error: ToolError) -> BoxFuture<'a, Result<T, ToolError>> {
    Box::pin(std::future::ready(Err(error)))
}

impl FileSystem for NoMachine {
    fn locate(&self, _: &Path) -> Result<Location, ToolError> {
        Err(no_files())
    }
    fn info<'a>(&'a self, _: &'a Location) -> BoxFuture<'a, Result<FileInfo, ToolError>> {
        refuse(no_files())
    }
    fn open<'a>(&'a self, _: &'a Location) -> BoxFuture<'a, Result<Box<dyn FileReader>, ToolError>> {
        refuse(no_files())
    }
    fn write<'a>(
        &'a self,
        _: &'a Location,
        _: Vec<u8>,
        _: WriteMode,
        _: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<WriteOutcome, ToolError>> {
        refuse(no_files())
    }
    fn replace<'a>(
        &'a self,
        _: &'a Location,
        _: Vec<u8>,
        _: Option<&'a str>,
        _: &'a dyn Journal,
    ) -> BoxFuture<'a, Result<WriteOutcome, ToolError>> {
        refuse(no_files())
    }
    fn delete<'a>(&'a self, _: &'a Location, _: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        refuse(no_files())
    }
    fn walk<'a>(&'a self, _: &'a Location, _: TreeOptions, _: Arc<dyn TreeVisitor>) -> BoxFuture<'a, Result<WalkSummary, ToolError>> {
        refuse(no_files())
    }
    fn fingerprint<'a>(&'a self, _: &'a Location) -> BoxFuture<'a, Result<Option<String>, ToolError>> {
        refuse(no_files())
    }
    fn fingerprint_of(&self, _: Box<dyn Read + Send>) -> BoxFuture<'_, Result<String, ToolError>> {
        refuse(no_files())
    }
    fn restore<'a>(&'a self, _: &'a Location, _: PreImage, _: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
        refuse(no_files())
    }
}

impl HttpClient for NoMachine {
    fn locate(&self, _: &str, _: &str) -> Result<Connect, ToolError> {
        Err(no_network())
    }
    fn send<'a>(&'a self, _: HttpRequest, _: &'a dyn RedirectCheck) -> BoxFuture<'a, Result<HttpResponse, ToolError>> {
        refuse(no_network())
    }
}

impl ProcessRunner for NoMachine {
    fn run(&self, _: CommandSpec, _: tokio_util::sync::CancellationToken) -> BoxFuture<'_, Result<ProcessOutput, ToolError>> {
        refuse(ToolError::execution("This program gives its tools no commands: the feature `exec` of the crate haft does."))
    }
}

impl Clock for NoMachine {
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
    fn time_zone(&self) -> Option<String> {
        None
    }
    fn offset(&self, _: SystemTime) -> Option<LocalOffset> {
        None
    }
}

impl Notifier for NoMachine {
    fn notify(&self, _: Notice) -> BoxFuture<'_, Result<String, ToolError>> {
        refuse(ToolError::execution("This program shows no notices: `CustomHost::notifier` does."))
    }
}

impl SystemProbe for NoMachine {
    fn facts(&self) -> BoxFuture<'_, SystemFacts> {
        Box::pin(async {
            SystemFacts { os: std::env::consts::OS.into(), architecture: std::env::consts::ARCH.into(), ..SystemFacts::default() }
        })
    }
}

impl Host for NoMachine {
    fn files(&self) -> &dyn FileSystem {
        self
    }
    fn http(&self) -> &dyn HttpClient {
        self
    }
    fn processes(&self) -> &dyn ProcessRunner {
        self
    }
    fn clock(&self) -> &dyn Clock {
        self
    }
    fn notifier(&self) -> &dyn Notifier {
        self
    }
    fn system(&self) -> &dyn SystemProbe {
        self
    }
}
