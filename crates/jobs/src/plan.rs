//! Plans of commands: every program, file and host becomes an effect before anything runs.

mod hints;
mod line;
mod program;
mod syntax;

use std::path::PathBuf;

use haft_contract::{
    ChangeMode, CodeInput, CommandRequest, Effect, ErrorKind, Exec, ExecHost, InterpreterSpec, ShellCommand, ToolError, ports::HttpClient,
};
use haft_shell::{Analysis, analyse};
use haft_text::display;

use self::line::LinePlanner;
pub(crate) use self::program::{in_container, plan_program};
use crate::sandboxer::Sandboxer;
use crate::{environment, lookup};

/// The longest script that a shell can be given as an argument, with room for what is added to it.
const LONGEST_SCRIPT: usize = 120 * 1024;

/// Plans a shell command.
pub(crate) fn plan_shell(request: &CommandRequest, sandboxer: &Sandboxer, http: &dyn HttpClient) -> Result<ShellCommand, ToolError> {
    if request.command.trim().is_empty() {
        return Err(ToolError::validation("Provide a command to run: 'command' is empty."));
    }
    environment::check_all(&request.environment)?;
    let host = lookup::exec_host(sandboxer, request.host)?;
    let analysis = analyse(&request.command);
    check_readable(&request.command, &analysis, host)?;
    let planner = LinePlanner { sandboxer, host, is_read_only: is_read_only(request, host), analysis: &analysis };
    let directory = lookup::directory(sandboxer, request.directory.as_deref())?;
    let mut effects = planner.programs(directory.path());
    effects.extend(planner.files(&directory)?);
    effects.extend(lookup::connections(&request.allow_hosts, http)?);
    effects.extend(planner.unknown(effects.is_empty()));
    planner.command(request, &directory, effects)
}

/// Refuses a line that no shell can read, and outside the sandbox one that nobody can evaluate.
fn check_readable(line: &str, analysis: &Analysis, host: ExecHost) -> Result<(), ToolError> {
    if let Some(reason) = analysis.refused.as_ref().filter(|_| !host.is_sandboxed()) {
        return Err(ToolError::denied(format!("The command was refused: {}", display::escape_line(&reason.message))));
    }
    if line.len() > LONGEST_SCRIPT {
        let length = line.len();
        return Err(ToolError::validation(format!(
            "The command has {length} bytes, and {LONGEST_SCRIPT} are the most. Write a script with the file tools, and run that."
        )));
    }
    if analysis.syntax.is_some() || analysis.refused.is_some() {
        return syntax::check(line, analysis.syntax.as_ref());
    }
    Ok(())
}

/// Whether the sandbox lets the command change nothing. What a dry run stages is meant to be applied, so it is none.
fn is_read_only(request: &CommandRequest, host: ExecHost) -> bool {
    request.read_only && !request.dry_run && host.is_sandboxed()
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
    exec.read_only_view = is_read_only(request, host);
    let mut effect = exec.clone();
    match interpreter.code_input {
        CodeInput::Argument => {
            exec.arguments.push(request.command.clone());
            effect = exec.clone();
        }
        CodeInput::Stdin => effect.arguments = vec![request.command.clone()],
    }
    let mut effects = vec![Effect::Exec(effect)];
    effects.extend(shell_programs(request, interpreter, sandboxer, &exec));
    effects.extend(lookup::directory_read(&directory));
    effects.extend(lookup::connections(&request.allow_hosts, http)?);
    let command = ShellCommand::new(exec, &*request.command, effects)
        .with_environment(request.environment.clone())
        .with_limits(sandboxer.enforced_limits(request.limits, host));
    let command = if host.is_sandboxed() { command.with_writable_tree(sandboxer.files().root()) } else { command };
    apply_change_mode(command, request, sandboxer)
}

/// The programs of code that is shell: rules on them hold as in a line. Only in the sandbox; elsewhere nothing is known of code.
fn shell_programs(request: &CommandRequest, interpreter: &InterpreterSpec, sandboxer: &Sandboxer, shell: &Exec) -> Vec<Effect> {
    if !shell.host.is_sandboxed() || !interpreter.names.contains(&"bash") {
        return Vec::new();
    }
    let analysis = analyse(&request.command);
    let planner = LinePlanner { sandboxer, host: shell.host, is_read_only: shell.read_only_view, analysis: &analysis };
    planner.programs(&shell.directory)
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

/// Whether the changes of a command can be staged because of rules, or because nobody is watching. A job in the background is watched instead: what it changes is
/// needed while it runs.
fn can_be_staged(request: &CommandRequest, host: ExecHost) -> bool {
    let ends = request.interpreter.as_ref().is_none_or(|interpreter| interpreter.code_input == CodeInput::Argument);
    host == ExecHost::Sandbox && ends && !request.background
}

/// Stages the changes of a command if rules demand it, or if nobody is watching and it can be done.
fn stage_if_needed(command: ShellCommand, request: &CommandRequest, sandboxer: &Sandboxer) -> ShellCommand {
    let changes = &sandboxer.options().changes;
    if !changes.guarded.is_empty() {
        return command.with_change_mode(ChangeMode::Staged);
    }
    if !request.unattended || !changes.stages_unattended {
        return command;
    }
    match sandboxer.staging_gap() {
        None => command.with_change_mode(ChangeMode::Staged),
        Some(why) => {
            let note = format!("No one is watching, and the changes were not staged because {why}: they were made directly, and checked.");
            let notes = command.notes().iter().cloned().chain([note]).collect();
            command.with_notes(notes)
        }
    }
}

/// Decides how the changes of a command are applied. Refuses a command whose changes must be staged and cannot be.
fn apply_change_mode(command: ShellCommand, request: &CommandRequest, sandboxer: &Sandboxer) -> Result<ShellCommand, ToolError> {
    let command = if request.isolate_network { command.with_isolated_network() } else { command };
    let host = command.shell().host;
    if is_read_only(request, host) {
        return Ok(command.with_read_only_view());
    }
    let mode = match request.dry_run {
        true => ChangeMode::Review,
        false if host.is_sandboxed() => sandboxer.options().changes.mode,
        false => ChangeMode::Direct,
    };
    if mode == ChangeMode::Direct && can_be_staged(request, host) {
        return Ok(stage_if_needed(command, request, sandboxer));
    }
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
