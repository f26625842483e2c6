//! Waiting for a line, and showing meanwhile what it writes.

use std::convert::Infallible;
use std::time::Duration;

use haft_contract::{ErrorKind, Job, Progress, ToolContext, ToolError};
use serde_json::json;

use super::super::excerpt::tail;

/// Between two updates; five a second are enough to look alive.
const PAUSE: Duration = Duration::from_millis(200);
/// How much of the output an update shows, in bytes.
const TAIL: usize = 2_000;

/// Waits until the job has ended, and says whether it has within this time, if there is a limit to it.
pub(super) async fn to_its_end(job: &dyn Job, patience: Option<Duration>, cx: &ToolContext) -> Result<bool, ToolError> {
    tokio::select! {
        biased;
        () = cx.cancelled() => {
            job.kill().await;
            Err(ToolError::new(ErrorKind::Cancelled, "The call was cancelled, and its command ended."))
        }
        _ = job.ended() => Ok(true),
        () = sleep(patience) => Ok(job.status().end.is_some()),
        never = shown(job, cx) => match never {},
    }
}

async fn sleep(patience: Option<Duration>) {
    match patience {
        Some(patience) => tokio::time::sleep(patience).await,
        None => std::future::pending().await,
    }
}

async fn shown(job: &dyn Job, cx: &ToolContext) -> Infallible {
    let mut seen = 0;
    loop {
        job.changed(seen).await;
        let bytes = job.status().bytes;
        if bytes > seen {
            cx.progress(update(job, bytes));
            seen = bytes;
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// The last line in words, since a message is one line; more of them for programs.
fn update(job: &dyn Job, bytes: u64) -> Progress {
    let tail = tail(job, TAIL);
    let mut progress = Progress::message(tail.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default());
    progress.details = Some(json!({"tail": tail, "output_bytes": bytes}));
    progress
}
