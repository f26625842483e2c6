//! The folder of a session on this worker: where the session has it, a volume of its own, or a clone of a Git remote.
//!
//! One worker has a session at a time, so one has its volume. The settings of a clone lie beside it, where no tool reaches them: what a model
//! writes is never what Git runs.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use haft_store::SessionRecord;
use tokio::process::Command;

use crate::failure::Failure;

/// Where folders of sessions are.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionVolumes {
    pub(super) folder: Option<PathBuf>,
    pub(super) remote: Option<String>,
}

impl SessionVolumes {
    /// The folder of a session, as the last turn left it.
    pub(super) async fn open(&self, record: &SessionRecord) -> Result<PathBuf, Failure> {
        let Some(volumes) = &self.folder else { return existing(&record.workspace) };
        let folder = volumes.join(file_name(&record.id));
        std::fs::create_dir_all(&folder).map_err(|error| failed(&folder, &error.to_string()))?;
        if let Some(remote) = &self.remote {
            update_clone(&folder, record, remote).await?;
        }
        Ok(folder)
    }

    /// Stores what a turn changed: a clone is pushed to the branch of its session.
    pub(super) async fn save(&self, folder: &Path, record: &SessionRecord) -> Result<(), Failure> {
        if self.folder.is_none() || self.remote.is_none() {
            return Ok(());
        }
        git(folder, &["add", "--all"]).await?;
        if git(folder, &["diff", "--cached", "--quiet"]).await.is_ok() {
            return Ok(());
        }
        let message = format!("haft: turn of session {}", record.id);
        let author = ["-c", "user.name=haft", "-c", "user.email=haft@localhost"];
        git(folder, &[&author[..], &["commit", "--quiet", "--no-verify", "-m", &message]].concat()).await?;
        git(folder, &["push", "--quiet", "origin", &format!("HEAD:refs/heads/{}", branch(record))]).await
    }
}

/// Brings the clone to where the session is.
async fn update_clone(folder: &Path, record: &SessionRecord, remote: &str) -> Result<(), Failure> {
    if !git_folder(folder).exists() {
        git(folder, &["init", "--quiet"]).await?;
        git(folder, &["remote", "add", "origin", remote]).await?;
    }
    git(folder, &["fetch", "--quiet", "--no-recurse-submodules", "origin", "+refs/heads/*:refs/remotes/origin/*"]).await?;
    let own = format!("refs/remotes/origin/{}", branch(record));
    let start = if git(folder, &["rev-parse", "--quiet", "--verify", &own]).await.is_ok() {
        own
    } else {
        git(folder, &["remote", "set-head", "origin", "--auto"]).await?;
        "refs/remotes/origin/HEAD".to_owned()
    };
    // What a worker that was lost left here and did not push is not part of the session.
    git(folder, &["checkout", "--quiet", "--force", "-B", &branch(record), &start]).await?;
    git(folder, &["clean", "--quiet", "-ffd"]).await
}

fn branch(record: &SessionRecord) -> String {
    format!("haft/{}", file_name(&record.id))
}

/// An id is of letters and digits; nothing else leads elsewhere.
fn file_name(id: &str) -> String {
    id.chars().map(|ch| if ch.is_ascii_alphanumeric() || ch == '-' { ch } else { '_' }).collect()
}

fn git_folder(folder: &Path) -> PathBuf {
    folder.with_extension("git")
}

async fn git(folder: &Path, words: &[&str]) -> Result<(), Failure> {
    let mut command = Command::new("git");
    command.arg("--git-dir").arg(git_folder(folder)).arg("--work-tree").arg(folder).args(["-c", "core.hooksPath=/dev/null"]).args(words);
    command.current_dir(folder).env("GIT_TERMINAL_PROMPT", "0").stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.map_err(|error| failed(folder, &format!("git cannot be run: {error}")))?;
    if output.status.success() {
        return Ok(());
    }
    let told = String::from_utf8_lossy(&output.stderr);
    let why = told.lines().last().unwrap_or("it says nothing");
    Err(failed(folder, &format!("git {} failed: {why}", words.first().unwrap_or(&""))))
}

fn failed(folder: &Path, why: &str) -> Failure {
    let message = format!("the folder '{}' of the session cannot be used: {why}", folder.display());
    Failure::failed("execution_error", message).help("check --volumes and --git of the worker")
}

/// The folder of a session has to be on this machine.
fn existing(folder: &Path) -> Result<PathBuf, Failure> {
    if folder.is_dir() {
        return Ok(folder.to_owned());
    }
    let message = format!("the folder '{}' of the session is not on this worker", folder.display());
    let help = "mount it at the same path on every worker, or give each session a folder with --volumes DIR, or a clone with --git URL";
    Err(Failure::failed("file_not_found", message).help(help))
}
