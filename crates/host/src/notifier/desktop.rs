//! The desktop's own notifications, through the program that the system has for them.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::time::Duration;

use haft_contract::{CommandSpec, Exec, Notice, ports::ProcessRunner};
use haft_text::display;
use tokio_util::sync::CancellationToken;

/// More than this is not read in a pop-up.
const SHOWN_CHARACTERS: usize = 1000;
const TIME_LIMIT: Duration = Duration::from_secs(5);
const ERROR_BYTES: usize = 500;

/// What a program needs to find the user's session.
const SESSION: &[&str] = &["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR", "XAUTHORITY"];
/// Any of these says that there is one.
const SESSION_SIGNS: &[&str] = &["DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS"];

/// Where the notification program is looked for, and the session it speaks to.
#[derive(Debug, Clone, Default)]
pub struct Desktop {
    /// Folders to look in.
    pub search_path: Vec<PathBuf>,
    /// The session's environment variables; none means that there is no desktop.
    pub session: Vec<(String, String)>,
}

impl Desktop {
    /// The desktop that this process runs on.
    pub fn from_environment() -> Self {
        let search_path = std::env::var_os("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default();
        let session: Vec<_> = SESSION.iter().filter_map(|name| Some(((*name).to_owned(), std::env::var(name).ok()?))).collect();
        let is_one = session.iter().any(|(name, value)| SESSION_SIGNS.contains(&&**name) && !value.is_empty());
        Self { search_path, session: if is_one { session } else { Vec::new() } }
    }

    /// Shows a notice and names the program that did; `None` if there is no desktop to show it on. A program in a folder
    /// that is not trusted is skipped.
    pub(super) async fn show(
        &self,
        notice: &Notice,
        processes: &dyn ProcessRunner,
        is_trusted: impl Fn(&Path) -> bool,
    ) -> Result<Option<&'static str>, String> {
        let Some((name, program)) = self.program(is_trusted) else { return Ok(None) };
        let arguments = if name == "osascript" { osascript(notice) } else { notify_send(notice) };
        let output = processes.run(self.command(program, arguments), CancellationToken::new()).await;
        let output = output.map_err(|error| error.message().trim_end_matches('.').to_owned())?;
        match output.code {
            Some(0) if !output.timed_out => Ok(Some(name)),
            _ if output.timed_out => Err(format!("{name} did not end within {TIME_LIMIT:?}")),
            _ => Err(format!("{name} failed: {}", display::shorten(String::from_utf8_lossy(&output.stderr).trim(), ERROR_BYTES))),
        }
    }

    fn program(&self, is_trusted: impl Fn(&Path) -> bool) -> Option<(&'static str, PathBuf)> {
        let name = if cfg!(target_os = "macos") { "osascript" } else { "notify-send" };
        if self.session.is_empty() && name == "notify-send" {
            return None;
        }
        let folders = self.search_path.iter().filter(|folder| folder.is_absolute());
        let mut programs = folders.map(|folder| (folder, folder.join(name))).filter(|(_, file)| is_program(file));
        // The folder counts too: a link in it can be made to lead elsewhere later.
        programs.find(|(folder, file)| is_trusted(folder) && is_trusted(file)).map(|(_, file)| (name, file))
    }

    fn command(&self, program: PathBuf, arguments: Vec<String>) -> CommandSpec {
        let mut exec = Exec::new(program, arguments, "/");
        exec.environment = self.session.iter().map(|(name, _)| name.clone()).collect();
        CommandSpec { exec, environment: self.session.clone(), input: None, output_limit: ERROR_BYTES, timeout: TIME_LIMIT }
    }
}

fn is_program(file: &Path) -> bool {
    file.metadata().is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
}

fn title(notice: &Notice) -> String {
    if notice.recipient.is_empty() { "Haft".into() } else { format!("Haft: for {}", display::shorten(&notice.recipient, 100)) }
}

fn notify_send(notice: &Notice) -> Vec<String> {
    let urgency = match notice.urgency.as_str() {
        "low" => "low",
        "high" | "critical" => "critical",
        _ => "normal",
    };
    // The body is read as markup.
    let body = display::shorten(&notice.message, SHOWN_CHARACTERS).replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    vec!["--app-name=haft".into(), format!("--urgency={urgency}"), "--".into(), title(notice), body]
}

/// The texts are arguments of the script, never part of its source.
fn osascript(notice: &Notice) -> Vec<String> {
    let script = "on run argv\ndisplay notification (item 1 of argv) with title (item 2 of argv)\nend run";
    vec!["-e".into(), script.into(), "--".into(), display::shorten(&notice.message, SHOWN_CHARACTERS).into_owned(), title(notice)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_arguments_and_cannot_be_options_or_markup() {
        let notice = |urgency: &str| Notice { message: "-x <b>\n\u{1b}[2J&".into(), urgency: urgency.into(), recipient: "--help".into() };
        for (urgency, flag) in [("low", "low"), ("normal", "normal"), ("high", "critical"), ("critical", "critical"), ("odd", "normal")] {
            assert_eq!(
                notify_send(&notice(urgency)),
                ["--app-name=haft", &format!("--urgency={flag}"), "--", "Haft: for --help", "-x &lt;b&gt;\\n\\u{1b}[2J&amp;"]
            );
        }
        assert_eq!(osascript(&notice("low"))[2..], ["--", "-x <b>\\n\\u{1b}[2J&", "Haft: for --help"]);
    }
}
