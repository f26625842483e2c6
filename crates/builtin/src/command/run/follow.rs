//! Waiting for a command, and reporting its output as progress.

use std::convert::Infallible;
use std::time::Duration;

use haft_contract::{ErrorKind, Job, Progress, ToolContext, ToolError};
use serde_json::json;

use super::super::excerpt::tail;

/// Between two updates; five a second are enough to look alive.
const PAUSE: Duration = Duration::from_millis(200);
/// How much of the output an update shows, in bytes.
const TAIL: usize = 2_000;

/// Waits for the end of a job, at most this long; returns whether it has ended.
pub(super) async fn wait_for_end(job: &dyn Job, patience: Option<Duration>, cx: &ToolContext) -> Result<bool, ToolError> {
    tokio::select! {
        biased;
        () = cx.cancelled() => {
            job.kill().await;
            Err(ToolError::new(ErrorKind::Cancelled, "The call was cancelled, and its command ended. It may have had effects: check before you repeat it."))
        }
        _ = job.wait() => Ok(true),
        () = elapse(job, patience) => Ok(job.status().end.is_some()),
        never = report_progress(job, cx) => match never {},
    }
}

async fn elapse(job: &dyn Job, patience: Option<Duration>) {
    match patience {
        Some(patience) => job.elapse(patience).await,
        None => std::future::pending().await,
    }
}

async fn report_progress(job: &dyn Job, cx: &ToolContext) -> Infallible {
    let mut seen = 0;
    loop {
        job.wait_for_output(seen).await;
        let bytes = job.status().bytes;
        if bytes > seen {
            cx.progress(update(job, bytes));
            seen = bytes;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The last line as a message; more lines in the details.
fn update(job: &dyn Job, bytes: u64) -> Progress {
    let tail = tail(job, TAIL);
    let mut progress = Progress::message(tail.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default());
    progress.details = Some(json!({"tail": tail, "output_bytes": bytes}));
    progress
}
