//! Moves the output of a job into its buffer and its spill, and standard error to its own receiver where that is wanted.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use haft_contract::{SpillFile, SpillWriter};
use tokio::io::AsyncReadExt;
use tokio::net::unix::pipe;

use crate::job::JobShared;
use crate::output::{CwdTracker, OutputBuffer};
use crate::run::DRAIN_TIME;

const CHUNK_BYTES: usize = 64 * 1024;
/// Output up to this size is shown whole, and needs no spill.
const MIN_SPILL_BYTES: u64 = 16 * 1024;

/// Moves the output of a job into its buffer and its spill.
pub(crate) struct OutputPump {
    shared: Arc<JobShared>,
    stream: pipe::Receiver,
    spill: Option<Box<dyn SpillWriter>>,
    cwd_tracker: Option<CwdTracker>,
    errors: Option<ErrorPump>,
    open: bool,
}

/// Moves standard error to its receiver. The beginning and the end stay in memory: they tell why a command failed.
pub(crate) struct ErrorPump {
    stream: pipe::Receiver,
    writer: Option<Box<dyn SpillWriter>>,
    buffer: OutputBuffer,
    open: bool,
}

impl ErrorPump {
    pub(crate) fn new(stream: pipe::Receiver, writer: Box<dyn SpillWriter>) -> Self {
        Self { stream, writer: Some(writer), buffer: OutputBuffer::default(), open: true }
    }

    async fn store(&mut self, chunk: &[u8]) {
        self.buffer.push(chunk);
        if let Some(writer) = &mut self.writer
            && writer.write(chunk).await.is_err()
        {
            self.writer = None;
        }
    }

    async fn read_all(&mut self) {
        let mut chunk = vec![0; CHUNK_BYTES];
        while let Ok(count @ 1..) = self.stream.read(&mut chunk).await {
            self.store(&chunk[..count]).await;
        }
    }
}

/// Which stream a chunk came from.
enum PumpedStream {
    Output,
    Errors,
}

impl OutputPump {
    pub(crate) fn new(
        shared: Arc<JobShared>,
        stream: pipe::Receiver,
        spill: Option<Box<dyn SpillWriter>>,
        errors: Option<ErrorPump>,
    ) -> Self {
        let cwd_tracker = shared.facts.cwd_sentinel.as_deref().map(CwdTracker::new);
        Self { shared, stream, spill, cwd_tracker, errors, open: true }
    }

    /// Reads output while a future is waited for. The future is polled first: a process left behind may write for ever.
    pub(crate) async fn pump_while<T>(&mut self, future: impl Future<Output = T>) -> T {
        let (mut future, mut chunk, mut error_chunk) = (pin!(future), vec![0; CHUNK_BYTES], Vec::new());
        if self.errors.is_some() {
            error_chunk.resize(CHUNK_BYTES, 0);
        }
        loop {
            let (from, read) = tokio::select! {
                biased;
                done = &mut future => return done,
                read = read_errors(&mut self.errors, &mut error_chunk) => (PumpedStream::Errors, read),
                read = self.stream.read(&mut chunk), if self.open => (PumpedStream::Output, read),
            };
            match (from, read) {
                (PumpedStream::Output, Ok(count @ 1..)) => self.take(&chunk[..count]).await,
                // A program may close its output and continue.
                (PumpedStream::Output, _) => self.open = false,
                (PumpedStream::Errors, read) => self.take_errors(read.ok().and_then(|count| error_chunk.get(..count))).await,
            }
        }
    }

    /// Reads the output that is still in the pipes, for a limited time because their writer may never end.
    pub(crate) async fn drain(&mut self) {
        let mut errors = self.errors.take();
        let output = async {
            let mut chunk = vec![0; CHUNK_BYTES];
            while let Ok(count @ 1..) = self.stream.read(&mut chunk).await {
                self.take(&chunk[..count]).await;
            }
        };
        let closed = async {
            match &mut errors {
                Some(errors) => drop(tokio::join!(output, errors.read_all())),
                None => output.await,
            }
        };
        drop(tokio::time::timeout(DRAIN_TIME, closed).await);
        self.errors = errors;
    }

    async fn take(&mut self, chunk: &[u8]) {
        match self.cwd_tracker.as_mut().map(|tracker| tracker.filter(chunk)) {
            None => self.store(chunk).await,
            Some(output) if output.is_empty() => {}
            Some(output) => self.store(&output).await,
        }
    }

    /// Adds a chunk to standard error; an empty one, or none, ends it.
    async fn take_errors(&mut self, chunk: Option<&[u8]>) {
        let Some(errors) = &mut self.errors else { return };
        match chunk {
            Some(chunk) if !chunk.is_empty() => errors.store(chunk).await,
            _ => errors.open = false,
        }
    }

    /// Adds a note of ours to standard error where that is separate: a program parses the output.
    pub(crate) async fn note(&mut self, note: &str) {
        let note = format!("[{note}]\n");
        match &mut self.errors {
            Some(errors) => errors.store(note.as_bytes()).await,
            None => self.take(note.as_bytes()).await,
        }
    }

    /// Tells the receiver of standard error that nothing follows.
    pub(crate) async fn finish_errors(&mut self) {
        if let Some(writer) = self.errors.as_mut().and_then(|errors| errors.writer.take()) {
            // It need not keep a file.
            drop(writer.finish().await);
        }
    }

    /// The first bytes of what was written to standard error, or of both streams where they are one.
    pub(crate) fn first_errors(&self) -> Vec<u8> {
        self.errors.as_ref().map_or_else(|| self.shared.state().output.head(), |errors| errors.buffer.head())
    }

    /// The last bytes of the same.
    pub(crate) fn last_errors(&self, most: usize) -> Vec<u8> {
        self.errors.as_ref().map_or_else(|| self.shared.state().output.tail(most), |errors| errors.buffer.tail(most))
    }

    pub(crate) fn is_cut(&self) -> bool {
        self.spill.as_ref().is_some_and(|spill| spill.is_cut())
    }

    pub(crate) async fn finish_cwd_tracking(&mut self) {
        let Some(mut tracker) = self.cwd_tracker.take() else { return };
        self.shared.state().final_cwd = tracker.directory.take();
        self.store(&tracker.take_pending()).await;
    }

    async fn store(&mut self, chunk: &[u8]) {
        if let Some(writer) = &mut self.spill
            && writer.write(chunk).await.is_err()
        {
            // A full disk must not stop the program; the result says that its output is not stored.
            self.spill = None;
        }
        self.shared.state().output.push(chunk);
        self.shared.notify();
    }

    /// The whole output as a file, if it is larger than what is shown, or is read after the call.
    pub(crate) async fn finish_spill(&mut self) -> Option<SpillFile> {
        let writer = self.spill.take()?;
        let total = self.shared.state().output.total();
        let is_needed = total > MIN_SPILL_BYTES || (total > 0 && self.shared.keeps_all_output.load(Ordering::Relaxed));
        if is_needed { writer.finish().await.ok() } else { None }
    }
}

/// Reads standard error where it is a stream of its own; else it waits for ever.
async fn read_errors(errors: &mut Option<ErrorPump>, chunk: &mut [u8]) -> std::io::Result<usize> {
    match errors {
        Some(errors) if errors.open => errors.stream.read(chunk).await,
        _ => std::future::pending().await,
    }
}
