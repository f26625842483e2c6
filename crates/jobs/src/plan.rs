//! Plans of commands: every program, file and host becomes an effect before anything runs.

use std::path::{Path, PathBuf};

use haft_contract::{
    ChangeMode, CodeInput, CommandRequest, Effect, ErrorKind, Exec, ExecHost, ExecNature, Extent, InterpreterSpec, Location, PathEffect,
    ShellCommand, ToolError,
    ports::{FileSystem, HttpClient},
};
use haft_shell::{Analysis, Directory, Nature, SafeBins, Target, Verdict, Word, analyse, satisfies_safe_bins};
use haft_text::display;

use crate::output::CwdTracker;
use crate::sandboxer::Sandboxer;
use crate::{environment, lookup};

/// Shells, in order of preference.
const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"];
/// In the sandbox these are private to the command, and removed with it.
const PRIVATE_FOLDERS: &[&str] = &["/tmp", "/var/tmp", "/dev", "/proc"];
/// System folders that every program reads; they hold no private data.
const SYSTEM_FOLDERS: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/etc", "/proc", "/sys", "/dev", "/nix"];

/// Plans a shell command.
pub(crate) fn plan_shell(request: &CommandRequest, sandboxer: &Sandboxer, http: &dyn HttpClient) -> Result<ShellCommand, ToolError> {
    if request.command.trim().is_empty() {
        return Err(ToolError::validation("Provide a command to run: 'command' is empty."));
    }
    environment::check_all(&request.environment)?;
    let analysis = analyse(&request.command);
    if let Some(reason) = &analysis.refused {
        return Err(ToolError::denied(format!("The command was refused: {}", display::escape_line(&reason.message))));
    }
    let planner = ShellPlanner { sandboxer, host: lookup::exec_host(sandboxer, request.host)?, analysis: &analysis };
    let directory = lookup::directory(sandboxer, request.directory.as_deref())?;
    let mut effects = planner.programs(directory.path());
    effects.extend(planner.files(&directory)?);
    effects.extend(lookup::connections(&request.allow_hosts, http)?);
    effects.extend(planner.unknown());
    planner.command(request, &directory, effects)
}

/// Plans code for an interpreter other than the shell. The code is not analysed: the interpreter is its one effect.
pub(crate) fn plan_interpreter(
    request: &CommandRequest,
    interpreter: &InterpreterSpec,
    sandboxer: &Sandboxer,
    http: &dyn HttpClient,
) -> Result<ShellCommand, ToolError> {
    environment::check_all(&request.environment)?;
    let directory = lookup::directory(sandboxer, request.directory.as_deref())?;
    let host = lookup::exec_host(sandboxer, request.host)?;
    let (name, program) = find_interpreter(interpreter, host, sandboxer)?;
    let mut exec = Exec::new(program, interpreter.arguments.clone(), directory.path());
    name.clone_into(&mut exec.named);
    exec.host = host;
    let mut effect = exec.clone();
    match interpreter.code_input {
        CodeInput::Argument => {
            exec.arguments.push(request.command.clone());
            effect = exec.clone();
        }
        CodeInput::Stdin => effect.arguments = vec![request.command.clone()],
    }
    let mut effects = vec![Effect::Exec(effect)];
    effects.extend(lookup::directory_read(&directory));
    effects.extend(lookup::connections(&request.allow_hosts, http)?);
    let command = ShellCommand::new(exec, &*request.command, effects)
        .with_environment(request.environment.clone())
        .with_limits(sandboxer.enforced_limits(request.limits, host));
    let command = if host.is_sandboxed() { command.with_writable_tree(sandboxer.files().root()) } else { command };
    apply_change_mode(command, request, sandboxer)
}

/// A container has its own programs: it finds the preferred name itself.
fn find_interpreter(interpreter: &InterpreterSpec, host: ExecHost, sandboxer: &Sandboxer) -> Result<(&'static str, PathBuf), ToolError> {
    if host == ExecHost::Container {
        let name = interpreter.names.first().copied().unwrap_or_default();
        return Ok((name, PathBuf::from(name)));
    }
    let find = |name: &&'static str| lookup::program(sandboxer, name).map(|path| (*name, path));
    interpreter.names.iter().find_map(find).ok_or_else(|| {
        let (names, advice) = (interpreter.names.join("' or '"), interpreter.advice);
        ToolError::execution(format!("There is no program '{names}' on this machine (programs in the workspace do not count). {advice}"))
    })
}

/// Decides how the changes of a command are applied. Refuses a command whose changes must be staged and cannot be.
fn apply_change_mode(command: ShellCommand, request: &CommandRequest, sandboxer: &Sandboxer) -> Result<ShellCommand, ToolError> {
    let command = if request.isolate_network { command.with_isolated_network() } else { command };
    let host = command.shell().host;
    let mode = match request.dry_run {
        true => ChangeMode::Review,
        false if host.is_sandboxed() => sandboxer.options().changes.mode,
        false => ChangeMode::Direct,
    };
    let why = match (mode, host, &request.interpreter) {
        (ChangeMode::Direct, ..) => return Ok(command),
        (_, ExecHost::Sandbox, Some(interpreter)) if interpreter.code_input == CodeInput::Stdin => {
            "this interpreter continues between calls and never ends"
        }
        (_, ExecHost::Sandbox, _) => return Ok(command.with_change_mode(mode)),
        (_, ExecHost::Container, _) => "it would run in a container",
        _ => "it would run outside the sandbox",
    };
    Err(ToolError::new(
        ErrorKind::SandboxUnavailable,
        format!(
            "The command was not run: its changes must be staged (dry_run, or exec.changes = \"{}\"), which only the sandbox can do, \
             and {why}. Use exec without 'host', with the sandbox on (sandbox.backend = \"bubblewrap\"); or run it without dry_run.",
            mode.as_str()
        ),
    ))
}

struct ShellPlanner<'a> {
    sandboxer: &'a Sandboxer,
    host: ExecHost,
    analysis: &'a Analysis,
}

impl ShellPlanner<'_> {
    fn programs(&self, directory: &Path) -> Vec<Effect> {
        let safe = SafeBins::default();
        let effect = |command: &haft_shell::Command| {
            let name = command.program.text().to_owned();
            let arguments = command.arguments.iter().map(|word| word.text().to_owned()).collect();
            let mut exec = Exec::new(self.program(&name, directory), arguments, directory);
            exec.named = name;
            exec.host = self.host;
            exec.environment = command.assignments.iter().map(|assignment| assignment.name.clone()).collect();
            let is_expanded = |word: &Word| matches!(word, Word::Expanded(_));
            exec.nature = match command.nature {
                _ if is_expanded(&command.program) || command.arguments.iter().any(is_expanded) => ExecNature::Expanded,
                _ if satisfies_safe_bins(command, &safe) => ExecNature::Filters,
                Nature::ReadsOnly => ExecNature::Reads,
                _ => ExecNature::Any,
            };
            Effect::Exec(exec)
        };
        self.analysis.commands.iter().map(effect).collect()
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

    fn files(&self, directory: &Location) -> Result<Vec<Effect>, ToolError> {
        let base = match &self.analysis.directory {
            Directory::Changed(path) => directory.path().join(path),
            _ => directory.path().to_owned(),
        };
        let mut effects: Vec<Effect> = lookup::directory_read(directory).into_iter().collect();
        for target in self.analysis.reads.iter().filter(|target| target.exact) {
            if let Some(location) = self.file(&base, target, SYSTEM_FOLDERS)? {
                effects.push(Effect::Read(PathEffect { location, extent: Extent::Tree }));
            }
        }
        for target in self.analysis.writes.iter().filter(|target| target.exact) {
            if let Some(location) = self.file(&base, target, &[])? {
                effects.push(Effect::Write(PathEffect { location, extent: Extent::Tree }));
            }
        }
        Ok(effects)
    }

    /// The location of a file; `None` if it is private to the command, or in one of the harmless folders.
    fn file(&self, base: &Path, target: &Target, harmless: &[&str]) -> Result<Option<Location>, ToolError> {
        let location = self.sandboxer.files().locate(&base.join(&target.path))?;
        let beneath = |folders: &[&str]| folders.iter().any(|folder| location.path().starts_with(folder));
        let in_workspace = location.path().starts_with(self.sandboxer.files().root());
        let is_private = self.host.is_sandboxed() && !in_workspace && beneath(PRIVATE_FOLDERS);
        let is_harmless = !in_workspace && location.no_read().is_none() && beneath(harmless);
        Ok((!is_private && !is_harmless).then_some(location))
    }

    fn unknown(&self) -> Option<Effect> {
        (self.analysis.verdict() == Verdict::Unknown).then(|| {
            let why: Vec<&str> = self.analysis.unknown.iter().map(|reason| reason.message.as_str()).collect();
            Effect::Unknown { why: why.join("; ") }
        })
    }

    fn command(&self, request: &CommandRequest, directory: &Location, effects: Vec<Effect>) -> Result<ShellCommand, ToolError> {
        let shell = SHELLS.iter().map(Path::new).find(|shell| shell.exists());
        let shell = shell.ok_or_else(|| ToolError::execution("There is no shell on this machine: install bash."))?;
        let sentinel = request.track_cwd.then(CwdTracker::new_sentinel);
        let script = match &sentinel {
            Some(sentinel) => CwdTracker::wrap_command(&request.command, sentinel),
            None => request.command.clone(),
        };
        let mut exec = Exec::new(shell, vec!["-c".into(), script], directory.path());
        exec.host = self.host;
        let mut command = ShellCommand::new(exec, &*request.command, effects)
            .with_environment(request.environment.clone())
            .with_limits(self.sandboxer.enforced_limits(request.limits, self.host));
        if let Some(sentinel) = sentinel {
            command = command.with_cwd_sentinel(sentinel);
        }
        if self.host.is_sandboxed() {
            command = command.with_writable_tree(self.sandboxer.files().root());
        } else {
            // No sandbox protects them: the script that was approved must be the script that runs.
            command = command.with_scripts(lookup::scripts(self.analysis, directory.path()));
        }
        apply_change_mode(command, request, self.sandboxer)
    }
}
