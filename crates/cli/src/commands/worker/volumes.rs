//! The folder of a session on this worker: where the session has it, a volume of its own, or a clone of a Git remote.
//!
//! One worker has a session at a time, so one has its volume. The settings of a clone lie beside it, where no tool reaches them: what a model
//! writes is never what Git runs. Git would also run what the settings of a repository within the folder say, as soon as it compares one that
//! the index names. So it compares none: those of the remote are skipped, and those that a model made are not part of the session.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use haft_store::SessionRecord;
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::failure::Failure;
use crate::wire::Wire;

/// Stands for the name of the tenant in a remote.
const TENANT_PLACE: &str = "{tenant}";
/// What it is for sessions of the operator.
const OPERATORS_NAME: &str = "operator";

/// Where folders of sessions are.
#[derive(Debug, Clone, Default)]
pub(super) struct SessionVolumes {
    pub(super) folder: Option<PathBuf>,
    pub(super) remote: Option<String>,
}

/// The same for each agent, where its settings say something else than the worker's options.
#[derive(Debug, Clone, Default)]
pub(super) struct AgentVolumes {
    usual: SessionVolumes,
    by_agent: HashMap<String, SessionVolumes>,
}

impl AgentVolumes {
    pub(super) fn new(wire: &Wire, usual: SessionVolumes) -> Result<Self, Failure> {
        let remote = usual.remote.as_deref().map(own_remote).transpose()?;
        let usual = SessionVolumes { remote, ..usual };
        if let Some(folder) = &usual.folder {
            // A worker that can use none takes turns from others that can, and each of them fails.
            let made = std::fs::create_dir_all(folder);
            made.map_err(|error| Failure::usage(format!("--volumes cannot be '{}': {error}", folder.display())).help("name a folder"))?;
        }
        let of_agent = |agent: String| Ok((agent.clone(), usual.of_agent(wire, &agent)?));
        let by_agent = wire.agents().into_iter().map(of_agent).collect::<Result<_, Failure>>()?;
        Ok(Self { usual, by_agent })
    }

    pub(super) fn for_agent(&self, agent: &str) -> &SessionVolumes {
        self.by_agent.get(agent).unwrap_or(&self.usual)
    }
}

impl SessionVolumes {
    fn of_agent(&self, wire: &Wire, agent: &str) -> Result<Self, Failure> {
        let text = |name: &str| wire.settings.provenance.value_at(&["agents", agent, "worker", name]).as_text().map(str::to_owned);
        let remote = text("git").map(|remote| own_remote(&remote)).transpose()?.or_else(|| self.remote.clone());
        let missing = |what: &str, help: &str| {
            let message = format!("agents.{agent}.worker.folder needs {what}, which is missing");
            Err(Failure::usage(message).help(help.to_owned()))
        };
        match (text("folder").as_deref(), &self.folder, &remote) {
            (None, ..) => Ok(self.clone()),
            (Some("shared"), ..) => Ok(Self::default()),
            (Some(_), None, _) => missing("a folder for volumes", "start the worker with --volumes DIR"),
            (Some("git"), _, None) => missing("a remote", "set the key git beside it, or start the worker with --git URL"),
            (Some("git"), folder, _) => Ok(Self { folder: folder.clone(), remote }),
            (Some(_), folder, _) => Ok(Self { folder: folder.clone(), remote: None }),
        }
    }

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
        // New ones only: the others are skipped.
        for_nested(folder, Some(b'H'), "--force-remove").await?;
        if git(folder, &["diff", "--cached", "--quiet"]).await.is_ok() {
            return Ok(());
        }
        let message = format!("haft: turn of session {}", record.id);
        let author = ["-c", "user.name=haft", "-c", "user.email=haft@localhost"];
        git(folder, &[&author[..], &["commit", "--quiet", "--no-verify", "-m", &message]].concat()).await?;
        git(folder, &["push", "--quiet", "origin", &format!("HEAD:refs/heads/{}", branch(record))]).await
    }
}

/// The remote of the tenant whose process this is, or of the operator. One remote for several tenants would bring the objects of each to
/// the others.
fn own_remote(remote: &str) -> Result<String, Failure> {
    match crate::tenants::current() {
        Some(tenant) if remote.contains(TENANT_PLACE) => Ok(remote.replace(TENANT_PLACE, &tenant.name())),
        Some(_) => {
            let message = format!("the Git remote of the worker is one for all, and tenants need their own: it has no {TENANT_PLACE}");
            Err(Failure::usage(message).help(format!("start the worker with --git ssh://git.example.org/{TENANT_PLACE}.git")))
        }
        None => Ok(remote.replace(TENANT_PLACE, OPERATORS_NAME)),
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
    } else if git_output(folder, &["for-each-ref", "--count=1", "refs/remotes/origin"], &[]).await?.is_empty() {
        return begin_branch(folder, record).await;
    } else {
        let headless = |failure: Failure| failure.help("the default branch of the remote is missing: push it, or set HEAD of the remote");
        git(folder, &["remote", "set-head", "origin", "--auto"]).await.map_err(headless)?;
        "refs/remotes/origin/HEAD".to_owned()
    };
    // What a worker that was lost left here and did not push is not part of the session.
    git(folder, &["checkout", "--quiet", "--force", "-B", &branch(record), &start]).await?;
    for_nested(folder, None, "--skip-worktree").await?;
    git(folder, &["clean", "--quiet", "-ffd"]).await
}

/// The first branch of a remote that has none.
async fn begin_branch(folder: &Path, record: &SessionRecord) -> Result<(), Failure> {
    git(folder, &["symbolic-ref", "HEAD", &format!("refs/heads/{}", branch(record))]).await?;
    git(folder, &["read-tree", "--empty"]).await?;
    git(folder, &["clean", "--quiet", "-ffd"]).await
}

/// Changes the entries of the index that are repositories of their own: those with this tag, or all.
async fn for_nested(folder: &Path, tag: Option<u8>, change: &str) -> Result<(), Failure> {
    let listed = git_output(folder, &["ls-files", "-t", "--stage", "-z"], &[]).await?;
    // A tag, a space, the mode, the hash, a number, a tab, and the path.
    let is_nested = |entry: &&[u8]| entry.get(2..8) == Some(b"160000") && tag.is_none_or(|tag| entry[0] == tag);
    let path = |entry: &[u8]| entry.iter().position(|byte| *byte == b'\t').map(|tab| [&entry[tab + 1..], b"\0"].concat());
    let paths: Vec<u8> = listed.split(|byte| *byte == 0).filter(is_nested).filter_map(path).flatten().collect();
    if paths.is_empty() {
        return Ok(());
    }
    git_output(folder, &["update-index", "-z", change, "--stdin"], &paths).await.map(drop)
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
    git_output(folder, words, &[]).await.map(drop)
}

/// Runs Git with this on its standard input.
async fn git_output(folder: &Path, words: &[&str], input: &[u8]) -> Result<Vec<u8>, Failure> {
    let mut command = Command::new("git");
    command.arg("--git-dir").arg(git_folder(folder)).arg("--work-tree").arg(folder);
    command.args(["-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "submodule.recurse=false"]).args(words);
    command.current_dir(folder).env("GIT_TERMINAL_PROMPT", "0").kill_on_drop(true);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let broken = |error: std::io::Error| failed(folder, &format!("git cannot be run: {error}"));
    let mut child = command.spawn().map_err(broken)?;
    let stdin = child.stdin.take();
    let ((), output) = tokio::join!(
        async {
            if let Some(mut stdin) = stdin {
                // One that ends early says why.
                stdin.write_all(input).await.ok();
            }
        },
        child.wait_with_output()
    );
    let output = output.map_err(broken)?;
    if output.status.success() {
        return Ok(output.stdout);
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
    if let Some(tenant) = crate::tenants::current()
        && !folder.starts_with(&tenant.record()?.workspace)
    {
        let help = "mount it at the same path on every worker, or give each session a folder with --volumes DIR";
        return Err(Failure::failed("file_not_found", "the folder of the tenant is not on this worker").help(help));
    }
    if folder.is_dir() {
        return Ok(folder.to_owned());
    }
    let message = format!("the folder '{}' of the session is not on this worker", folder.display());
    let help = "mount it at the same path on every worker, or give each session a folder with --volumes DIR, or a clone with --git URL";
    Err(Failure::failed("file_not_found", message).help(help))
}

#[cfg(test)]
mod tests {
    use haft_store::{InMemorySessionStore, NewSession, SessionStore};

    use super::*;

    fn sh(folder: &Path, script: &str) -> String {
        let mut command = std::process::Command::new("sh");
        command.args(["-ec", script]).current_dir(folder).env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_CONFIG_GLOBAL", "/dev/null");
        for (name, value) in
            [("GIT_AUTHOR_NAME", "t"), ("GIT_AUTHOR_EMAIL", "t@t"), ("GIT_COMMITTER_NAME", "t"), ("GIT_COMMITTER_EMAIL", "t@t")]
        {
            command.env(name, value);
        }
        let output = command.output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    }

    #[tokio::test]
    async fn empty_remote_gets_the_branch_of_the_session_and_the_next_worker_continues_it() {
        let world = tempfile::tempdir().unwrap();
        let remote = world.path().join("remote");
        std::fs::create_dir(&remote).unwrap();
        sh(&remote, "git init --quiet --bare -b main");
        let session = NewSession::new("main", Path::new("/elsewhere"));
        let record = InMemorySessionStore::default().create(session).await.unwrap();
        let volumes = |name: &str| SessionVolumes { folder: Some(world.path().join(name)), remote: Some(remote.display().to_string()) };
        for (worker, before) in [("one", ""), ("two", "one"), ("one", "two")] {
            let folder = volumes(worker).open(&record).await.unwrap();
            assert_eq!(std::fs::read_to_string(folder.join("a")).unwrap_or_default(), before);
            std::fs::write(folder.join("a"), worker).unwrap();
            volumes(worker).save(&folder, &record).await.unwrap();
            // This one is lost with its worker.
            std::fs::write(folder.join("b"), worker).unwrap();
        }
        assert_eq!(sh(&remote, &format!("git log --format=%s {}", branch(&record))).lines().count(), 3);
        // A worker that is lost before the first push leaves nothing to the next turn, either.
        let other = InMemorySessionStore::default().create(NewSession::new("main", Path::new("/elsewhere"))).await.unwrap();
        sh(&remote, &format!("git update-ref -d refs/heads/{}", branch(&record)));
        for _ in 0..2 {
            let folder = volumes("one").open(&other).await.unwrap();
            assert!(!folder.join("b").exists());
            std::fs::write(folder.join("b"), "lost").unwrap();
        }
    }

    /// A repository whose settings name programs. They must run as soon as Git compares it.
    const PLANT: &str = "rm -rf $NAME; mkdir $NAME; cd $NAME; git init --quiet; echo b > b; git add b; git commit --quiet -m b
        git config core.fsmonitor \"echo ran >> $MARKER; false\"
        git config filter.x.clean \"echo ran >> $MARKER; cat\"
        echo '* filter=x' > .gitattributes; echo c >> b";

    #[tokio::test]
    async fn repository_that_a_model_makes_in_its_folder_runs_nothing_on_the_worker() {
        let world = tempfile::tempdir().unwrap();
        let (remote, marker) = (world.path().join("remote"), world.path().join("marker"));
        std::fs::create_dir(&remote).unwrap();
        // The remote has a repository of its own within it.
        let setup = "git init --quiet -b main; echo a > a; mkdir own; (cd own; git init --quiet; git commit --quiet --allow-empty -m o)
            git add a own 2>/dev/null; git commit --quiet -m first; rm -r own; mkdir own";
        sh(&remote, setup);
        let volumes = SessionVolumes { folder: Some(world.path().join("v")), remote: Some(remote.display().to_string()) };
        let session = NewSession::new("main", Path::new("/elsewhere"));
        let record = InMemorySessionStore::default().create(session).await.unwrap();
        let plant = |folder: &Path, name: &str| {
            sh(folder, &format!("NAME={name}; MARKER={}; {PLANT}", marker.display()));
        };
        for turn in ["one", "two", "three"] {
            let folder = volumes.open(&record).await.unwrap();
            plant(&folder, "own");
            plant(&folder, "new");
            std::fs::write(folder.join("a"), turn).unwrap();
            volumes.save(&folder, &record).await.unwrap();
            let branch = branch(&record);
            assert_eq!(sh(&remote, &format!("git show {branch}:a")), turn, "what changed is pushed");
            assert_eq!(sh(&remote, &format!("git ls-tree --name-only {branch}")), "a\nown\n", "a repository of the model is not");
            assert!(!marker.exists(), "{turn}: a program of the model ran");
        }
        // The test is one: Git does run them where it compares.
        let folder = volumes.open(&record).await.unwrap();
        plant(&folder, "own");
        sh(&folder, "cd own; git status");
        assert!(marker.exists());
    }
}
