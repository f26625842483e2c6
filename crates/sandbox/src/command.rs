use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

/// A program to run, with its complete arguments and environment: nothing else is inherited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProcessSpec {
    /// The program: a path, or a name that is looked up in the `PATH` of `environment`.
    pub program: PathBuf,
    /// Its arguments, without the program's own name.
    pub arguments: Vec<OsString>,
    /// Working directory.
    pub directory: PathBuf,
    /// Complete environment.
    pub environment: Vec<(OsString, OsString)>,
}

impl ProcessSpec {
    /// A command without arguments and with an empty environment.
    pub fn new(program: impl Into<PathBuf>, directory: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), arguments: Vec::new(), directory: directory.into(), environment: Vec::new() }
    }

    /// Adds one argument.
    pub fn argument(mut self, argument: impl Into<OsString>) -> Self {
        self.arguments.push(argument.into());
        self
    }

    /// Adds several arguments.
    pub fn arguments<T: Into<OsString>>(mut self, arguments: impl IntoIterator<Item = T>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds one variable to the environment.
    pub fn variable(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.environment.push((name.into(), value.into()));
        self
    }

    /// The command for the standard library, ready to spawn.
    pub fn to_std(&self) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command
            .args(&self.arguments)
            .current_dir(&self.directory)
            .env_clear()
            .envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Files of this name in the absolute folders of the `PATH`, but none that lies in these roots: a command may have planted it there.
pub(crate) fn find_in_path(name: &str, roots: &[PathBuf]) -> Vec<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let is_inside = |file: &PathBuf| {
        let real = file.canonicalize().ok();
        let folder = file.parent().and_then(|folder| folder.canonicalize().ok());
        let ways = [Some(file), real.as_ref(), folder.as_ref()];
        ways.into_iter().flatten().any(|way| roots.iter().any(|root| way.starts_with(root)))
    };
    let files = env::split_paths(&path).filter(|folder| folder.is_absolute()).map(|folder| folder.join(name));
    files.filter(|file| file.is_file() && !is_inside(file)).collect()
}
