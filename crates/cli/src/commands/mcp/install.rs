//! `haft mcp install`: adds Haft to the configuration of a client.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use haft_patch::diff::unified;
use haft_text::display;
use serde_json::{Value, json};

use super::json_edit;
use crate::arguments::{Common, McpInstallArgs};
use crate::failure::{Exit, Failure};
use crate::output::{Output, note, print};
use crate::terminal::{write_note, yes_or_no};

/// A larger file is not the configuration of a client.
const MOST_BYTES: u64 = 16 << 20;
/// Lines around a change.
const CONTEXT: usize = 3;
/// Copies that are kept at most.
const MOST_COPIES: u32 = 100;

/// Links that are followed, as many as the system follows.
const MOST_LINKS: usize = 40;

/// A change of a client's file.
struct ClientFileChange {
    file: PathBuf,
    /// `None` if there is no file yet.
    before: Option<String>,
    after: String,
}

pub(super) fn run(common: &Common, request: &McpInstallArgs, output: &Output) -> Result<Exit, Failure> {
    let change = change(common, request)?;
    let label = request.client.label();
    if change.before.as_deref() == Some(&change.after) {
        let text = format!("{label} has this entry already: {}\n", display::escape_line(&change.file.to_string_lossy()));
        return output.show(|| change.to_json(false, None), || text);
    }
    if !output.json {
        print(&change.diff())?;
    }
    if request.print {
        return if output.json { output.show(|| change.to_json(false, None), String::new) } else { Ok(Exit::Success) };
    }
    if !request.yes && !confirm(&format!("Write this to the configuration of {label}?")) {
        note("nothing was written");
        return Ok(Exit::Failed);
    }
    let copy = change.write().map_err(|error| {
        let message = format!("{} cannot be written: {error}", change.file.display());
        Failure::failed("execution_error", message).help("--print shows the entry, to be added by hand")
    })?;
    let kept = copy.as_ref().map(|copy| format!("The file as it was: {}\n", display::escape_line(&copy.to_string_lossy())));
    let text = format!("Written. Restart {label} to use it.\n{}", kept.unwrap_or_default());
    output.show(|| change.to_json(true, copy.as_deref()), || text)
}

fn confirm(question: &str) -> bool {
    write_note(&format!("{question} [y/n] "));
    let line = io::stdin().lines().next().and_then(Result::ok);
    line.is_some_and(|line| yes_or_no(line.trim()) == Some(true))
}

fn change(common: &Common, request: &McpInstallArgs) -> Result<ClientFileChange, Failure> {
    let client = request.client;
    if request.name.is_empty() || request.name.chars().any(char::is_control) {
        return Err(Failure::usage("this is no name for a server").help("use letters and digits, such as 'haft'"));
    }
    let file = request.file.clone().map_or_else(|| client.file(), Ok)?;
    let before = read(&file)?;
    let program = std::env::current_exe().and_then(|program| program.canonicalize());
    let program = program.map_err(|error| Failure::failed("execution_error", format!("the path of haft cannot be found: {error}")))?;
    let entry = client.entry(&program.to_string_lossy(), &arguments(common, client.open_folder())?);
    let entry = json_edit::merged(before.as_deref().unwrap_or_default(), client.section(), &request.name, entry);
    let after = json_edit::set(before.as_deref().unwrap_or_default(), client.section(), &request.name, &entry).map_err(|why| {
        let help = format!("fix it, or add this to '{}' by hand: {}", client.section(), json!({ request.name.as_str(): entry }));
        Failure::failed("execution_error", format!("{} cannot be changed: {why}", file.display())).help(help)
    })?;
    Ok(ClientFileChange { file, before, after })
}

/// The arguments of `haft` in the client's file: the flags of this command, with the folder that the tools work in.
fn arguments(common: &Common, open_folder: Option<&str>) -> Result<Vec<String>, Failure> {
    let named = common.workspace.as_deref().map(absolute).transpose()?;
    let folder = match (named, open_folder) {
        (Some(folder), _) => folder,
        (None, Some(variable)) => variable.to_owned(),
        (None, None) => absolute(Path::new("."))?,
    };
    let mut arguments = vec!["mcp".to_owned(), "--workspace".to_owned(), folder];
    let mut add = |flag: &str, value: Option<String>| {
        arguments.extend(value.map(|value| [flag.to_owned(), value]).into_iter().flatten());
    };
    add("--access", common.access.map(|access| access.to_string()));
    add("--agent", common.agent.clone());
    add("--profile", common.profile.clone());
    add("--preset", common.preset.clone());
    add("--dialect", common.dialect.map(|dialect| dialect.as_str().to_owned()));
    add("--config", common.config.as_deref().map(absolute).transpose()?);
    Ok(arguments)
}

fn absolute(path: &Path) -> Result<String, Failure> {
    let real = path.canonicalize().map_err(|error| Failure::usage(format!("'{}' cannot be used: {error}", path.display())))?;
    real.into_os_string().into_string().map_err(|_| Failure::usage("this path is not valid UTF-8, so it cannot be written to the file"))
}

fn read(file: &Path) -> Result<Option<String>, Failure> {
    let refused = |why: String| Failure::failed("execution_error", format!("{} cannot be read: {why}", file.display()));
    match fs::metadata(file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(error.to_string())),
        Ok(found) if !found.is_file() || found.len() > MOST_BYTES => return Err(refused("it is no configuration file".to_owned())),
        Ok(_) => {}
    }
    fs::read_to_string(file).map(Some).map_err(|error| refused(error.to_string()))
}

impl ClientFileChange {
    fn diff(&self) -> String {
        let before = self.before.as_deref().unwrap_or_default();
        let diff = unified(before.as_bytes(), self.after.as_bytes(), self.file.to_string_lossy().trim_start_matches('/'), CONTEXT);
        display::escape_lines(&diff).into_owned()
    }

    fn to_json(&self, is_written: bool, copy: Option<&Path>) -> Value {
        json!({ "file": self.file, "written": is_written, "backup": copy, "diff": self.diff() })
    }

    /// Writes the file, whole or not at all; returns the copy of what was there.
    fn write(&self) -> io::Result<Option<PathBuf>> {
        // A link to the real file stays a link, also if the file is not there yet.
        let file = self.file.canonicalize().unwrap_or_else(|_| link_target(&self.file));
        let folder = file.parent().unwrap_or(Path::new("."));
        fs::create_dir_all(folder)?;
        if read(&file).ok().flatten() != self.before {
            return Err(io::Error::other("it has changed meanwhile; try again"));
        }
        let copy = self.before.as_deref().map(|before| backup(&file, before)).transpose()?;
        let new = file.with_added_extension("haft-new");
        let mut out = fs::OpenOptions::new().write(true).create_new(true).open(&new)?;
        let written = out.write_all(self.after.as_bytes()).and_then(|()| out.sync_all());
        let permissions = fs::metadata(&file).map(|found| found.permissions());
        let replaced = written.and_then(|()| {
            permissions.map_or(Ok(()), |permissions| fs::set_permissions(&new, permissions))?;
            fs::rename(&new, &file)
        });
        if replaced.is_err() {
            fs::remove_file(&new).ok();
        }
        replaced.map(|()| copy)
    }
}

/// Where links lead, whether or not there is a file.
fn link_target(file: &Path) -> PathBuf {
    let mut file = file.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&file) else { break };
        file = file.parent().unwrap_or(Path::new("")).join(target);
    }
    file
}

/// Copies the file to a name beside it that is free.
fn backup(file: &Path, before: &str) -> io::Result<PathBuf> {
    for number in 1..=MOST_COPIES {
        let copy = file.with_added_extension(format!("backup-{number}"));
        match fs::OpenOptions::new().write(true).create_new(true).open(&copy) {
            Ok(mut out) => {
                out.write_all(before.as_bytes())?;
                fs::set_permissions(&copy, fs::metadata(file)?.permissions())?;
                return Ok(copy);
            }
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(error),
        }
    }
    Err(io::Error::other(format!("there are {MOST_COPIES} copies of it; remove some")))
}
