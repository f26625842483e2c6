//! Saves what a person allowed for good: in their own file, never the project's.

use std::path::{Path, PathBuf};

use haft_contract::{BoxFuture, RuleKeeper};

use super::settings::{Settings, user_file};

/// Saves rules in the person's file, or in the one that stands in for it.
#[derive(Debug)]
pub(super) struct Keeper {
    /// The file, or why there is none.
    file: Result<PathBuf, String>,
}

impl Keeper {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { file: own_file(settings) }
    }
    pub(super) fn file(&self) -> Option<&Path> {
        self.file.as_deref().ok()
    }
}

/// The person's file, or the one that stands in for it; or why there is none.
pub(super) fn own_file(settings: &Settings) -> Result<PathBuf, String> {
    let file = settings.named_file().map(Path::to_owned).or_else(|| user_file().ok());
    let file = file.ok_or_else(|| "there is no file to save it in, because HOME is not set".to_owned());
    file.and_then(|file| of_the_person(file, &settings.workspace))
}

/// A file in the project's own folder is the project's, whatever named it: it comes along with the project, to others too.
fn of_the_person(file: PathBuf, workspace: &Path) -> Result<PathBuf, String> {
    let project = workspace.join(".haft");
    let folders = [real(&project), project];
    if [real(&file), file.clone()].iter().any(|file| folders.iter().any(|folder| file.starts_with(folder))) {
        return Err(format!("'{}' is in the project's folder, and a project's file can allow nothing", file.display()));
    }
    Ok(file)
}

/// With every link followed, as far as the path is there.
fn real(path: &Path) -> PathBuf {
    let known = path.ancestors().find_map(|known| Some((known.canonicalize().ok()?, path.strip_prefix(known).ok()?)));
    known.map_or_else(|| path.to_owned(), |(known, rest)| if rest.as_os_str().is_empty() { known } else { known.join(rest) })
}

impl RuleKeeper for Keeper {
    fn keep<'a>(&'a self, rules: &'a [String]) -> BoxFuture<'a, Result<String, String>> {
        let (file, rules) = (self.file.clone(), rules.to_vec());
        Box::pin(async move {
            let file = file?;
            let place = file.display().to_string();
            // Another process may hold the file's lock, and the disk may be slow: neither is for the thread of the calls.
            let saving = tokio::task::spawn_blocking(move || haft_config::save_rules(&file, &rules));
            let saved = saving.await.map_err(|error| format!("saving was cut short: {error}"))?;
            saved.map(|_| place).map_err(|error| error.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn all_rules_are_kept_or_none_and_the_place_is_said() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let keeper = Keeper { file: Ok(file.clone()) };
        let keep = async |rules: &[&str]| keeper.keep(&rules.iter().map(ToString::to_string).collect::<Vec<_>>()).await;
        assert_eq!(keep(&["exec(a)", "exec(b)"]).await, Ok(file.display().to_string()));
        assert!(keep(&["exec(c)", ""]).await.is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "[rules]\nallow = [\"exec(a)\", \"exec(b)\"]\n");
    }

    #[test]
    fn nothing_is_saved_in_the_projects_folder() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        let workspace = root.join("work");
        for made in ["work/.haft/sub", "home"] {
            std::fs::create_dir_all(root.join(made)).unwrap();
        }
        std::fs::write(workspace.join(".haft/config.toml"), "").unwrap();
        std::os::unix::fs::symlink("../work/.haft/config.toml", root.join("home/link.toml")).unwrap();
        std::os::unix::fs::symlink("../work/.haft", root.join("home/folder")).unwrap();
        std::os::unix::fs::symlink("../../home", workspace.join(".haft/away")).unwrap();
        for (file, fine) in [
            ("home/config.toml", true),
            ("home/not/there/yet.toml", true),
            ("work/own.toml", true),
            ("work/.haftx/own.toml", true),
            ("work/.haft/config.toml", false),
            ("work/.haft/new.toml", false),
            ("home/../work/.haft/sub/new.toml", false),
            ("home/link.toml", false),
            ("home/folder/new/new.toml", false),
            ("work/.haft/away/config.toml", false),
        ] {
            assert_eq!(of_the_person(root.join(file), &workspace).is_ok(), fine, "{file}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn while_a_rule_is_saved_calls_go_on() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        // Somebody else holds the lock: saving waits for it, and nothing else does.
        let lock = std::fs::File::create(folder.path().join(".config.toml.lock")).unwrap();
        lock.lock().unwrap();
        let keeper = Keeper { file: Ok(file) };
        let rules = ["exec(a)".to_owned()];
        let release = async move { drop(lock) };
        let (kept, ()) = tokio::join!(keeper.keep(&rules), release);
        assert!(kept.is_ok(), "{kept:?}");
    }
}
