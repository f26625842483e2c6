//! New output of a job.

use std::time::Duration;

use haft_contract::{Job, ToolContext, ToolOutput};
use serde_json::{Value, json};

use super::positions::{ReadPosition, ReadPositions};
use crate::command::excerpt::OutputExcerpt;
use crate::command::exit::ending;
use crate::command::job_text::{details, left_out, running_time, with_remarks};
use crate::command::run::{counted, direct_details, lost_changes_message, undo_remarks};

/// When to poll again after so many polls without output, in seconds.
const RETRY: [u64; 4] = [5, 10, 30, 60];
/// How long to wait for more output after the first, so that one call returns more than a line.
const GATHER: Duration = Duration::from_millis(200);

/// Waits for new output or for the end, and shows the output.
pub(super) async fn polled(job: &dyn Job, patience: Duration, positions: &ReadPositions, cx: &ToolContext) -> ToolOutput {
    let before = positions.get(&job.status());
    wait_for_output(job, before.bytes, patience).await;
    // The status first: it must not be newer than the output.
    let status = job.status();
    let excerpt = OutputExcerpt::from_job(job, before.bytes);
    let is_empty = excerpt.to == before.bytes;
    let empty = if is_empty { before.empty + 1 } else { 0 };
    positions.set(&status, ReadPosition { bytes: excerpt.to, empty });

    let shown = if is_empty { "(no new output)".to_owned() } else { excerpt.text(&left_out(&excerpt, status.end.as_ref(), cx)) };
    let retry = (status.end.is_none() && is_empty).then(|| RETRY[(empty - 1).min(RETRY.len() - 1)]);
    let state = match (&status.end, retry) {
        (Some(end), _) => ending(end, &status.command),
        (None, None) => format!("Still running, for {}.", running_time(&status, cx.clock().now())),
        (None, Some(seconds)) => {
            let wait = cx.write_parameter("timeout_ms", seconds * 1000);
            format!(
                "Still running, for {}. Ask again in {seconds} s, or wait for output with {wait}.",
                running_time(&status, cx.clock().now())
            )
        }
    };
    let mut facts = details(&status, cx.clock().now());
    facts["new_bytes"] = (excerpt.to - before.bytes).into();
    facts["retry_in_ms"] = retry.map(|seconds| seconds * 1000).into();
    let mut notes = excerpt.notes();
    notes.extend(changes(job, &mut facts));
    ToolOutput::text(with_remarks(format!("{shown}\n\n{state}"), &notes)).with_details(facts)
}

/// The changes of a job that has ended: how to commit staged ones, and what undo does not cover of direct ones.
fn changes(job: &dyn Job, facts: &mut Value) -> Vec<String> {
    let Some(effects) = job.run_effects() else { return Vec::new() };
    if let Some(direct) = &effects.direct {
        facts["changes"] = direct_details(direct);
        return undo_remarks(direct);
    }
    match &effects.changes {
        None => Vec::new(),
        Some(Err(why)) => vec![lost_changes_message(why)],
        Some(Ok(set)) if set.changes.is_empty() => Vec::new(),
        // The end of the output says the same for other processes.
        Some(Ok(set)) if effects.applied.is_some() => {
            let refused = effects.applied.iter().flatten().map(|applied| applied.refused.len()).sum::<usize>();
            let applied = effects.applied.iter().flatten().map(|applied| applied.set.changes.len()).sum::<usize>();
            facts["changes"] = json!({"id": set.id, "applied": applied > 0, "count": set.changes.len(), "refused": refused});
            Vec::new()
        }
        Some(Ok(set)) => {
            facts["changes"] = json!({"id": set.id, "applied": false, "count": set.changes.len()});
            vec![format!("Nothing was changed yet. It would change {}; exec with commit={} does.", counted(set), set.id)]
        }
    }
}

/// Waits for new output, at most this long.
async fn wait_for_output(job: &dyn Job, seen: u64, patience: Duration) {
    let arrived = async {
        job.wait_for_output(seen).await;
        // Its status shows whether it has ended.
        drop(tokio::time::timeout(GATHER, job.wait()).await);
    };
    if !patience.is_zero() {
        // No output is a result as well.
        drop(tokio::time::timeout(patience, arrived).await);
    }
}
