//! The Git identity of the user, for commits in the sandbox. Nothing else of the user's Git settings is there: they name programs
//! and credentials.

use std::fs;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

/// The keys that are passed on.
const KEYS: &str = r"^(user\.(name|email)|init\.defaultbranch)$";
/// Settings of the machine, which the generated file replaces.
const SYSTEM: &str = "/etc/gitconfig";

/// Writes the generated settings; `false` if the user has no identity.
pub(super) fn write(file: &Path) -> io::Result<bool> {
    let Some(text) = read().map(|settings| render(&settings)).filter(|text| !text.is_empty()) else { return Ok(false) };
    if fs::read_to_string(file).is_ok_and(|now| now == text) {
        return Ok(true);
    }
    // By a rename: a command that starts at the same time must not see half of it.
    let new = file.with_extension(std::process::id().to_string());
    fs::write(&new, text)?;
    fs::rename(&new, file)?;
    Ok(true)
}

/// The settings of the user, each as its key, a newline and its value.
fn read() -> Option<Vec<(String, String)>> {
    let mut git = Command::new("git");
    git.args(["config", "--global", "--includes", "--null", "--get-regexp", KEYS]).current_dir("/").stdin(Stdio::null());
    let output = git.output().ok().filter(|output| output.status.success())?;
    let text = String::from_utf8(output.stdout).ok()?;
    let pair = |entry: &str| entry.split_once('\n').map(|(key, value)| (key.to_owned(), value.to_owned()));
    Some(text.split('\0').filter_map(pair).collect())
}

fn render(settings: &[(String, String)]) -> String {
    let section = |(key, value): &(String, String)| {
        let (section, name) = key.split_once('.')?;
        let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
        Some(format!("[{section}]\n\t{name} = \"{value}\"\n"))
    };
    let own: String = settings.iter().filter_map(section).collect();
    if own.is_empty() { own } else { format!("[include]\n\tpath = {SYSTEM}\n{own}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn generated_settings_are_read_by_git_as_they_were() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("gitconfig");
        let settings =
            [("user.name", "A \"quoted\" \\ name # no comment"), ("user.email", "a@example.org"), ("init.defaultbranch", "trunk")];
        fs::write(&file, render(&settings.map(|(key, value)| (key.to_owned(), value.to_owned())))).unwrap();
        for (key, value) in settings {
            let read = Command::new("git").args(["config", "--file"]).arg(&file).args(["--get", key]).output().unwrap();
            assert_eq!(String::from_utf8(read.stdout).unwrap().trim_end(), value, "{key}");
        }
        assert_eq!(render(&[]), "");
    }
}
