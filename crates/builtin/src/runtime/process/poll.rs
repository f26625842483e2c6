//! What is new of a job's output.

use std::time::Duration;

use haft_contract::{Job, ToolContext, ToolOutput};
use serde_json::{Value, json};

use super::super::excerpt::Excerpt;
use super::super::exit::ending;
use super::super::running::{counted, lost};
use super::super::words::{details, left_out, ran, remarked};
use super::positions::{Position, Positions};

/// When to ask again after so many answers with nothing new, in seconds.
const RETRY: [u64; 4] = [5, 10, 30, 60];
/// How long more output is waited for behind the first, so that one call brings more than a line.
const GATHER: Duration = Duration::from_millis(200);

/// Waits for output that was not shown yet, or for the end, and shows what there is.
pub(super) async fn polled(job: &dyn Job, patience: Duration, positions: &Positions, cx: &ToolContext) -> ToolOutput {
    let before = positions.of(&job.status());
    news(job, before.bytes, patience).await;
    // The end first: what is said of it must not be newer than the output.
    let status = job.status();
    let excerpt = Excerpt::of(job, before.bytes);
    let is_empty = excerpt.to == before.bytes;
    let empty = if is_empty { before.empty + 1 } else { 0 };
    positions.set(&status, Position { bytes: excerpt.to, empty });

    let shown = if is_empty { "(no new output)".to_owned() } else { excerpt.text(&left_out(&excerpt, status.end.as_ref(), cx)) };
    let retry = (status.end.is_none() && is_empty).then(|| RETRY[(empty - 1).min(RETRY.len() - 1)]);
    let state = match (&status.end, retry) {
        (Some(end), _) => ending(end, &status.line),
        (None, None) => format!("Still running, for {}.", ran(&status, cx.clock().now())),
        (None, Some(seconds)) => {
            let wait = cx.written("timeout_ms", seconds * 1000);
            format!("Still running, for {}. Ask again in {seconds} s, or wait for output with {wait}.", ran(&status, cx.clock().now()))
        }
    };
    let mut facts = details(&status, cx.clock().now());
    facts["new_bytes"] = (excerpt.to - before.bytes).into();
    facts["retry_in_ms"] = retry.map(|seconds| seconds * 1000).into();
    let mut notes = excerpt.notes();
    notes.extend(changes(job, &mut facts));
    ToolOutput::text(remarked(format!("{shown}\n\n{state}"), &notes)).with_details(facts)
}

/// What a job that has ended changed where its changes are kept apart, and how to go on.
fn changes(job: &dyn Job, facts: &mut Value) -> Option<String> {
    match job.aftermath()?.changes.as_ref()? {
        Err(why) => Some(lost(why)),
        Ok(set) if set.changes.is_empty() => None,
        Ok(set) => {
            facts["changes"] = json!({"id": set.id, "applied": false, "count": set.changes.len()});
            Some(format!("Nothing was changed yet. It would change {}; exec with commit={} does.", counted(set), set.id))
        }
    }
}

/// Resolves when there is something new, or after this time.
async fn news(job: &dyn Job, seen: u64, patience: Duration) {
    let arrived = async {
        job.changed(seen).await;
        // Whether it ends meanwhile shows in its status.
        drop(tokio::time::timeout(GATHER, job.ended()).await);
    };
    if !patience.is_zero() {
        // That nothing came is an answer as well.
        drop(tokio::time::timeout(patience, arrived).await);
    }
}
