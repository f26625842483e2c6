//! Where a line runs, what it starts, whom it reaches: looked up on this machine before anything runs.

use std::path::{Path, PathBuf};

use haft_contract::{Connect, Effect, ErrorKind, ExecHost, Extent, FileSystem, HttpClient, Location, PathEffect, ToolError, Zone, visible};

use super::environment;
use super::walls::Walls;

/// Where a host that is to be reached listens, if nothing is said.
const USUAL_PORT: u16 = 443;

/// On which machine it runs, behind which walls.
pub(super) fn host(walls: &Walls, wanted: Option<ExecHost>) -> Result<ExecHost, ToolError> {
    match walls.host(wanted) {
        ExecHost::Node => {
            let advice = "Leave 'host' out, or set exec.host to 'sandbox' if it is the configuration that says so";
            Err(ToolError::validation(format!("There is no paired machine to run it on (host 'node'). {advice}.")))
        }
        host => Ok(host),
    }
}

/// Where it runs: a folder that is there, and that the session may read.
pub(super) fn directory(walls: &Walls, wanted: Option<&Path>) -> Result<Location, ToolError> {
    let location = walls.files().locate(wanted.unwrap_or(Path::new(".")))?;
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

/// Who runs outside the workspace reads there.
pub(super) fn reading(directory: &Location) -> Option<Effect> {
    (directory.zone() == Zone::Outside).then(|| Effect::Read(PathEffect { location: directory.clone(), extent: Extent::Tree }))
}

/// The file that a bare name stands for. What lies in the workspace is not found: it may be planted there.
pub(super) fn installed(walls: &Walls, named: &str) -> Option<PathBuf> {
    let inside = |folder: &PathBuf| folder.starts_with(walls.files().root());
    let path = environment::search_path(std::env::var_os("PATH"));
    let mut folders = std::env::split_paths(&path).filter(|folder| !inside(folder));
    folders.find_map(|folder| executable(&folder.join(named)))
}

fn executable(path: &Path) -> Option<PathBuf> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = path.metadata().ok()?;
    (metadata.is_file() && metadata.permissions().mode() & 0o111 != 0).then(|| path.to_owned())
}

/// The hosts that it is to reach.
pub(super) fn connections(reach: &[String], http: &dyn HttpClient) -> Result<Vec<Effect>, ToolError> {
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
