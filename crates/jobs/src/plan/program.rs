//! Plans of programs that run without a shell, from a folder of their own: those of plugins.

use std::path::{Path, PathBuf};

use haft_contract::{CommandRequest, Effect, ErrorKind, Exec, ExecHost, ProgramSpec, ShellCommand, ToolError, ports::HttpClient};
use haft_text::display;

use super::{apply_change_mode, is_read_only};
use crate::sandboxer::Sandboxer;
use crate::{environment, lookup};

/// Plans a program. Nothing is known of it but that its sandbox confines it: the program is its one effect.
pub(crate) fn plan_program(
    request: &CommandRequest,
    spec: &ProgramSpec,
    sandboxer: &Sandboxer,
    http: &dyn HttpClient,
) -> Result<ShellCommand, ToolError> {
    environment::check_all(&request.environment)?;
    let folder = kept_folder(&sandboxer.options().program_folder, &spec.folder)?;
    let directory = lookup::directory(sandboxer, request.directory.as_deref())?;
    let host = lookup::exec_host(sandboxer, request.host)?;
    if host == ExecHost::Container {
        return Err(in_container());
    }
    let mut exec = find_program(spec, &folder, sandboxer, directory.path())?;
    exec.host = host;
    exec.read_only_view = is_read_only(request, host);
    let mut effects = vec![Effect::Exec(exec.clone())];
    effects.extend(lookup::directory_read(&directory));
    effects.extend(lookup::connections(&request.allow_hosts, http)?);
    let command = ShellCommand::new(exec, &*request.command, effects)
        .with_environment(request.environment.clone())
        .with_limits(sandboxer.enforced_limits(request.limits, host))
        .with_program_folder(folder);
    let command = if host.is_sandboxed() { command.with_writable_tree(sandboxer.files().root()) } else { command };
    apply_change_mode(command, request, sandboxer)
}

/// The folder of the program, which must lie directly in the one that the host keeps for programs: no call chooses what its sandbox
/// shows.
fn kept_folder(kept: &Path, requested: &Path) -> Result<PathBuf, ToolError> {
    let real = requested.canonicalize().ok().zip(kept.canonicalize().ok());
    let inside = real.filter(|(folder, kept)| folder.parent() == Some(kept) && folder.is_dir()).map(|(folder, _)| folder);
    inside.ok_or_else(|| {
        let folder = display::escape_line(&requested.to_string_lossy()).into_owned();
        ToolError::denied(format!("The program was not run: '{folder}' is not a folder that is kept for programs. Add its plugin again."))
    })
}

/// The file that runs. A bare name is looked up; a path must lead into the folder.
fn find_program(spec: &ProgramSpec, folder: &Path, sandboxer: &Sandboxer, directory: &Path) -> Result<Exec, ToolError> {
    let (name, arguments) = spec.words.split_first().ok_or_else(|| ToolError::validation("There is no program to run."))?;
    let shown = display::escape_line(name);
    let program = if name.contains('/') {
        let path = Path::new(name).canonicalize().ok().filter(|path| path.starts_with(folder));
        path.filter(|path| environment::is_executable(path))
            .ok_or_else(|| format!("'{shown}' is missing, is not executable, or lies outside the folder of its plugin"))
    } else {
        lookup::program(sandboxer, name)
            .ok_or_else(|| format!("there is no program '{shown}' on this machine (programs in the workspace do not count)"))
    };
    let program = program.map_err(|why| ToolError::execution(format!("The program was not run: {why}. Ask the user to install it.")))?;
    let mut exec = Exec::new(program, arguments.to_vec(), directory);
    name.clone_into(&mut exec.named);
    Ok(exec)
}

/// A container has a root of its own, in which the folder is not.
pub(crate) fn in_container() -> ToolError {
    ToolError::new(
        ErrorKind::SandboxUnavailable,
        "The program was not run: plugins do not run in containers. Set sandbox.backend = \"bubblewrap\" or \"auto\".",
    )
}
