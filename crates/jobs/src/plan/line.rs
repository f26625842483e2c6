//! The effects of a shell line: its programs, its files, and what is not known of it.

use std::path::{Path, PathBuf};

use haft_contract::{
    CommandRequest, Effect, Exec, ExecHost, ExecNature, ExecReach, Extent, Location, PathEffect, RefusalCause, ShellCommand, ToolError,
    Zone, ports::FileSystem,
};
use haft_shell::{Analysis, Command, Directory, Nature, SafeBins, Target, Verdict, Word, satisfies_safe_bins};

use super::{apply_change_mode, hints};
use crate::lookup;
use crate::output::CwdTracker;
use crate::sandboxer::Sandboxer;

/// Shells, in order of preference.
pub(super) const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"];
/// In the sandbox these are private to the session, or to the command.
pub(super) const PRIVATE_FOLDERS: &[&str] = &["/tmp", "/var/tmp", "/dev", "/proc"];
/// System folders that every program reads; they hold no private data.
pub(super) const SYSTEM_FOLDERS: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/etc", "/proc", "/sys", "/dev", "/nix"];

/// Plans one line.
pub(super) struct LinePlanner<'a> {
    pub(super) sandboxer: &'a Sandboxer,
    pub(super) host: ExecHost,
    pub(super) is_read_only: bool,
    pub(super) analysis: &'a Analysis,
}

impl LinePlanner<'_> {
    /// The programs; if a shell could read the line in another way, the shell that runs it as well.
    pub(super) fn programs(&self, directory: &Path) -> Vec<Effect> {
        let safe = SafeBins::default();
        let mut programs: Vec<Exec> = self.analysis.commands.iter().flat_map(|command| self.exec(command, directory, &safe)).collect();
        if let Some(first) = programs.first_mut() {
            first.reach.commands.extend(self.analysis.by_variable.iter().map(|words| texts(words)));
        }
        if self.analysis.unclear && self.host.is_sandboxed() {
            let mut shell = self.new_exec("bash", vec!["-c".into(), "…".into()], directory);
            shell.reach.is_any = true;
            programs.push(shell);
        }
        programs.into_iter().map(Effect::Exec).collect()
    }

    /// A command, and git as such where a part of it is called by its own name.
    fn exec(&self, command: &Command, directory: &Path, safe: &SafeBins) -> Vec<Exec> {
        let arguments = texts(&command.arguments);
        let mut exec = self.new_exec(command.program.text(), arguments.clone(), directory);
        exec.environment = command.assignments.iter().map(|assignment| assignment.name.clone()).collect();
        exec.nature = nature(command, safe);
        exec.reach = ExecReach::default();
        exec.reach.wrappers = command.reach.wrappers.iter().map(|words| texts(words)).collect();
        exec.reach.commands = command.reach.commands.iter().map(|words| texts(words)).collect();
        exec.reach.is_any = command.reach.is_any;
        let part = command.name().and_then(|name| name.strip_prefix("git-")).filter(|part| !part.is_empty());
        let whole = part.map(|part| {
            let mut whole = self.new_exec("git", std::iter::once(part.to_owned()).chain(arguments).collect(), directory);
            whole.nature = exec.nature;
            whole
        });
        std::iter::once(exec).chain(whole).collect()
    }

    fn new_exec(&self, name: &str, arguments: Vec<String>, directory: &Path) -> Exec {
        let mut exec = Exec::new(self.program(name, directory), arguments, directory);
        name.clone_into(&mut exec.named);
        exec.host = self.host;
        exec.read_only_view = self.is_read_only;
        exec
    }

    /// The file of a program; the bare name if it is a builtin of the shell, or not found, or in a container, which has its own.
    fn program(&self, name: &str, directory: &Path) -> PathBuf {
        if self.host == ExecHost::Container {
            return PathBuf::from(name);
        }
        if name.contains('/') {
            let path = directory.join(name);
            return path.canonicalize().unwrap_or(path);
        }
        lookup::program(self.sandboxer, name).unwrap_or_else(|| PathBuf::from(name))
    }

    /// The files that the line names. What the sandbox does not show is none of them: there it is not there.
    pub(super) fn files(&self, directory: &Location) -> Result<Vec<Effect>, ToolError> {
        let base = self.base(directory);
        let is_sandboxed = self.host.is_sandboxed();
        // In the sandbox what may not be read is hidden wherever it is, so only a name of it is worth an early answer.
        let extent = if is_sandboxed { Extent::File } else { Extent::Tree };
        let mut effects: Vec<Effect> = lookup::directory_read(directory).into_iter().collect();
        for target in self.analysis.reads.iter().filter(|target| target.exact) {
            let shown = |at: &Location| !is_sandboxed || at.zone() != Zone::Outside || at.no_read().is_some();
            // What is not there holds no secret, and the line may make it itself, as `openssl` does a key. What a rule names is refused.
            let is_secret = |at: &Location| at.no_read_causes().iter().all(|cause| matches!(cause, RefusalCause::Setting { .. }));
            let is_new = |at: &Location| is_sandboxed && at.no_read().is_some() && is_secret(at) && at.path().symlink_metadata().is_err();
            if let Some(location) = self.file(&base, target, SYSTEM_FOLDERS)?.filter(|at| shown(at) && !is_new(at)) {
                effects.push(Effect::Read(PathEffect { location, extent }));
            }
        }
        let through_proc = |target: &&Target| is_sandboxed && base.join(&target.path).starts_with("/proc");
        if self.analysis.writes.iter().any(|target| through_proc(&target)) {
            effects.push(Effect::Contained { why: "it writes through /proc".into(), read_only: self.is_read_only });
        }
        for target in self.analysis.writes.iter().filter(|target| target.exact) {
            let shown = |at: &Location| !is_sandboxed || (at.zone() != Zone::Outside && !is_git_lock(at.path()));
            if let Some(location) = self.file(&base, target, &[])?.filter(shown) {
                effects.push(if self.analysis.deletes.contains(target) {
                    Effect::Delete(PathEffect { location, extent })
                } else {
                    Effect::Write(PathEffect { location, extent })
                });
            }
        }
        Ok(effects)
    }

    /// Where relative paths of the line start.
    fn base(&self, directory: &Location) -> PathBuf {
        match &self.analysis.directory {
            Directory::Changed(path) => directory.path().join(path),
            _ => directory.path().to_owned(),
        }
    }

    /// The location of a file; `None` if it is private to the command, or in one of the harmless folders.
    fn file(&self, base: &Path, target: &Target, harmless: &[&str]) -> Result<Option<Location>, ToolError> {
        let location = match self.sandboxer.files().locate(&base.join(&target.path)) {
            Ok(location) => location,
            // Whatever is wrong with the path, the command meets it itself.
            Err(_) if self.host.is_sandboxed() => return Ok(None),
            Err(error) => return Err(error),
        };
        let beneath = |folders: &[&str]| folders.iter().any(|folder| location.path().starts_with(folder));
        let in_workspace = location.path().starts_with(self.sandboxer.files().root());
        // The sandbox has a `/proc` of its own, and what leads through it leads to the view.
        if self.host.is_sandboxed() && base.join(&target.path).starts_with("/proc") {
            return Ok(None);
        }
        let is_private = self.host.is_sandboxed() && !in_workspace && beneath(PRIVATE_FOLDERS);
        let is_harmless = !in_workspace && location.no_read().is_none() && beneath(harmless);
        Ok((!is_private && !is_harmless).then_some(location))
    }

    /// What is not known of the line; in the sandbox also a line that does nothing says so.
    pub(super) fn unknown(&self, is_empty: bool) -> Option<Effect> {
        let reasons = self.analysis.refused.iter().chain(&self.analysis.unknown);
        let mut why = reasons.map(|reason| reason.message.as_str()).collect::<Vec<_>>().join("; ");
        if self.host.is_sandboxed() && why.is_empty() && is_empty {
            "it runs no program".clone_into(&mut why);
        }
        match self.analysis.verdict() {
            Verdict::Followed if why.is_empty() => None,
            _ if self.host.is_sandboxed() => Some(Effect::Contained { why, read_only: self.is_read_only }),
            Verdict::Followed => None,
            _ => Some(Effect::Unknown { why }),
        }
    }

    /// The command that runs.
    pub(super) fn command(&self, request: &CommandRequest, directory: &Location, effects: Vec<Effect>) -> Result<ShellCommand, ToolError> {
        let shell = SHELLS.iter().map(Path::new).find(|shell| shell.exists());
        let shell = shell.ok_or_else(|| ToolError::execution("There is no shell on this machine: install bash."))?;
        let sentinel = request.track_cwd.then(CwdTracker::new_sentinel);
        let script = match &sentinel {
            Some(sentinel) => CwdTracker::wrap_command(&request.command, sentinel),
            None => request.command.clone(),
        };
        let mut exec = Exec::new(shell, vec!["-c".into(), script], directory.path());
        exec.host = self.host;
        exec.read_only_view = self.is_read_only;
        let mut command = ShellCommand::new(exec, &*request.command, effects)
            .with_environment(request.environment.clone())
            .with_limits(self.sandboxer.enforced_limits(request.limits, self.host));
        if let Some(sentinel) = sentinel {
            command = command.with_cwd_sentinel(sentinel);
        }
        if self.host.is_sandboxed() {
            let hints = hints::find(self.analysis, &self.base(directory), self.sandboxer.files());
            command = command.with_writable_tree(self.sandboxer.files().root()).with_hints(hints);
        } else {
            // No sandbox protects them: the script that was approved must be the script that runs.
            command = command.with_scripts(lookup::scripts(self.analysis, directory.path()));
        }
        apply_change_mode(command, request, self.sandboxer)
    }
}

/// A lock that an interrupted Git left, as `.git/index.lock`: removing it is applied with the other changes of the Git folder.
fn is_git_lock(path: &Path) -> bool {
    let is_lock = path.extension().is_some_and(|extension| extension == "lock");
    is_lock && path.parent().is_some_and(|folder| folder.components().any(|part| part.as_os_str() == ".git"))
}

fn nature(command: &Command, safe: &SafeBins) -> ExecNature {
    let is_expanded = |word: &Word| matches!(word, Word::Expanded(_));
    match command.nature {
        _ if is_expanded(&command.program) || command.arguments.iter().any(is_expanded) => ExecNature::Expanded,
        _ if satisfies_safe_bins(command, safe) => ExecNature::Filters,
        Nature::ReadsOnly => ExecNature::Reads,
        _ => ExecNature::Any,
    }
}

fn texts(words: &[Word]) -> Vec<String> {
    words.iter().map(|word| word.text().to_owned()).collect()
}
