//! Lines of shell, read before they run: every program, every file, every host becomes an effect.

use std::path::{Path, PathBuf};

use haft_contract::{
    Effect, Exec, ExecHost, ExecNature, Extent, FileSystem, HttpClient, Line, LineRequest, Location, PathEffect, ToolError, visible,
};
use haft_shell::{Analysis, Directory, Nature, SafeBins, Target, Verdict, Word, analyse, satisfies_safe_bins};

use super::walls::Walls;
use super::{changes, environment, lookup, scripts, whereabouts};

/// Shells, the best first.
const SHELLS: &[&str] = &["/bin/bash", "/usr/bin/bash", "/usr/local/bin/bash", "/bin/sh"];
/// Behind walls these are the line's own, and gone with it.
const ITS_OWN: &[&str] = &["/tmp", "/var/tmp", "/dev", "/proc"];
/// What every program reads to run at all: no private data.
const OF_THE_SYSTEM: &[&str] = &["/usr", "/bin", "/sbin", "/lib", "/lib64", "/opt", "/etc", "/proc", "/sys", "/dev", "/nix"];

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
    let planner = Planner { walls, host: lookup::host(walls, request.host)?, analysis: &analysis };
    let directory = lookup::directory(walls, request.directory.as_deref())?;
    let mut effects = planner.commands(directory.path());
    effects.extend(planner.files(&directory)?);
    effects.extend(lookup::connections(&request.reach, http)?);
    effects.extend(planner.unknown());
    planner.line(request, &directory, effects)
}

struct Planner<'a> {
    walls: &'a Walls,
    host: ExecHost,
    analysis: &'a Analysis,
}

impl Planner<'_> {
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
        lookup::installed(self.walls, named).unwrap_or_else(|| PathBuf::from(named))
    }

    fn files(&self, directory: &Location) -> Result<Vec<Effect>, ToolError> {
        let base = match &self.analysis.directory {
            Directory::Changed(path) => directory.path().join(path),
            _ => directory.path().to_owned(),
        };
        let mut effects: Vec<Effect> = lookup::reading(directory).into_iter().collect();
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
        let mark = request.tells_directory.then(whereabouts::mark);
        let told = mark.as_ref().map_or_else(|| request.line.clone(), |mark| whereabouts::telling(&request.line, mark));
        let mut exec = Exec::new(shell, vec!["-c".into(), told], directory.path());
        exec.host = self.host;
        let mut line = Line::new(exec, &*request.line, effects)
            .with_environment(request.environment.clone())
            .with_notes(self.notes(request))
            .with_limits(self.walls.granted(request.limits, self.host));
        if let Some(mark) = mark {
            line = line.with_mark(mark);
        }
        if self.host.is_walled() {
            line = line.within(self.walls.files().root());
        } else {
            // Nothing else holds these: what was judged must be what runs.
            line = line.with_scripts(scripts::named(self.analysis, directory.path()));
        }
        changes::kept_apart(line, request, self.walls.options().changes.mode)
    }

    fn notes(&self, request: &LineRequest) -> Vec<String> {
        let mut notes = Vec::new();
        if self.host.is_walled() && request.reach.is_empty() && !self.analysis.hosts.is_empty() {
            let hosts = visible::line(&self.analysis.hosts.join(", ")).into_owned();
            notes.push(format!("There is no network in the sandbox. To reach {hosts}, ask for it with allow_host."));
        }
        notes
    }
}
