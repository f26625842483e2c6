//! Commands in the background that still run when their conversation ends: they end with it, and the user is told.

use std::time::Duration;

use haft_contract::{Job, JobStatus, RunEffects};
use haft_engine::Session;
use haft_text::display;
use haft_text::numbers::count;

use crate::output::warn;

/// How long the end of a command is waited for.
const PATIENCE: Duration = Duration::from_secs(10);
/// How many characters of a command are shown.
const SHOWN_CHARACTERS: usize = 60;

/// Ends the commands of a session that still run, and says what becomes of each.
pub(crate) async fn end_jobs(session: &Session) {
    for job in session.host().processes().jobs(session.id()) {
        if job.status().end.is_none() {
            end_job(&*job).await;
        }
    }
}

async fn end_job(job: &dyn Job) {
    let ending = async {
        job.kill().await;
        job.wait().await;
    };
    // One that does not end within this time ends with the process.
    let _ = tokio::time::timeout(PATIENCE, ending).await;
    warn(&sentence(&job.status(), job.run_effects().as_deref()));
}

fn sentence(status: &JobStatus, effects: Option<&RunEffects>) -> String {
    let command = display::shorten(status.command.trim(), SHOWN_CHARACTERS);
    let ended = format!("the command in the background '{}' was ended with the conversation: {command}.", status.id);
    match effects.and_then(|effects| effects.changes.as_ref()) {
        Some(Ok(set)) if !set.changes.is_empty() => {
            let (were, them) = if set.changes.len() == 1 { ("was", "it") } else { ("were", "them") };
            let (changes, id) = (count(set.changes.len(), "staged change"), &set.id);
            format!("{ended} Its {changes} {were} not applied: `haft call exec --commit {id}` applies {them}.")
        }
        Some(Err(why)) => format!("{ended} Its staged changes are lost: {why}"),
        _ => ended,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::time::SystemTime;

    use haft_contract::{ChangeKind, ChangeSet, EntryKind, ExecHost, FileChange};

    use super::*;

    fn effects(paths: &[&str]) -> RunEffects {
        let change = |path: &&str| FileChange {
            path: path.into(),
            kind: ChangeKind::Created,
            entry: EntryKind::File,
            size: 0,
            mode: None,
            mode_before: None,
            target: None,
            before: None,
            hidden: false,
            is_checked: false,
        };
        let set = ChangeSet {
            id: "chg-1".into(),
            session: "s".into(),
            workspace: "/w".into(),
            command: "make".into(),
            made: SystemTime::UNIX_EPOCH,
            changes: paths.iter().map(change).collect(),
            refused: None,
        };
        RunEffects { changes: Some(Ok(Arc::new(set))), ..RunEffects::default() }
    }

    #[test]
    fn end_of_a_job_says_what_becomes_of_its_changes() {
        let status = JobStatus {
            id: "job-1".into(),
            session: "s".into(),
            command: "make all\n".into(),
            directory: "/w".into(),
            host: ExecHost::Sandbox,
            sandbox: "bubblewrap".into(),
            pid: None,
            started: SystemTime::UNIX_EPOCH,
            end: None,
            bytes: 0,
            kept_from: 0,
        };
        let ended = "the command in the background 'job-1' was ended with the conversation: make all.";
        let lost = RunEffects { changes: Some(Err("the disk is full".into())), ..RunEffects::default() };
        let commits = "`haft call exec --commit chg-1` applies";
        for (effects, rest) in [
            (None, String::new()),
            (Some(RunEffects::default()), String::new()),
            (Some(effects(&[])), String::new()),
            (Some(effects(&["/w/a"])), format!(" Its 1 staged change was not applied: {commits} it.")),
            (Some(effects(&["/w/a", "/w/b"])), format!(" Its 2 staged changes were not applied: {commits} them.")),
            (Some(lost), " Its staged changes are lost: the disk is full".to_owned()),
        ] {
            assert_eq!(sentence(&status, effects.as_ref()), format!("{ended}{rest}"));
        }
    }
}
