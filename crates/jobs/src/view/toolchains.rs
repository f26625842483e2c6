//! Toolchains and package caches of the user: what is on the `PATH`, and what belongs to it.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use haft_host::SandboxPaths;
use haft_sandbox::{Bind, is_system_path};

/// Folders of the home that a folder on the `PATH` needs; the first that holds it counts. Any other folder is shown alone.
const TOOLCHAINS: &[(&str, &[&str])] = &[
    (".cargo/bin", &[".cargo/bin", ".rustup"]),
    (".local/bin", &[".local/bin", ".local/lib", ".local/share/uv", ".local/share/pipx", ".local/share/mise", ".local/share/pnpm"]),
    (".local/share/mise", &[".local/share/mise"]),
    (".local/share/pnpm", &[".local/share/pnpm"]),
    (".local/share/fnm", &[".local/share/fnm"]),
    (".asdf", &[".asdf"]),
    (".bun", &[".bun"]),
    (".deno", &[".deno"]),
    (".dotnet", &[".dotnet"]),
    (".elan", &[".elan"]),
    (".foundry", &[".foundry"]),
    (".fnm", &[".fnm"]),
    (".ghcup", &[".ghcup"]),
    (".jenv", &[".jenv"]),
    (".juliaup", &[".juliaup", ".julia/juliaup"]),
    (".nodenv", &[".nodenv"]),
    (".npm-global", &[".npm-global"]),
    (".nvm", &[".nvm"]),
    (".opam", &[".opam"]),
    (".pixi", &[".pixi"]),
    (".proto", &[".proto"]),
    (".pyenv", &[".pyenv"]),
    (".rbenv", &[".rbenv"]),
    (".rvm", &[".rvm"]),
    (".rye", &[".rye"]),
    (".sdkman", &[".sdkman"]),
    (".volta", &[".volta"]),
    ("anaconda3", &["anaconda3"]),
    ("mambaforge", &["mambaforge"]),
    ("miniconda3", &["miniconda3"]),
    ("miniforge3", &["miniforge3"]),
];

/// Folders of the home with downloaded packages, and no credentials.
const CACHES: &[&str] = &[
    ".cargo/registry",
    ".cargo/git",
    ".npm/_cacache",
    ".cache/pip",
    ".cache/uv",
    ".cache/go-build",
    "go/pkg/mod",
    ".m2/repository",
    ".gradle/caches",
    ".gradle/wrapper",
    ".cache/pnpm",
    ".local/share/pnpm/store",
    ".cache/yarn",
    ".yarn/berry/cache",
    ".bun/install/cache",
    ".cache/deno",
    ".cache/pypoetry",
    ".cache/pre-commit",
    ".cache/ms-playwright",
    ".cache/composer",
    ".cache/coursier",
    ".nuget/packages",
    ".hex/packages",
];
/// Variables that move a cache elsewhere: the variable, the folder below its value, and the cache below the home.
const MOVED_CACHES: &[(&str, &str, &str)] = &[
    ("CARGO_HOME", "registry", ".cargo/registry"),
    ("CARGO_HOME", "git", ".cargo/git"),
    ("GOPATH", "pkg/mod", "go/pkg/mod"),
    ("GOMODCACHE", "", "go/pkg/mod"),
    ("GOCACHE", "", ".cache/go-build"),
    ("PIP_CACHE_DIR", "", ".cache/pip"),
    ("UV_CACHE_DIR", "", ".cache/uv"),
];

/// Variables with the folder of a toolchain; they are passed on, and their folders shown.
const FOLDER_VARIABLES: &[&str] = &[
    "RUSTUP_HOME",
    "GOROOT",
    "JAVA_HOME",
    "NVM_DIR",
    "FNM_DIR",
    "PYENV_ROOT",
    "RBENV_ROOT",
    "NODENV_ROOT",
    "VOLTA_HOME",
    "SDKMAN_DIR",
    "ASDF_DIR",
    "ASDF_DATA_DIR",
    "DOTNET_ROOT",
    "ANDROID_HOME",
    "ANDROID_SDK_ROOT",
    "CONDA_PREFIX",
];
/// Variables that are passed on as they are.
const PLAIN_VARIABLES: &[&str] =
    &["RUSTUP_TOOLCHAIN", "PYENV_VERSION", "RBENV_VERSION", "NODENV_VERSION", "LC_ALL", "LC_CTYPE", "COLORTERM", "USER", "LOGNAME"];

/// What is found once for all runs.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Toolchains {
    /// Read-only folders.
    pub(super) folders: Vec<Bind>,
    /// Each cache by its path below the home, and its folder on the host.
    pub(super) caches: Vec<(String, PathBuf)>,
    pub(super) variables: Vec<(OsString, OsString)>,
}

impl Toolchains {
    /// `host` is the home of the user, `home` the path of the private one, `own` the folder that no command may see.
    pub(super) fn find(host: Option<&Path>, home: &Path, own: &Path, paths: &SandboxPaths) -> Self {
        let mut finder = Finder { host, home, own, paths, found: Self::default() };
        let path = env::var_os("PATH").unwrap_or_default();
        env::split_paths(&path).filter(|folder| folder.is_absolute()).for_each(|folder| finder.add_program_folder(&folder));
        for name in FOLDER_VARIABLES {
            if let Some(value) = env::var_os(name).filter(|value| Path::new(value).is_absolute())
                && finder.add_folder(Path::new(&value))
            {
                finder.found.variables.push((name.into(), value));
            }
        }
        finder.found.variables.extend(PLAIN_VARIABLES.iter().filter_map(|name| Some((name.into(), env::var_os(name)?))));
        finder.add_caches();
        finder.found
    }
}

struct Finder<'a> {
    host: Option<&'a Path>,
    home: &'a Path,
    own: &'a Path,
    paths: &'a SandboxPaths,
    found: Toolchains,
}

impl Finder<'_> {
    fn add_program_folder(&mut self, folder: &Path) {
        // Below the home, or below whatever folder has the toolchain: another home may be on the `PATH`.
        let known = folder.ancestors().skip(1).find_map(|base| {
            let below = folder.strip_prefix(base).ok()?;
            TOOLCHAINS.iter().find(|(name, _)| below.starts_with(name)).map(|(_, folders)| (base, *folders))
        });
        match known {
            Some((base, folders)) => {
                for name in folders {
                    self.add_folder(&base.join(name));
                }
            }
            None => {
                self.add_folder(folder);
            }
        }
    }

    /// Shows a folder, unless more than a toolchain would be shown; whether it is visible then.
    fn add_folder(&mut self, folder: &Path) -> bool {
        let Ok(real) = folder.canonicalize() else { return false };
        if !real.is_dir() {
            return false;
        }
        if is_system_path(&real) && (folder == real || is_system_path(folder) || is_linked_at_the_top(folder)) {
            return true;
        }
        let holds = |path: &Path| path.starts_with(folder) || path.starts_with(&real);
        let is_in_data = self.own.ancestors().nth(1).is_some_and(|data| real.starts_with(data));
        if self.host.is_some_and(holds) || holds(self.own) || is_in_data || real.parent().is_none() {
            return false;
        }
        // A root that is the home itself must not change its toolchains; in any other root the files are the project's.
        let is_in_project = |root: &PathBuf| real.starts_with(root) && !self.host.is_some_and(|host| host.starts_with(root));
        if self.paths.writable.iter().chain(&self.paths.read_only).any(is_in_project) {
            return false;
        }
        self.show(Bind { source: real.clone(), at: folder.to_owned() });
        // Programs look for their toolchain below the home, wherever that is.
        if let Some(below) = self.host.filter(|host| *host != self.home).and_then(|host| folder.strip_prefix(host).ok()) {
            self.show(Bind { source: real, at: self.home.join(below) });
        }
        true
    }

    fn show(&mut self, bind: Bind) {
        if !self.found.folders.iter().any(|shown| bind.at.starts_with(&shown.at) && shown.source == shown.at)
            && !self.found.folders.contains(&bind)
        {
            self.found.folders.push(bind);
        }
    }

    fn add_caches(&mut self) {
        let moved = MOVED_CACHES.iter().filter_map(|(variable, below, cache)| {
            let folder = PathBuf::from(env::var_os(variable)?);
            // Of a list the first folder is the one that is written.
            let first = env::split_paths(&folder).next()?;
            Some(((*cache).to_owned(), first.join(below)))
        });
        let usual = CACHES.iter().filter_map(|cache| Some(((*cache).to_owned(), self.host?.join(cache))));
        for (cache, folder) in moved.chain(usual) {
            let Ok(real) = folder.canonicalize() else { continue };
            let is_filled = real.read_dir().is_ok_and(|mut entries| entries.next().is_some());
            if is_filled && !self.own.starts_with(&real) && !self.found.caches.iter().any(|(known, _)| *known == cache) {
                self.found.caches.push((cache, real));
            }
        }
    }
}

/// Whether the first folder of a path is a link of the system, such as `/bin`: the sandbox has it too.
fn is_linked_at_the_top(path: &Path) -> bool {
    path.components().nth(1).is_some_and(|name| Path::new("/").join(name).is_symlink())
}
