//! Saves persistent rules in the user's configuration file, never in the project's.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_contract::{BoxFuture, ports::RuleStore};

use super::settings::user_file;

/// The file for the user's own settings, or why there is none. It is looked for when somebody asks, and once.
#[derive(Debug, Clone)]
pub(super) struct OwnFilePath {
    named: Option<PathBuf>,
    workspace: PathBuf,
    found: Arc<OnceLock<Result<PathBuf, String>>>,
}

impl OwnFilePath {
    /// The user's configuration file, or the one named in its place; not one in the workspace's project folder.
    pub(super) fn new(named: Option<PathBuf>, workspace: PathBuf) -> Self {
        Self { named, workspace, found: Arc::default() }
    }

    /// The file that was named.
    pub(super) fn get_named(&self) -> Option<&Path> {
        self.named.as_deref()
    }

    pub(super) fn get(&self) -> Result<&Path, &str> {
        self.found.get_or_init(|| self.find()).as_deref().map_err(String::as_str)
    }

    fn find(&self) -> Result<PathBuf, String> {
        if crate::tenants::current().is_some() {
            return Err("the operator of this server sets what its tenants may do, so nothing can be saved here".to_owned());
        }
        let file = self.named.clone().or_else(|| user_file().ok());
        let file = file.ok_or_else(|| "HOME is not set, so there is no file to save it in".to_owned());
        file.and_then(|file| not_in_project(file, &self.workspace))
    }
}

/// Saves rules in that file.
#[derive(Debug)]
pub(super) struct RuleFile(pub(super) OwnFilePath);

impl RuleFile {
    pub(super) fn file(&self) -> Option<&Path> {
        self.0.get().ok()
    }
}

/// Refuses a file in the project's own folder: others get it with the project.
fn not_in_project(file: PathBuf, workspace: &Path) -> Result<PathBuf, String> {
    let project = workspace.join(".haft");
    // The workspace has no links itself.
    let is_link = project.symlink_metadata().is_ok_and(|metadata| metadata.is_symlink());
    let folders = [if is_link { real(&project) } else { project.clone() }, project];
    if [real(&file), file.clone()].iter().any(|file| folders.iter().any(|folder| file.starts_with(folder))) {
        return Err(format!("'{}' is in the project's folder, and a project's file can allow nothing", file.display()));
    }
    Ok(file)
}

/// With every link followed, as far as the path is there. One look at each name that is missing, and one way along those that are not.
fn real(path: &Path) -> PathBuf {
    let mut there = path.ancestors().filter(|known| known.symlink_metadata().is_ok());
    let known = there.find_map(|known| Some((known.canonicalize().ok()?, path.strip_prefix(known).ok()?)));
    known.map_or_else(|| path.to_owned(), |(known, rest)| if rest.as_os_str().is_empty() { known } else { known.join(rest) })
}

impl RuleStore for RuleFile {
    fn keep<'a>(&'a self, rules: &'a [String]) -> BoxFuture<'a, Result<String, String>> {
        let (file, rules) = (self.0.get().map(Path::to_owned).map_err(str::to_owned), rules.to_vec());
        Box::pin(async move {
            let file = file?;
            let path = file.display().to_string();
            // Another process may hold the file's lock, and the disk may be slow: neither is for the thread of the calls.
            let saving = tokio::task::spawn_blocking(move || haft_config::save_rules(&file, &rules));
            let saved = saving.await.map_err(|error| format!("saving was cut short: {error}"))?;
            saved.map(|_| path).map_err(|error| error.to_string())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn rules_are_saved_together_or_not_at_all_and_the_file_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        let rules = RuleFile(OwnFilePath::new(Some(file.clone()), folder.path().join("work")));
        let keep = async |lines: &[&str]| rules.keep(&lines.iter().map(ToString::to_string).collect::<Vec<_>>()).await;
        assert_eq!(keep(&["exec(a)", "exec(b)"]).await, Ok(file.display().to_string()));
        assert!(keep(&["exec(c)", ""]).await.is_err());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "[rules]\nallow = [\"exec(a)\", \"exec(b)\"]\n");
    }

    #[test]
    fn rules_are_never_saved_in_the_projects_folder() {
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
            assert_eq!(not_in_project(root.join(file), &workspace).is_ok(), fine, "{file}");
        }
    }

    #[tokio::test(flavor = "current_thread")]
    async fn saving_a_rule_does_not_block_other_tasks() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("config.toml");
        // Another process holds the lock: saving waits for it, and nothing else does.
        let lock = std::fs::File::create(folder.path().join(".config.toml.lock")).unwrap();
        lock.lock().unwrap();
        let rules = RuleFile(OwnFilePath::new(Some(file), folder.path().join("work")));
        let lines = ["exec(a)".to_owned()];
        let release = async move { drop(lock) };
        let (saved, ()) = tokio::join!(rules.keep(&lines), release);
        assert!(saved.is_ok(), "{saved:?}");
    }
}
