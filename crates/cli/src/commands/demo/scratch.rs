//! The scratch folder of a tour, which is removed when the tour ends.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use tokio::process::Command;

use crate::failure::Failure;

/// A file that a tool tries to write, beside the project.
pub(super) const OUTSIDE: &str = "outside.txt";
const HELLO: &str = "Hello, world.\nThis folder is yours to try things in.\n";

/// A folder with a project, a secret beside it, and the data of the tour.
#[derive(Debug)]
pub(super) struct Scratch(PathBuf);

impl Scratch {
    pub(super) fn create() -> Result<Self, Failure> {
        let folder = std::env::temp_dir().join(format!("haft-demo-{}", &uuid::Uuid::new_v4().simple().to_string()[..12]));
        let failed = |error: io::Error| {
            let message = format!("the scratch folder '{}' cannot be made: {error}", folder.display());
            Failure::failed("execution_error", message).help("set TMPDIR to a folder that you may write")
        };
        DirBuilder::new().mode(0o700).create(&folder).map_err(failed)?;
        let scratch = Self(folder.clone());
        scratch.fill().map_err(failed)?;
        Ok(scratch)
    }

    fn fill(&self) -> io::Result<()> {
        for name in ["project", "home", "config"] {
            fs::create_dir(self.0.join(name))?;
        }
        fs::write(self.0.join("config.toml"), "")?;
        fs::write(self.0.join("secret.txt"), "the secret\n")?;
        fs::write(self.project().join("hello.txt"), HELLO)
    }

    pub(super) fn project(&self) -> PathBuf {
        self.0.join("project")
    }

    pub(super) fn has(&self, name: &str) -> bool {
        exists(&self.project().join(name))
    }

    pub(super) fn has_outside(&self, name: &str) -> bool {
        exists(&self.0.join(name))
    }

    /// Whether the file of the project has this word.
    pub(super) fn says(&self, word: &str) -> bool {
        fs::read_to_string(self.project().join("hello.txt")).is_ok_and(|text| text.contains(word))
    }

    /// Gives a command the configuration and the data of the tour, in place of the user's.
    pub(super) fn isolate(&self, command: &mut Command) {
        for (name, _) in std::env::vars_os() {
            if name.to_str().is_some_and(|name| name.starts_with("HAFT_") && name != "HAFT_PLAIN") {
                command.env_remove(&name);
            }
        }
        command.env("HAFT_HOME", self.0.join("home")).env("HAFT_CONFIG", self.0.join("config.toml"));
        command.env("XDG_CONFIG_HOME", self.0.join("config")).env("HAFT_LOCAL_MODELS", "");
    }
}

/// A link counts, wherever it points.
fn exists(path: &Path) -> bool {
    path.symlink_metadata().is_ok()
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // There is nobody to tell, and nothing of the user's in it.
        fs::remove_dir_all(&self.0).ok();
    }
}
