//! Folders with secrets, and which commands may rename them.
//!
//! What hides a secret follows its folder, but not in an overlay, which finds folders by their names, nor where a backend compares nothing
//! with what was found. So most commands cannot rename such folders at all. Those that say that they move something can, and do not run
//! beside a command that would be shown the secret.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use haft_contract::{ChangeMode, ErrorKind, JobOptions, ShellCommand, ToolError};
use haft_host::SandboxPaths;
use haft_sandbox::usual_secrets;
use haft_text::display;

use crate::concurrent_runs::{ConcurrentRuns, RunEntry, RunRole, beside_mover};
use crate::moved_workspace::MovedPath;
use crate::sandboxer::Sandboxer;

/// The folder of the list of running commands, in that of their sockets.
const LIST: &str = "moves";
/// Paths that are hidden, and folders that are pinned for them; each is a mount.
const MOST_MOUNTS: usize = 600;
const SAY_IT: &str = "Run 'mv' as a command of its own, not in a script and not in the background";
const WAIT: &str = "Another command runs that would see them then. Try again when it has ended";
const ASK: &str = "Ask the user to rename it";
const MOVED_MEANWHILE: &str = "another command could move folders with secrets meanwhile, which were not hidden then";

/// What a command may do with folders that hold secrets.
#[derive(Debug, Default)]
pub(crate) struct FolderMoves {
    /// Its entry among the running commands, until it has ended.
    pub(crate) entry: Option<RunEntry>,
    /// The secrets whose folders it cannot rename.
    pub(crate) fixed: Vec<PathBuf>,
    pub(crate) pinned: PinnedFolders,
}

/// Folders that a command cannot rename, because of what is hidden in them.
#[derive(Debug, Default)]
pub(crate) struct PinnedFolders {
    folders: Vec<PathBuf>,
    /// What to do about it.
    advice: &'static str,
}

impl FolderMoves {
    /// Pins the folders of secrets, or lists the command among the running ones. Blocks.
    pub(crate) fn settle(
        command: &ShellCommand,
        options: &JobOptions,
        sandboxer: &Sandboxer,
        paths: &mut SandboxPaths,
    ) -> Result<Self, ToolError> {
        let secrets = movable_secrets(paths);
        if !command.shell().host.is_sandboxed() || secrets.is_empty() {
            return Ok(Self::default());
        }
        let compares = sandboxer.compares_mounts(command.shell().host);
        let (is_staged, changes_nothing) = (command.change_mode() != ChangeMode::Direct, command.has_read_only_view());
        let stays = options.background || options.serves_calls;
        let folders = movable_folders(&secrets, &paths.writable);
        let is_mover = (!stays && mentions_move(command.text())) || paths.masked.len() + folders.len() > MOST_MOUNTS;
        let role = match () {
            () if !compares || (is_staged && !changes_nothing) => Some(RunRole::Exposed),
            () if changes_nothing || !is_mover => None,
            () => Some(RunRole::Mover),
        };
        let roots: Vec<PathBuf> = paths.writable.iter().chain(&paths.read_only).cloned().collect();
        let list = ConcurrentRuns::new(sandboxer.options().folder.join(LIST));
        let entry = role.map(|role| list.enter(role, &roots)).transpose().map_err(not_listed)?.flatten();
        match (&entry, role) {
            (None, Some(RunRole::Exposed)) if sandboxer.options().required => return Err(beside_mover()),
            (None, Some(RunRole::Exposed)) => paths.uncovered.push(MOVED_MEANWHILE.to_owned()),
            // From now on nothing moves.
            (Some(_), Some(RunRole::Exposed)) => paths.moved().map_or(Ok(()), |path| Err(MovedPath(path)))?,
            _ => {}
        }
        let may_move = changes_nothing || is_staged || matches!((&entry, role), (Some(_), Some(RunRole::Mover)));
        if may_move && compares {
            return Ok(Self { entry, ..Self::default() });
        }
        let advice = match role {
            Some(RunRole::Mover) => WAIT,
            Some(RunRole::Exposed) => ASK,
            None => SAY_IT,
        };
        Ok(Self { entry, fixed: secrets, pinned: PinnedFolders { folders, advice } })
    }
}

fn not_listed(error: std::io::Error) -> ToolError {
    let what = format!("The command was not run: it cannot be listed among those that run: {error}.");
    ToolError::new(ErrorKind::SandboxUnavailable, what).with_source(error)
}

/// What is hidden below a folder that a command could rename.
fn movable_secrets(paths: &SandboxPaths) -> Vec<PathBuf> {
    let usual = std::env::home_dir().map(|home| usual_secrets(&home)).unwrap_or_default();
    let usual = usual.into_iter().filter(|path| path.exists() && !paths.masked.contains(path));
    let is_movable =
        |path: &PathBuf| paths.writable.iter().any(|root| path.parent().is_some_and(|above| above != root && above.starts_with(root)));
    paths.masked.iter().cloned().chain(usual).filter(|path| is_movable(path) && !paths.pinned.contains(path)).collect()
}

/// Whether a command says that it moves something. It is protected in the same way where this is wrong, and a folder stays where it is.
fn mentions_move(command: &str) -> bool {
    let mut words = command.split(|letter: char| !letter.is_alphanumeric()).map(str::to_ascii_lowercase);
    words.any(|word| matches!(&*word, "mv" | "mmv" | "zmv" | "move" | "movesync" | "exch") || word.starts_with("rename"))
}

/// The folders of the roots that have one of these files, at any depth.
fn movable_folders(secrets: &[PathBuf], roots: &[PathBuf]) -> Vec<PathBuf> {
    let is_movable = |folder: &&Path| roots.iter().any(|root| folder != root && folder.starts_with(root));
    let folders: BTreeSet<&Path> = secrets.iter().flat_map(|path| path.ancestors().skip(1).take_while(is_movable)).collect();
    folders.into_iter().map(Path::to_owned).collect()
}

impl PinnedFolders {
    /// Explains an error message that names one of the folders.
    pub(crate) fn explain(&self, line: &str, root: &Path) -> Option<String> {
        let is_named = |folder: &&PathBuf| {
            let relative = folder.strip_prefix(root).ok().filter(|relative| !relative.as_os_str().is_empty());
            relative.is_some_and(|relative| line.contains(&format!("'{}'", relative.display())))
        };
        let folder = display::escape_line(&self.folders.iter().find(is_named)?.to_string_lossy()).into_owned();
        Some(format!("'{folder}' holds files that are hidden from commands, so it cannot be renamed. {}", self.advice))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_say_that_they_move_something() {
        for (command, says) in [
            ("mv backend api", true),
            ("git mv backend api", true),
            ("cd a && bash -c 'mv b c'", true),
            ("python3 -c \"import os; os.rename('a', 'b')\"", true),
            ("python3 -c \"shutil.move('a', 'b')\"", true),
            ("node -e \"require('fs').renameSync('a', 'b')\"", true),
            ("Move-Item a b", true),
            ("git worktree move a b", true),
            ("cargo build", false),
            ("git remote remove origin", false),
            ("ls mvn && ./mvnw test", false),
            ("rm -rf backend", false),
        ] {
            assert_eq!(mentions_move(command), says, "{command}");
        }
    }

    #[test]
    fn folders_above_hidden_files_are_pinned_once() {
        let paths = |paths: &[&str]| -> Vec<PathBuf> { paths.iter().map(PathBuf::from).collect() };
        let secrets = paths(&["/w/mid/conf/.env", "/w/mid/.env", "/w/mid/conf/key.pem", "/v/a/.env", "/v/.env"]);
        assert_eq!(movable_folders(&secrets, &paths(&["/w", "/v"])), paths(&["/v/a", "/w/mid", "/w/mid/conf"]));
    }

    #[test]
    fn message_about_a_folder_of_hidden_files_is_explained() {
        let pinned = PinnedFolders { folders: vec!["/w/mid".into(), "/w/mid/conf".into()], advice: ASK };
        let explained =
            |folder: &str| pinned.explain(&format!("OSError: [Errno 16] Device or resource busy: '{folder}' -> 'x'"), Path::new("/w"));
        let why = |folder: &str| format!("'{folder}' holds files that are hidden from commands, so it cannot be renamed. {ASK}");
        assert_eq!(explained("mid"), Some(why("/w/mid")));
        assert_eq!(explained("mid/conf"), Some(why("/w/mid/conf")));
        assert_eq!(explained("other"), None);
    }
}
