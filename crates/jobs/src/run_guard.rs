//! The guard of a run: what must stay until a job has ended, and what is known of the run afterwards.

use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::{ChangeSet, EgressRefusal, NetworkDecision, RunEffects, ports::FileSystem};
use haft_host::{EgressProxy, LocalFiles};
use haft_sandbox::SandboxGuard;
use haft_text::display;
use tokio::task::JoinHandle;

use crate::changes::StagedRun;
use crate::concurrent_runs::RunEntry;
use crate::folder_moves::PinnedFolders;
use crate::protection::RunProtection;
use crate::temporary_files::TemporaryFiles;
use crate::triggers::{self, TriggerSnapshot};

/// Errors of programs that may not change a path.
const REFUSALS: &[&str] = &["Read-only file system", "Device or resource busy", "EROFS", "EBUSY"];
/// The error of Git for a clone into a folder that has a repository.
const NOT_EMPTY: &str = "already exists and is not an empty directory";
/// The error of Git where it finds no repository.
const NO_REPOSITORY: &str = "not a git repository";
/// The port of a host that allow_host names without one.
const DEFAULT_PORT: u16 = 443;
const READ_ONLY_GIT: &str = "'.git' is read-only for background jobs and interpreters, because Git runs or trusts what is in it. Run the \
                             Git command with exec, not in the background";

/// What must stay until a job has ended. Dropping it cleans up the sandbox, the proxy and changes that were not read.
pub(crate) struct RunGuard {
    pub(crate) sandbox: SandboxGuard,
    pub(crate) proxy: Option<EgressProxy>,
    /// What the sandbox does not enforce.
    pub(crate) gaps: Vec<String>,
    pub(crate) hint: ProtectedPathHint,
    /// The staging of its changes.
    pub(crate) staged: Mutex<Option<StagedRun>>,
    /// The state of trigger files before the run.
    pub(crate) triggers: Option<TriggerSnapshot>,
    /// Its temporary files, if they lie on the disk.
    pub(crate) temporary: Option<TemporaryFiles>,
    /// The guards of repositories and protected names.
    pub(crate) protection: Option<RunProtection>,
    /// Whether nothing of it is applied.
    pub(crate) is_dry_run: bool,
    /// The roots that it could write.
    pub(crate) writable: Vec<PathBuf>,
    /// The workspace. Not the sandboxer: that holds the list of jobs, and a job must not keep alive what ends it.
    pub(crate) root: PathBuf,
    /// Its place among the running commands, if folders with secrets can be moved.
    #[expect(dead_code, reason = "dropped with the guard")]
    pub(crate) entry: Option<RunEntry>,
}

impl RunGuard {
    /// Ends the run through its sandbox; `false` if only its process group holds it together. Blocks.
    pub(crate) fn end(&self, pid: u32, grace: Duration) -> io::Result<bool> {
        self.sandbox.end(pid, grace)
    }

    /// Peak memory of the whole run, where it is counted.
    pub(crate) fn peak_memory(&self) -> Option<u64> {
        self.sandbox.peak_memory()
    }

    /// Notes after the output: limits that were met, refused connections, gaps of the sandbox, protected paths.
    pub(crate) fn exit_notes(&self, output: &[u8]) -> Vec<String> {
        let temporary = self.temporary.as_ref().is_some_and(TemporaryFiles::is_exceeded).then_some("temporary files");
        let limits =
            self.sandbox.exceeded().into_iter().chain(temporary).map(|limit| format!("haft: the command met its limit of {limit}"));
        let decisions = self.proxy.iter().flat_map(EgressProxy::decisions);
        let blocked = decisions.filter_map(|decision| blocked_note(&decision));
        let gaps = (!self.gaps.is_empty()).then(|| format!("haft: the sandbox was weaker than it should be: {}", self.gaps.join("; ")));
        let hint = self.hint.explain(output).or_else(|| explain_missing_repository(output, &self.root)).map(|why| format!("haft: {why}"));
        limits.chain(blocked).chain(gaps).chain(hint).collect()
    }

    /// What the run has changed. Blocks.
    pub(crate) fn run_effects(&self, has_run: bool) -> RunEffects {
        let staged = self.staged.lock().unwrap_or_else(PoisonError::into_inner).take();
        let notes = staged.as_ref().map(StagedRun::notes).unwrap_or_default();
        let changes = staged.filter(|_| has_run).map(|staged| self.read_staged(staged));
        let triggers = match (&changes, &self.triggers) {
            (Some(Ok(set)), _) => triggers::in_change_set(set),
            (None, Some(before)) => TriggerSnapshot::take(&self.root).changed_since(before),
            _ => Vec::new(),
        };
        let network = self.proxy.as_ref().map(EgressProxy::decisions).unwrap_or_default();
        let mut effects = RunEffects { changes, triggers, network, notes, ..RunEffects::default() };
        if let Some(protection) = self.protection.as_ref().filter(|_| has_run) {
            self.settle(protection, &mut effects);
        }
        effects
    }

    /// What is still removed of the run, to be waited for.
    pub(crate) fn take_removal(&self) -> Option<JoinHandle<()>> {
        self.protection.as_ref().and_then(RunProtection::take_removal)
    }

    fn read_staged(&self, staged: StagedRun) -> Result<Arc<ChangeSet>, String> {
        let Some(protection) = self.protection.as_ref().filter(|_| !self.is_dry_run) else { return staged.read(&[]) };
        let repositories = staged.repositories();
        protection.clean_staged(&repositories, &self.writable);
        staged.read(&repositories)
    }

    /// Whether it matters what the command does from moment to moment.
    pub(crate) fn watches_files(&self) -> bool {
        self.protection.as_ref().is_some_and(RunProtection::watches_files)
    }

    /// Notes what the user does with protected files, given the spawned process. Blocks.
    pub(crate) fn accept_changes(&self, process: u32) {
        self.protection.iter().for_each(|protection| protection.accept_changes(|| self.sandbox.activity(process)));
    }

    /// Looks for protected names while the command runs; whether it must be ended, because it has too many temporary files. Blocks.
    pub(crate) fn watch(&self) -> bool {
        self.protection.iter().filter(|_| !self.is_dry_run).for_each(RunProtection::watch);
        self.temporary.as_ref().is_some_and(TemporaryFiles::check)
    }

    fn settle(&self, protection: &RunProtection, effects: &mut RunEffects) {
        if self.is_dry_run {
            let note = "Its changes to repositories were dropped: a dry run does not show them.";
            effects.notes.extend(protection.discard_git().then(|| note.to_owned()));
            return;
        }
        let (git, refused, is_complete) = protection.settle(&self.writable);
        (effects.git, effects.refused) = (Some(git), refused);
        if !is_complete {
            let note =
                "The workspace has too many files to look for protected names in all of them. Check it before you run something there.";
            effects.notes.push(note.to_owned());
        }
    }
}

/// Tells the model why a connection was blocked, and what would allow it.
fn blocked_note(decision: &NetworkDecision) -> Option<String> {
    let NetworkDecision { host, port, refusal, .. } = decision;
    let EgressRefusal { reason, rule } = refusal.as_ref()?;
    let advice = rule.as_ref().map(|rule| {
        let entry = if *port == DEFAULT_PORT { host.clone() } else { format!("{host}:{port}") };
        format!(". To ask for it before the command runs, call it with allow_host=[\"{entry}\"]; the user allows it with the rule '{rule}'")
    });
    let note = format!("haft: {host}:{port} was blocked: {reason}{}", advice.unwrap_or_default());
    Some(display::escape_line(&note).into_owned())
}

/// Explains to the model why Git finds no repository in a workspace that is a part of one.
fn explain_missing_repository(output: &[u8], root: &Path) -> Option<String> {
    if !String::from_utf8_lossy(output).contains(NO_REPOSITORY) || root.join(".git").exists() {
        return None;
    }
    let above = root.ancestors().skip(1).find(|folder| folder.join(".git").exists())?;
    let above = display::escape_line(&above.to_string_lossy()).into_owned();
    Some(format!(
        "the workspace is a part of the repository '{above}', which commands do not see. Ask the user to start haft in that folder, or \
         with --workspace"
    ))
}

/// Explains to the model why a command failed at a protected path, by the error messages in its output.
#[derive(Debug)]
pub(crate) struct ProtectedPathHint {
    files: Arc<LocalFiles>,
    paths: Vec<PathBuf>,
    pinned: PinnedFolders,
}

impl ProtectedPathHint {
    pub(crate) fn new(files: Arc<LocalFiles>, paths: Vec<PathBuf>) -> Self {
        Self { files, paths, pinned: PinnedFolders::default() }
    }

    pub(crate) fn with_pinned(self, pinned: PinnedFolders) -> Self {
        Self { pinned, ..self }
    }

    fn explain(&self, output: &[u8]) -> Option<String> {
        let output = String::from_utf8_lossy(output);
        let is_refusal = |line: &&str| REFUSALS.iter().any(|refusal| line.contains(refusal));
        let path = output.lines().filter(is_refusal).find_map(|line| self.named_path(line));
        let git = self.files.root().join(".git");
        match path {
            Some(path) if *path == git => Some(READ_ONLY_GIT.into()),
            Some(path) => self.files.locate(path).ok()?.no_write().map(|why| why.trim_end_matches('.').to_owned()),
            None if self.paths.contains(&git) && output.lines().any(|line| self.is_clone_into_root(line)) => Some(READ_ONLY_GIT.into()),
            None => output.lines().filter(is_refusal).find_map(|line| self.pinned.explain(line, self.files.root())),
        }
    }

    /// The protected path that an error message names most fully, or whose parent it names.
    fn named_path(&self, line: &str) -> Option<&PathBuf> {
        let name_length = |path: &Path| self.relative(path).and_then(|relative| longest_name(line, relative));
        let best = self.paths.iter().filter_map(|path| Some((name_length(path)?, path))).max_by_key(|(length, _)| *length);
        let parent = || self.paths.iter().find(|path| self.relative(path).is_some_and(|relative| names_parent(line, relative)));
        best.map(|(_, path)| path).or_else(parent)
    }

    fn relative<'a>(&self, path: &'a Path) -> Option<&'a Path> {
        path.strip_prefix(self.files.root()).ok().filter(|relative| !relative.as_os_str().is_empty())
    }

    fn is_clone_into_root(&self, line: &str) -> bool {
        let root = self.files.root().to_string_lossy();
        line.contains(NOT_EMPTY) && [".", "./", &*root].iter().any(|folder| line.contains(&format!("'{folder}'")))
    }
}

/// How much of a path a message names: all of it, or its end from the last hidden folder on, as programs below it print it.
fn longest_name(line: &str, path: &Path) -> Option<usize> {
    let is_hidden = |path: &&Path| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."));
    let hidden = path.ancestors().find(is_hidden).and_then(Path::parent).and_then(|parent| path.strip_prefix(parent).ok());
    let names = [Some(path), hidden].into_iter().flatten().map(Path::to_string_lossy);
    names.filter(|name| line.contains(&**name)).map(|name| name.len()).max()
}

/// Whether a message names a parent folder, which can be neither moved nor removed. In quotes, because it may be any word.
fn names_parent(line: &str, path: &Path) -> bool {
    let mut parents = path.ancestors().skip(1).filter(|parent| !parent.as_os_str().is_empty());
    parents.any(|parent| line.contains(&format!("'{}'", parent.display())))
}

#[cfg(test)]
mod tests {
    use haft_contract::NetworkVerdict;
    use haft_host::WorkspaceOptions;

    use super::*;

    #[test]
    fn blocked_connection_is_named_with_what_would_allow_it() {
        let decision = |port, verdict, refusal: Option<(&str, Option<&str>)>| NetworkDecision {
            host: "packages.example.org".into(),
            port,
            verdict,
            refusal: refusal.map(|(reason, rule)| EgressRefusal { reason: reason.into(), rule: rule.map(str::to_owned) }),
        };
        let rule = "connect(domain:packages.example.org:8443 method:CONNECT)";
        for (decision, note) in [
            (decision(443, NetworkVerdict::Connected, None), None),
            (decision(443, NetworkVerdict::Unreachable, None), None),
            (
                decision(443, NetworkVerdict::Blocked, Some(("the user said\nno", None))),
                Some("haft: packages.example.org:443 was blocked: the user said\\nno".to_owned()),
            ),
            (
                decision(8443, NetworkVerdict::Blocked, Some(("no one can approve here", Some(rule)))),
                Some(format!(
                    "haft: packages.example.org:8443 was blocked: no one can approve here. To ask for it before the command runs, call \
                     it with allow_host=[\"packages.example.org:8443\"]; the user allows it with the rule '{rule}'"
                )),
            ),
        ] {
            assert_eq!(blocked_note(&decision), note);
        }
    }

    #[test]
    fn repository_around_the_workspace_is_named_where_git_finds_none() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("mono/pkg/app");
        std::fs::create_dir_all(&root).unwrap();
        let output = b"fatal: not a git repository (or any of the parent directories): .git\n";
        assert_eq!(explain_missing_repository(output, &root), None, "there is none");
        std::fs::create_dir(folder.path().join("mono/.git")).unwrap();
        let above = folder.path().join("mono");
        let named = explain_missing_repository(output, &root).unwrap();
        assert!(named.starts_with(&format!("the workspace is a part of the repository '{}', ", above.display())), "{named}");
        assert_eq!(explain_missing_repository(b"error: no such path\n", &root), None, "another error");
        std::fs::create_dir(root.join(".git")).unwrap();
        assert_eq!(explain_missing_repository(output, &root), None, "it has one of its own");
    }

    #[test]
    fn protected_path_hint_explains_a_refused_change() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(&root)).unwrap());
        let paths = [".envrc", ".git", "a/b/.git/hooks", "a/b/.git/config"].map(|name| root.join(name));
        let hint = ProtectedPathHint::new(files, paths.to_vec());
        let protected = |name: &str, why: &str| {
            let path = root.join(name);
            format!("'{}' may not be written: it is protected, because {why}. Ask the user to make this change", path.display())
        };
        let git = "Git runs or trusts what is in it";
        for (output, why) in [
            ("fatal: cannot copy 'x' to '/w/.git/description': Read-only file system\n", Some(READ_ONLY_GIT.to_owned())),
            ("hint: x\nfatal: destination path '.' already exists and is not an empty directory.\n", Some(READ_ONLY_GIT.to_owned())),
            ("fatal: destination path 'x' already exists and is not an empty directory.\n", None),
            ("error: could not lock config file a/b/.git/config: Read-only file system", Some(protected("a/b/.git/config", git))),
            ("error: could not lock config file .git/config: Read-only file system", Some(protected("a/b/.git/config", git))),
            ("mv: cannot move 'a' to 'x': Device or resource busy", Some(protected("a/b/.git/hooks", git))),
            ("Error: EROFS: open '.envrc'", Some(protected(".envrc", "tools run or trust it as soon as someone works in the folder"))),
            ("touch: cannot touch '/usr/x': Read-only file system\n.git is there", None),
            ("all of .git is well", None),
            ("", None),
        ] {
            assert_eq!(hint.explain(output.as_bytes()), why, "{output}");
        }
    }
}
