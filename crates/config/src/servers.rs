//! MCP servers: what a project would start, the files that commands name, and what a table must have.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use haft_text::display;

use crate::command_files::files_of;
use crate::problem::{Problem, Problems};
use crate::provenance::{Provenance, Setting};
use crate::trust::PendingTrust;
use crate::{ConfigLayer, Environment, paths, read};

const TABLE: [&str; 2] = ["mcp", "servers"];

/// A server that a layer would start, and the files of the workspace that its command names.
pub(crate) struct StartedServer {
    pub(crate) layer: ConfigLayer,
    pub(crate) files: Vec<PathBuf>,
}

/// The name of the server that a setting is of.
fn server_of(setting: &Setting) -> Option<&str> {
    match setting.path.as_slice() {
        [mcp, servers, name, ..] if *mcp == TABLE[0] && *servers == TABLE[1] => Some(name),
        _ => None,
    }
}

/// The servers of every layer that has any.
pub(crate) fn started(settings: &[Setting], workspace: &Path, home: Option<&Path>) -> Vec<StartedServer> {
    let mut words: BTreeMap<(ConfigLayer, &str), Vec<String>> = BTreeMap::new();
    for setting in settings {
        let (Some(name), Some(key)) = (server_of(setting), setting.path.get(3)) else { continue };
        let own = words.entry((setting.source.layer, name)).or_default();
        match key.as_str() {
            "command" => own.extend(setting.value.as_text().map(str::to_owned)),
            "args" => own.extend(setting.value.entries().iter().map(|entry| entry.value.clone())),
            _ => {}
        }
    }
    let quoted = |word: &String| format!("'{}'", word.replace('\'', "'\\''"));
    let server = |((layer, _), words): ((ConfigLayer, &str), Vec<String>)| {
        let found = files_of(&words.iter().map(quoted).collect::<Vec<_>>().join(" "), workspace, home);
        StartedServer { layer, files: found.files.into_iter().chain(found.missing).collect() }
    };
    words.into_iter().map(server).collect()
}

/// What waits for trust, one for each server, with all of its fields.
pub(crate) fn pending(withheld: &[Setting]) -> Vec<PendingTrust> {
    let mut servers: Vec<(&str, PendingTrust)> = Vec::new();
    for setting in withheld {
        let Some(name) = server_of(setting) else { continue };
        let at = servers.iter().position(|(known, _)| *known == name).unwrap_or_else(|| {
            servers.push((name, PendingTrust::new(format!("MCP server '{name}'"), setting.source.clone())));
            servers.len() - 1
        });
        let name = setting.key.path.rsplit('.').find(|part| *part != "*").unwrap_or(setting.key.path);
        let value = match setting.path.get(4) {
            Some(variable) => format!("{variable}={}", setting.value),
            None => setting.value.to_string(),
        };
        servers[at].1.fields.push((name, display::escape_line(&value).into_owned()));
    }
    servers.into_iter().map(|(_, pending)| pending).collect()
}

/// Reports a server of an untrusted project.
pub(crate) fn not_started(pending: &PendingTrust) -> Problem {
    let message = format!("the project's {} is not started, because this folder is not trusted", pending.what);
    let help = "see `haft trust --show`, and run `haft trust` if you want it, or remove the server";
    Problem::warning(pending.source.clone(), message).key("mcp.servers").help(help)
}

/// Every server has a command or an address, and not both.
pub(crate) fn check(provenance: &Provenance, problems: &mut Problems) {
    for name in provenance.names_beneath(&TABLE) {
        let at = |key: &'static str| provenance.get_at(&[TABLE[0], TABLE[1], &name, key]);
        let mut own = provenance.settings().iter().filter(|setting| server_of(setting) == Some(&name));
        let Some(first) = own.next() else { continue };
        let key = format!("mcp.servers.{name}");
        let (message, help) = match (at("command"), at("url")) {
            (Some(_), None) | (None, Some(_)) => continue,
            (None, None) => ("has neither a command nor a url", "add command = \"…\", or url = \"https://…\""),
            (Some(_), Some(_)) => ("has both a command and a url", "remove one of the two"),
        };
        let source = first.source.clone();
        problems.add(|| Problem::error(source, format!("'{key}' {message}")).key(&key).help(help));
    }
}

/// The names of the servers in the user's file and in the project's, trusted or not, before anything is checked. A file that cannot
/// be read has none; loading it reports that.
pub fn configured_servers(workspace: &Path, file: Option<&Path>, own_text: Option<&str>, environment: Environment<'_>) -> Vec<String> {
    let own_file = || file.map(Path::to_owned).or_else(|| paths::config_file(environment).ok());
    let own = own_text.map(str::to_owned).or_else(|| read::read(&own_file()?).ok().flatten());
    let project = read::read_project(workspace).ok().flatten();
    let names = |text: String| -> Vec<String> {
        let table = toml::from_str::<toml::Table>(read::without_bom(&text).0).ok();
        let servers = table.as_ref().and_then(|table| table.get(TABLE[0])?.get(TABLE[1])?.as_table());
        servers.map(|servers| servers.keys().cloned().collect()).unwrap_or_default()
    };
    own.into_iter().chain(project).flat_map(names).collect()
}
