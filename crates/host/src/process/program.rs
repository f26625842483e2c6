//! Code for a program that is no shell. Nothing in it is followed, so the program itself is its one effect.

use std::path::PathBuf;

use haft_contract::{Effect, ErrorKind, Exec, ExecHost, HttpClient, Line, LineRequest, Program, Takes, ToolError};

use super::walls::Walls;
use super::{changes, environment, lookup};

/// Plans it.
pub(super) fn plan(request: &LineRequest, program: &Program, walls: &Walls, http: &dyn HttpClient) -> Result<Line, ToolError> {
    environment::check_all(&request.environment)?;
    let directory = lookup::directory(walls, request.directory.as_deref())?;
    let host = lookup::host(walls, request.host)?;
    let (named, path) = if host == ExecHost::Container { in_container(program) } else { installed(program, walls)? };
    let code = std::iter::once(request.line.clone());
    let mut runs = Exec::new(path, program.arguments.clone(), directory.path());
    named.clone_into(&mut runs.named);
    runs.host = host;
    let mut judged = runs.clone();
    match program.takes {
        Takes::Argument => {
            runs.arguments.extend(code);
            judged = runs.clone();
        }
        Takes::Input => judged.arguments = code.collect(),
    }
    let mut effects = vec![Effect::Exec(judged)];
    effects.extend(lookup::reading(&directory));
    effects.extend(lookup::connections(&request.reach, http)?);
    let line = Line::new(runs, &*request.line, effects)
        .with_environment(request.environment.clone())
        .with_limits(walls.granted(request.limits, host));
    let line = if host.is_walled() { line.within(walls.files().root()) } else { line };
    changes::kept_apart(line, request, walls.options().changes.mode)
}

/// Its root is another one, with its own programs: it finds the one that it has.
fn in_container(program: &Program) -> (&'static str, PathBuf) {
    let name = program.names.first().copied().unwrap_or_default();
    (name, PathBuf::from(name))
}

fn installed(program: &Program, walls: &Walls) -> Result<(&'static str, PathBuf), ToolError> {
    let found = |name: &&'static str| lookup::installed(walls, name).map(|path| (*name, path));
    program.names.iter().find_map(found).ok_or_else(|| {
        let names = program.names.join("' or '");
        let message = format!("There is no program '{names}' on this machine (programs in the workspace do not count). {}", program.advice);
        ToolError::new(ErrorKind::ExecutionError, message)
    })
}
