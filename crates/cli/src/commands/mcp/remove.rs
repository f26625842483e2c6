//! `haft mcp remove`: removes a server from the user's file, and what was stored of it.

use haft_config::OwnFile;
use haft_mcp::client::{FOLDER, server_name};
use haft_text::display;
use serde_json::json;

use crate::failure::{Exit, Failure};
use crate::output::{GOOD, Output};
use crate::wire::Wire;

pub(super) fn run(wire: &Wire, written: &str, output: &Output) -> Result<Exit, Failure> {
    let file = OwnFile::read(&wire.own_file()?).map_err(|error| Failure::config(error.to_string()))?;
    let all = wire.settings.provenance.names_beneath(&["mcp", "servers"]);
    let same = |known: &&String| *known == written || server_name(known).ok() == server_name(written).ok();
    let name = all.iter().find(same).cloned().unwrap_or_else(|| written.to_owned());
    let changed = file.without_server(&name).map_err(|error| Failure::config(error.to_string()))?;
    let Some(text) = changed else {
        let shown = display::shorten(written, 80);
        let message = format!("there is no MCP server '{shown}' in {}", display::escape_line(&file.path().to_string_lossy()));
        return Err(Failure::failed("not_found", message).help("`haft mcp list` lists them; one of a project is in .haft/config.toml"));
    };
    let path = file.path().display().to_string();
    drop(file.replace(text).map_err(|error| Failure::config(error.to_string()))?);
    forget(wire, &server_name(&name).unwrap_or_default());
    let text = format!("{GOOD}removed{GOOD:#} '{}' from {}\n", display::escape_line(&name), display::escape_line(&path));
    output.show(|| json!({ "server": name, "file": path }), || text)
}

/// Removes its approved tools, its log and its sign-in. What cannot be removed does no harm.
fn forget(wire: &Wire, name: &str) {
    let Ok(entries) = wire.settings.data_folder.join(FOLDER).read_dir() else { return };
    for entry in entries.flatten() {
        let file = entry.file_name().to_string_lossy().into_owned();
        let is_of = |rest: &str| {
            let stored = [".json", ".oauth", ".oauth-lock"].iter().find_map(|ending| rest.strip_suffix(ending));
            rest == ".log" || stored.is_some_and(|hash| hash.starts_with('-'))
        };
        let is_record = file.strip_prefix(name).is_some_and(is_of);
        if is_record && !name.is_empty() {
            drop(std::fs::remove_file(entry.path()));
        }
    }
}
