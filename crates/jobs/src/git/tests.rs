//! Real Git on real overlays: what a command does in `.git`, and what is in the repository afterwards.

mod attacks;
mod index;
mod new;
mod usual;

use std::fmt::Write as _;
use std::fs::{self, DirBuilder, Permissions};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use haft_contract::GitReport;

use super::*;
use crate::quarantine::{Origin, Quarantine};

/// A workspace with a repository, and a user with an identity.
pub(crate) struct World {
    _folder: tempfile::TempDir,
    pub(crate) root: PathBuf,
    pub(crate) work: PathBuf,
}

impl World {
    /// With a repository that has two commits, the branches `main` and `other`, and the file `a`.
    pub(crate) fn new() -> Self {
        let world = Self::empty();
        world.git_ok(&["init", "-q", "-b", "main"]);
        fs::write(world.work.join("a"), "one\n").unwrap();
        world.git_ok(&["add", "a"]);
        world.git_ok(&["commit", "-qm", "first"]);
        world.git_ok(&["branch", "other"]);
        fs::write(world.work.join("a"), "two\n").unwrap();
        world.git_ok(&["commit", "-qam", "second"]);
        world
    }

    pub(crate) fn empty() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let work = root.join("w");
        for path in [&work, &root.join("home"), &root.join("data")] {
            fs::create_dir(path).unwrap();
        }
        let config =
            "[user]\n\tname = Ann\n\temail = ann@example.org\n[init]\n\tdefaultBranch = main\n[core]\n\tpager = cat\n\teditor = true\n";
        fs::write(root.join("home/.gitconfig"), config).unwrap();
        Self { _folder: folder, root, work }
    }

    pub(crate) fn git_dir(&self) -> PathBuf {
        self.work.join(".git")
    }

    pub(crate) fn quarantine(&self) -> Quarantine {
        Quarantine::new(self.root.join("data/quarantine"))
    }

    /// Runs Git outside, as the user does.
    pub(crate) fn git_in(&self, folder: &Path, words: &[&str]) -> Output {
        self.command("git").args(words).current_dir(folder).output().unwrap()
    }

    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        command.env_clear().env("PATH", std::env::var_os("PATH").unwrap()).env("HOME", self.root.join("home"));
        command.env("GIT_CONFIG_NOSYSTEM", "1").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C.UTF-8").env("MARKER", self.marker());
        command
    }

    pub(crate) fn git_ok(&self, words: &[&str]) -> String {
        let output = self.git_in(&self.work, words);
        assert!(output.status.success(), "git {words:?}: {}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    }

    /// Waits until the clock of the file system has moved: what was written before is older than what follows.
    pub(crate) fn tick(&self) {
        let probe = self.root.join("data/probe");
        let time = || {
            fs::write(&probe, "").unwrap();
            crate::changes::change_time(&fs::metadata(&probe).unwrap())
        };
        let before = time();
        while time() == before {
            std::thread::yield_now();
        }
        fs::remove_file(&probe).unwrap();
    }

    fn marker(&self) -> PathBuf {
        self.root.join("marker")
    }

    /// Runs a script with overlays on the Git folders of the workspace, and settles them.
    pub(crate) fn run(&self, script: &str) -> GitReport {
        self.run_then(script, || {})
    }

    /// As [`run`](Self::run), with something that happens outside before the changes are applied.
    pub(crate) fn run_then(&self, script: &str, meanwhile: impl FnOnce()) -> GitReport {
        let overlays = self.prepare();
        self.sandboxed(&overlays, script);
        meanwhile();
        let origin = Origin { session: "s".into(), call: None, command: script.into() };
        overlays.settle(std::slice::from_ref(&self.work), &self.quarantine(), &origin)
    }

    pub(crate) fn prepare(&self) -> GitOverlays {
        let git: Vec<_> = fs::read_dir(&self.work).unwrap().flatten().map(|entry| entry.path().join(".git")).collect();
        let entries: Vec<_> = git.into_iter().chain([self.git_dir()]).filter(|path| path.symlink_metadata().is_ok()).collect();
        let folders = find_git_folders(&entries, std::slice::from_ref(&self.work));
        let layers = tempfile::tempdir_in(self.root.join("data")).unwrap().keep();
        prepare_overlays(&folders.overlaid, &layers).unwrap()
    }

    /// Runs a script that must succeed on real overlays, in a mount namespace of its own.
    pub(crate) fn sandboxed(&self, overlays: &GitOverlays, script: &str) {
        let is_root = rustix::process::geteuid().is_root();
        let kind = if is_root { "index=off" } else { "userxattr" };
        let mut all = String::from("set -e\n");
        for (lower, upper) in overlays.pairs() {
            let (lower, upper, work) = (lower.display(), upper.display(), upper.with_file_name("work"));
            let layers = format!("lowerdir={lower},upperdir={upper},workdir={}", work.display());
            _ = writeln!(all, "mount -t overlay overlay -o {layers},redirect_dir=nofollow,metacopy=off,xino=off,{kind} {lower}");
        }
        _ = writeln!(all, "cd {}\n{script}", self.work.display());
        let output = self.command("unshare").args([if is_root { "-m" } else { "-rm" }, "bash", "-c", &all]).output().unwrap();
        assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
        // What a command ran inside was in its sandbox.
        fs::remove_file(self.marker()).ok();
    }

    /// Uses a repository as a user would, and asserts that no foreign code ran.
    pub(crate) fn assert_harmless(&self, folder: &Path, what: &str) {
        for words in [
            &["status"][..],
            &["diff"],
            &["log", "-p", "--all"],
            &["show", "HEAD"],
            &["add", "-A"],
            &["commit", "--allow-empty", "-qm", "by the user"],
            &["rebase", "--continue"],
            &["cherry-pick", "--continue"],
            &["checkout", "-q", "other"],
            &["checkout", "-q", "--", "."],
            &["stash", "list"],
            &["branch", "-a"],
            &["fetch", "-q", "--all"],
            &["submodule", "status"],
            &["gc", "-q", "--auto"],
            &["st"],
            &["worktree", "list"],
            &["bisect", "log"],
            &["fsck"],
        ] {
            self.git_in(folder, words);
            assert!(!self.marker().exists(), "{what}: git {words:?} ran foreign code");
        }
    }
}

/// The refused paths relative to a folder.
pub(crate) fn refused(report: &GitReport, folder: &Path) -> Vec<String> {
    let relative = |path: &Path| path.strip_prefix(folder).unwrap_or(path).to_string_lossy().into_owned();
    report.refused.iter().map(|refused| relative(&refused.path)).collect()
}

#[test]
fn everything_works_for_an_ordinary_user_too() {
    let tests = ["git::tests::usual", "git::tests::attacks", "git::tests::new", "git::tests::index"];
    let words: Vec<_> = tests.into_iter().chain(["quarantine::"]).collect();
    haft_testkit::again_as_an_ordinary_user(&words, &[]).unwrap();
}

/// Prepares an overlay for each Git folder, in a private folder outside of them: `N/upper` and `N/work`. Folders within
/// another one are part of it.
fn prepare_overlays(git_dirs: &[PathBuf], folder: &Path) -> std::io::Result<GitOverlays> {
    let mut all: Vec<&PathBuf> = git_dirs.iter().collect();
    all.sort_unstable();
    all.dedup_by(|deeper, above| deeper.starts_with(above));
    let pairs = all.into_iter().enumerate().map(|(number, lower)| {
        let folder = folder.join(number.to_string());
        let (upper, below) = (folder.join("upper"), fs::symlink_metadata(lower)?);
        DirBuilder::new().recursive(true).mode(0o700).create(&folder)?;
        DirBuilder::new().mode(0o700).create(folder.join("work"))?;
        DirBuilder::new().mode(0o700).create(&upper)?;
        // Only root can, and only root would appear as another owner.
        chown(&upper, Some(below.uid()), Some(below.gid())).ok();
        fs::set_permissions(&upper, Permissions::from_mode(below.mode() & 0o7777))?;
        Ok((lower.clone(), upper))
    });
    GitOverlays::over(pairs.collect::<std::io::Result<Vec<_>>>()?, folder, &[], &[])
}
