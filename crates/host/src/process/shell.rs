//! Lines of shell, read before they run: every program, every file, every host becomes an effect.

use std::path::{Path, PathBuf};

use haft_contract::{
    Connect, Effect, ErrorKind, Exec, ExecHost, ExecNature, Extent, FileSystem, HttpClient, Line, LineRequest, Location, PathEffect,
    ToolError, Zone, visible,
};
use haft_shell::{Analysis, Directory, Nature, SafeBins, Target, Verdict, Word, analyse, satisfies_safe_bins};

use super::environment;
use super::walls::Walls;

/// Shells, the best first.
const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"];
/// Behind walls these are the line's own, and gone with it.
const ITS_OWN: &[&str] = &["/tmp", "/var/tmp", "/dev", "/proc"];
/// What every program reads to run at all: no private data.
const OF_THE_SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/etc", "/proc", "/sys", "/dev", "/nix"];
/// Where a host that is to be reached listens, if nothing is said.
const USUAL_PORT: u16 = 443;

/// Plans a line.
pub(super) fn plan(request: &LineRequest, walls: &Walls, http: &dyn HttpClient) -> Result<Line, ToolError> {
    if request.line.trim().is_empty() {
        return Err(ToolError::validation("Provide a command to run: 'command' is empty."));
    }
    environment::check_all(&request.environment)?;
    let analysis = analyse(&request.line);
    if let Some(reason) = &analysis.refused {
        return Err(ToolError::denied(format!("The command was refused: {}", visible::line(&reason.message))));
    }
    let planner = Planner { walls, host: walls.host(request.host), analysis: &analysis };
    if planner.host == ExecHost::Node {
        let advice = "Leave 'host' out, or set exec.host to 'sandbox' if it is the configuration that says so";
        return Err(ToolError::validation(format!("There is no paired machine to run it on (host 'node'). {advice}.")));
    }
    let directory = planner.directory(request.directory.as_deref())?;
    let mut effects = planner.commands(directory.path());
    effects.extend(planner.files(&directory)?);
    effects.extend(connections(&request.reach, http)?);
    effects.extend(planner.unknown());
    planner.line(request, &directory, effects)
}

struct Planner<'a> {
    walls: &'a Walls,
    host: ExecHost,
    analysis: &'a Analysis,
}

impl Planner<'_> {
    /// Where it runs: a folder that is there, and that the session may read.
    fn directory(&self, wanted: Option<&Path>) -> Result<Location, ToolError> {
        let files = self.walls.files();
        let location = files.locate(wanted.unwrap_or(Path::new(".")))?;
        let shown = visible::line(&location.path().to_string_lossy()).into_owned();
        match location.path().metadata() {
            Ok(metadata) if metadata.is_dir() => Ok(location),
            Ok(_) => Err(ToolError::validation(format!("The working directory '{shown}' is no folder. Give a folder, or leave it out."))),
            Err(_) => Err(ToolError::new(
                ErrorKind::FileNotFound,
                format!("The working directory '{shown}' does not exist. Create it first, or leave it out to run in the workspace."),
            )),
        }
    }

    fn commands(&self, directory: &Path) -> Vec<Effect> {
        let safe = SafeBins::default();
        let command = |command: &haft_shell::Command| {
            let named = command.program.text().to_owned();
            let program = self.program(&named, directory);
            let arguments: Vec<String> = command.arguments.iter().map(|word| word.text().to_owned()).collect();
            let mut exec = Exec::new(program, arguments, directory);
            exec.named = named;
            exec.host = self.host;
            exec.environment = command.assignments.iter().map(|assignment| assignment.name.clone()).collect();
            exec.nature = match command.nature {
                _ if command.arguments.iter().chain([&command.program]).any(|word| matches!(word, Word::Expanded(_))) => {
                    ExecNature::Expanded
                }
                _ if satisfies_safe_bins(command, &safe) => ExecNature::Filters,
                Nature::ReadsOnly => ExecNature::Reads,
                _ => ExecNature::Any,
            };
            Effect::Exec(exec)
        };
        self.analysis.commands.iter().map(command).collect()
    }

    /// The file that runs. What is not found is one of the shell's own commands, or nothing at all: then the name stands for it.
    fn program(&self, named: &str, directory: &Path) -> PathBuf {
        if self.host == ExecHost::Container {
            // Its root is another one, with its own programs.
            return PathBuf::from(named);
        }
        if named.contains('/') {
            let path = directory.join(named);
            return path.canonicalize().unwrap_or(path);
        }
        let inside = |folder: &PathBuf| folder.starts_with(self.walls.files().root());
        let path = environment::search_path(std::env::var_os("PATH"));
        let mut folders = std::env::split_paths(&path).filter(|folder| !inside(folder));
        folders.find_map(|folder| executable(&folder.join(named))).unwrap_or_else(|| PathBuf::from(named))
    }

    fn files(&self, directory: &Location) -> Result<Vec<Effect>, ToolError> {
        let base = match &self.analysis.directory {
            Directory::Changed(path) => directory.path().join(path),
            _ => directory.path().to_owned(),
        };
        let mut effects = Vec::new();
        if directory.zone() == Zone::Outside {
            effects.push(Effect::Read(PathEffect { location: directory.clone(), extent: Extent::Tree }));
        }
        for target in self.analysis.reads.iter().filter(|target| target.exact) {
            if let Some(location) = self.file(&base, target, OF_THE_SYSTEM)? {
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

    /// Where a file is that the line names, unless it is the line's own, or lies in folders that are free to all.
    fn file(&self, base: &Path, target: &Target, free: &[&str]) -> Result<Option<Location>, ToolError> {
        let location = self.walls.files().locate(&base.join(&target.path))?;
        let beneath = |folders: &[&str]| folders.iter().any(|folder| location.path().starts_with(folder));
        let in_workspace = location.path().starts_with(self.walls.files().root());
        let its_own = self.host.is_walled() && !in_workspace && beneath(ITS_OWN);
        let harmless = !in_workspace && location.no_read().is_none() && beneath(free);
        Ok((!its_own && !harmless).then_some(location))
    }

    fn unknown(&self) -> Option<Effect> {
        (self.analysis.verdict() == Verdict::Unknown).then(|| {
            let why: Vec<&str> = self.analysis.unknown.iter().map(|reason| reason.message.as_str()).collect();
            Effect::Unknown { why: why.join("; ") }
        })
    }

    fn line(&self, request: &LineRequest, directory: &Location, effects: Vec<Effect>) -> Result<Line, ToolError> {
        let shell = SHELLS.iter().map(Path::new).find(|shell| shell.exists());
        let shell = shell.ok_or_else(|| ToolError::execution("There is no shell on this machine: install bash."))?;
        let mut exec = Exec::new(shell, vec!["-c".into(), request.line.clone()], directory.path());
        exec.host = self.host;
        let mut line =
            Line::new(exec, &*request.line, effects).with_environment(request.environment.clone()).with_notes(self.notes(request));
        if self.host.is_walled() {
            line = line.within(self.walls.files().root());
        }
        Ok(line)
    }

    fn notes(&self, request: &LineRequest) -> Vec<String> {
        let mut notes = Vec::new();
        if self.host.is_walled() && request.reach.is_empty() && !self.analysis.hosts.is_empty() {
            let hosts = visible::line(&self.analysis.hosts.join(", ")).into_owned();
            notes.push(format!("There is no network in the sandbox. To reach {hosts}, ask for it with allow_hosts."));
        }
        notes
    }
}

fn executable(path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = path.metadata().ok()?;
    (metadata.is_file() && metadata.permissions().mode() & 0o111 != 0).then(|| path.to_owned())
}

/// The hosts that it is to reach.
fn connections(reach: &[String], http: &dyn HttpClient) -> Result<Vec<Effect>, ToolError> {
    let connect = |entry: &String| {
        let has_port = entry.rsplit_once(':').is_some_and(|(_, port)| port.bytes().all(|byte| byte.is_ascii_digit()));
        let authority = if has_port { entry.clone() } else { format!("{entry}:{USUAL_PORT}") };
        let Connect { host, port, refused, .. } = http.locate("GET", &format!("https://{authority}/"))?;
        let mut connect = Connect::new("https", host, port, "CONNECT");
        connect.refused = refused;
        Ok(Effect::Connect(connect))
    };
    reach.iter().map(connect).collect()
}
