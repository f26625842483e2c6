//! What a command names, looked up on this machine before it runs: its host, directory, programs, scripts and hosts.

use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use haft_contract::{
    Connect, Effect, ErrorKind, ExecHost, Extent, Location, PathEffect, ToolError, Zone,
    ports::{FileSystem, HttpClient},
};
use haft_programs::{ProgramClass, class_of};
use haft_shell::{Analysis, Command, Word};
use haft_text::display;

use crate::environment;
use crate::sandboxer::Sandboxer;

const DEFAULT_PORT: u16 = 443;
/// Scripts beyond these bounds are data; nobody has read them before approving.
const MAX_SCRIPTS: usize = 16;
const MAX_SCRIPT_BYTES: u64 = 8 << 20;

/// Where the command runs.
pub(crate) fn exec_host(sandboxer: &Sandboxer, requested: Option<ExecHost>) -> Result<ExecHost, ToolError> {
    match sandboxer.exec_host(requested) {
        ExecHost::Node => {
            let advice = "Leave 'host' out, or set exec.host to 'sandbox' if it is the configuration that says so";
            Err(ToolError::validation(format!("There is no paired machine to run it on (host 'node'). {advice}.")))
        }
        host if sandboxer.options().sandbox_only && !host.is_sandboxed() => Err(ToolError::denied(format!(
            "Commands of this agent run in the sandbox alone, because it was started with sandbox=require, and this one would run on the \
             {host}. Leave 'host' out, or do without it."
        ))),
        host => Ok(host),
    }
}

/// The working directory, which must exist.
pub(crate) fn directory(sandboxer: &Sandboxer, requested: Option<&Path>) -> Result<Location, ToolError> {
    let start = || sandboxer.options().start.as_deref().unwrap_or(Path::new("."));
    let location = sandboxer.files().locate(requested.unwrap_or_else(start))?;
    let path = display::escape_line(&location.path().to_string_lossy()).into_owned();
    match location.path().metadata() {
        Ok(metadata) if metadata.is_dir() => Ok(location),
        Ok(_) => Err(ToolError::validation(format!("The working directory '{path}' is no folder. Give a folder, or leave it out."))),
        Err(_) => Err(ToolError::new(
            ErrorKind::FileNotFound,
            format!("The working directory '{path}' does not exist. Create it first, or leave it out to run in the workspace."),
        )),
    }
}

/// A command in a directory outside the workspace reads that directory.
pub(crate) fn directory_read(directory: &Location) -> Option<Effect> {
    (directory.zone() == Zone::Outside).then(|| Effect::Read(PathEffect { location: directory.clone(), extent: Extent::Tree }))
}

/// The file of a program name. Folders that commands write are not searched: a program may be planted there.
pub(crate) fn program(sandboxer: &Sandboxer, name: &str) -> Option<PathBuf> {
    environment::find_program(name, &sandboxer.files().writable())
}

/// The connections to the hosts that the call names.
pub(crate) fn connections(hosts: &[String], http: &dyn HttpClient) -> Result<Vec<Effect>, ToolError> {
    let connect = |entry: &String| {
        let has_port = entry.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let authority = if has_port { entry.clone() } else { format!("{entry}:{DEFAULT_PORT}") };
        let Connect { host, port, refused, causes, .. } = http.locate("GET", &format!("https://{authority}/"))?;
        let mut connect = Connect::tunnel(host, port);
        (connect.refused, connect.causes) = (refused, causes);
        Ok(Effect::Connect(connect))
    };
    hosts.iter().map(connect).collect()
}

/// The scripts that a command runs, with their fingerprints: they must not change between approval and start.
pub(crate) fn scripts(analysis: &Analysis, directory: &Path) -> Vec<(PathBuf, String)> {
    let mut paths: Vec<PathBuf> = analysis.commands.iter().flat_map(script_words).map(|word| directory.join(word)).collect();
    paths.sort_unstable();
    paths.dedup();
    paths.truncate(MAX_SCRIPTS);
    paths.into_iter().filter_map(|path| script_fingerprint(&path).ok().flatten().map(|fingerprint| (path, fingerprint))).collect()
}

/// The words that may name a script: a program with a path, and the arguments of an interpreter.
fn script_words(command: &Command) -> Vec<&str> {
    let program = command.program.text();
    let interprets = class_of(program).is_some_and(ProgramClass::runs_scripts) || matches!(program, "." | "source");
    let arguments = command.arguments.iter().filter(|word| interprets && !matches!(word, Word::Expanded(_)));
    let arguments = arguments.map(Word::text).filter(|text| !text.starts_with('-'));
    program.contains('/').then_some(program).into_iter().chain(arguments).collect()
}

/// Refuses a command whose scripts have changed since it was planned.
pub(crate) fn check_scripts(scripts: &[(PathBuf, String)]) -> Result<(), ToolError> {
    let has_changed = |(path, planned): &&(PathBuf, String)| script_fingerprint(path).ok().flatten().as_ref() != Some(planned);
    let Some((path, _)) = scripts.iter().find(has_changed) else { return Ok(()) };
    let path = display::escape_line(&path.to_string_lossy()).into_owned();
    Err(ToolError::denied(format!("'{path}' was changed after the command was checked, so it was not run. Ask for it again.")))
}

/// `None` if it is no file, or too large.
fn script_fingerprint(path: &Path) -> io::Result<Option<String>> {
    let metadata = path.metadata()?;
    if !metadata.is_file() || metadata.len() > MAX_SCRIPT_BYTES {
        return Ok(None);
    }
    haft_host::sha256(File::open(path)?.take(MAX_SCRIPT_BYTES + 1), || Ok(())).map(Some)
}
