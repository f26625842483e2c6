//! Triggers: files that other programs run on their own. A command that changes one decides what the user's own tools do next.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use haft_contract::{ChangeKind, ChangeSet, Trigger};
use haft_text::display;

/// Files by name, in any folder, and the program that runs them. A leading `*` matches anything.
const BY_NAME: &[(&str, &str)] = &[
    ("*.pth", "Python runs the lines in it whenever it starts"),
    ("sitecustomize.py", "Python runs it whenever it starts"),
    ("usercustomize.py", "Python runs it whenever it starts"),
    ("conftest.py", "pytest runs it before any test"),
    ("setup.py", "pip runs it when it installs or builds"),
    ("package.json", "npm runs the scripts in it when it installs"),
    (".npmrc", "npm takes its shell and its scripts from it"),
    (".pnpmfile.cjs", "pnpm runs it when it installs"),
    (".yarnrc.yml", "Yarn runs the plugins that it names"),
    ("binding.gyp", "npm builds by it when it installs"),
    ("build.rs", "Cargo runs it before it compiles"),
    ("gradle.properties", "Gradle takes its program and its arguments from it"),
    ("build.gradle", "Gradle runs it with every task"),
    ("build.gradle.kts", "Gradle runs it with every task"),
    ("settings.gradle", "Gradle runs it with every task"),
    ("Makefile", "make runs what it says"),
    ("makefile", "make runs what it says"),
    ("GNUmakefile", "make runs what it says"),
    ("CMakeLists.txt", "CMake runs it when it configures"),
    ("Rakefile", "rake runs it with every task"),
    ("Gemfile", "Bundler runs it whenever it starts"),
    ("noxfile.py", "nox runs it whenever it starts"),
    ("justfile", "just runs what it says"),
    (".envrc", "direnv runs it on entering the folder"),
    (".pre-commit-config.yaml", "pre-commit runs what it names with every commit"),
    (".gitattributes", "Git filters files by what it names"),
    (".gitmodules", "Git fetches from where it says"),
    (".vimrc", "Vim runs it where 'exrc' is set"),
    (".nvim.lua", "Neovim runs it where 'exrc' is set"),
    (".gdbinit", "gdb runs it when it starts here"),
    (".lldbinit", "lldb runs it when it starts here"),
];

/// Files by the end of their path, and the program that runs them.
const BY_PATH: &[(&str, &str)] = &[
    (".cargo/config.toml", "Cargo takes its runner, its linker and its wrappers from it"),
    (".cargo/config", "Cargo takes its runner, its linker and its wrappers from it"),
    (".vscode/tasks.json", "Visual Studio Code runs its tasks, some on opening the folder"),
    (".vscode/settings.json", "Visual Studio Code takes the programs that it runs from it"),
    (".vscode/launch.json", "Visual Studio Code runs what it says"),
    (".husky/pre-commit", "Git runs it with every commit"),
    (".github/workflows/*", "GitHub runs it with every push"),
    (".git/hooks/*", "Git runs it"),
    (".devcontainer/devcontainer.json", "editors run its commands on opening the folder"),
    (".mvn/jvm.config", "Maven takes its arguments from it"),
    (".mvn/extensions.xml", "Maven loads what it names"),
    ("gradle/wrapper/gradle-wrapper.properties", "Gradle's wrapper runs the program that it names"),
];

/// Which program runs a file on its own, given its path in the workspace.
fn reason(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let by_name = BY_NAME.iter().find(|(pattern, _)| match pattern.strip_prefix('*') {
        Some(end) => name.len() > end.len() && name.ends_with(end),
        None => name == *pattern,
    });
    let by_path = || BY_PATH.iter().find(|(pattern, _)| ends_with(path, pattern));
    by_name.or_else(by_path).map(|(_, why)| *why)
}

fn ends_with(path: &str, pattern: &str) -> bool {
    let (path, pattern) = match pattern.strip_suffix("/*") {
        Some(folder) => (path.rsplit_once('/').map_or("", |(folder, _)| folder), folder),
        None => (path, pattern),
    };
    path.strip_suffix(pattern).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// The triggers that a change set writes.
pub(crate) fn in_change_set(set: &ChangeSet) -> Vec<Trigger> {
    let written = set.changes.iter().filter(|change| change.kind != ChangeKind::Deleted && !change.is_checked);
    written.filter_map(|change| trigger(&set.display(change))).collect()
}

fn trigger(path: &str) -> Option<Trigger> {
    reason(path).map(|why| Trigger { path: display::escape_line(path).into_owned(), why })
}

/// How many names at the top of the workspace are read; beyond it, only the files by path are.
const MAX_NAMES: usize = 1_000;

/// The triggers of a workspace at one moment, by inode, size and change time: those at its top and those by path. Not deeper,
/// since this is done before and after every command.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct TriggerSnapshot(BTreeMap<String, (u64, i64, i64, i64)>);

impl TriggerSnapshot {
    pub(crate) fn take(root: &Path) -> Self {
        let top = fs::read_dir(root).into_iter().flatten().flatten().take(MAX_NAMES);
        let top = top.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| reason(name).is_some());
        let by_path = BY_PATH.iter().map(|(path, _)| (*path).to_owned()).filter(|path| !path.ends_with('*'));
        let identify = |path: String| {
            let metadata = fs::symlink_metadata(root.join(&path)).ok().filter(|metadata| !metadata.is_dir())?;
            Some((path, (metadata.ino(), metadata.size().cast_signed(), metadata.ctime(), metadata.ctime_nsec())))
        };
        Self(top.chain(by_path).filter_map(identify).collect())
    }

    /// Those that are new or have changed.
    pub(crate) fn changed_since(&self, before: &Self) -> Vec<Trigger> {
        self.0.iter().filter(|(path, now)| before.0.get(*path) != Some(now)).filter_map(|(path, _)| trigger(path)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c15_triggers_are_known_by_name_or_path() {
        for path in [
            "venv/lib/python3/site-packages/x.pth",
            "conftest.py",
            "tests/conftest.py",
            "package.json",
            "packages/a/package.json",
            "build.rs",
            "crates/a/build.rs",
            ".cargo/config.toml",
            "gradle.properties",
            "Makefile",
            ".envrc",
            ".vscode/tasks.json",
            "a/.vscode/tasks.json",
            "sitecustomize.py",
            ".github/workflows/ci.yml",
            "sub/.git/hooks/pre-commit",
        ] {
            assert!(reason(path).is_some(), "{path}");
        }
        for path in ["src/main.rs", ".pth", "mybuild.rs", "x.cargo/config.toml", "package.json.bak", "Makefile.am", "hooks/pre-commit", ""]
        {
            assert_eq!(reason(path), None, "{path}");
        }
    }

    #[test]
    fn c15_trigger_snapshots_before_and_after_show_new_and_changed_files() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in ["Makefile", "setup.py", "notes.txt"] {
            write(name, "old");
        }
        let before = TriggerSnapshot::take(folder.path());
        write("setup.py", "longer than it was");
        write("notes.txt", "new");
        write(".cargo/config.toml", "new");
        write("x.pth", "new");
        let changed = TriggerSnapshot::take(folder.path()).changed_since(&before);
        assert_eq!(changed.iter().map(|trigger| trigger.path.as_str()).collect::<Vec<_>>(), [".cargo/config.toml", "setup.py", "x.pth"]);
        assert_eq!(TriggerSnapshot::take(folder.path()).changed_since(&TriggerSnapshot::take(folder.path())), []);
    }
}
