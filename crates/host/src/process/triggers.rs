//! Files that other programs run by themselves: whoever changes one decides what the person's own tools do next.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use haft_contract::{ChangeDeed, ChangeSet, Trigger, visible};

/// Who runs a file of this name wherever it lies. A leading `*` stands for anything.
const ANYWHERE: &[(&str, &str)] = &[
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

/// Who runs what lies there, by the end of its path.
const PLACES: &[(&str, &str)] = &[
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

/// Who runs a file by itself, given its path from the workspace.
pub(super) fn why(path: &str) -> Option<&'static str> {
    let name = path.rsplit('/').next().unwrap_or(path);
    let by_name = ANYWHERE.iter().find(|(pattern, _)| match pattern.strip_prefix('*') {
        Some(end) => name.len() > end.len() && name.ends_with(end),
        None => name == *pattern,
    });
    let by_place = || PLACES.iter().find(|(pattern, _)| ends_with(path, pattern));
    by_name.or_else(by_place).map(|(_, why)| *why)
}

fn ends_with(path: &str, pattern: &str) -> bool {
    let (path, pattern) = match pattern.strip_suffix("/*") {
        Some(folder) => (path.rsplit_once('/').map_or("", |(folder, _)| folder), folder),
        None => (path, pattern),
    };
    path.strip_suffix(pattern).is_some_and(|before| before.is_empty() || before.ends_with('/'))
}

/// Those that a set changes.
pub(super) fn among(set: &ChangeSet) -> Vec<Trigger> {
    let written = set.changes.iter().filter(|change| change.deed != ChangeDeed::Deleted);
    written.filter_map(|change| trigger(&set.display(change))).collect()
}

fn trigger(path: &str) -> Option<Trigger> {
    why(path).map(|why| Trigger { path: visible::line(path).into_owned(), why })
}

/// How many names of the workspace are looked at; in a larger folder the well-known places alone are.
const MOST_NAMES: usize = 1_000;

/// What the well-known files of a workspace are at one moment: those at its top, and in their usual places. No deeper, since a
/// small command must stay a small one.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Look(BTreeMap<String, (u64, i64, i64, i64)>);

impl Look {
    pub(super) fn at(root: &Path) -> Self {
        let top = fs::read_dir(root).into_iter().flatten().flatten().take(MOST_NAMES);
        let top = top.filter_map(|entry| entry.file_name().into_string().ok()).filter(|name| why(name).is_some());
        let places = PLACES.iter().map(|(place, _)| (*place).to_owned()).filter(|place| !place.ends_with('*'));
        let look = |path: String| {
            fs::symlink_metadata(root.join(&path)).ok().filter(|metadata| !metadata.is_dir()).map(|found| seen(&found, path))
        };
        Self(top.chain(places).filter_map(look).collect())
    }

    /// Those that are new or others than they were.
    pub(super) fn changed_since(&self, before: &Self) -> Vec<Trigger> {
        self.0.iter().filter(|(path, now)| before.0.get(*path) != Some(now)).filter_map(|(path, _)| trigger(path)).collect()
    }
}

fn seen(metadata: &fs::Metadata, path: String) -> (String, (u64, i64, i64, i64)) {
    (path, (metadata.ino(), metadata.size().cast_signed(), metadata.ctime(), metadata.ctime_nsec()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn c15_what_others_run_is_known_by_its_name_or_its_place() {
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
            assert!(why(path).is_some(), "{path}");
        }
        for path in ["src/main.rs", ".pth", "mybuild.rs", "x.cargo/config.toml", "package.json.bak", "Makefile.am", "hooks/pre-commit", ""]
        {
            assert_eq!(why(path), None, "{path}");
        }
    }

    #[test]
    fn c15_a_look_before_and_after_shows_what_is_new_and_what_is_other() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        };
        for name in ["Makefile", "setup.py", "notes.txt"] {
            write(name, "old");
        }
        let before = Look::at(folder.path());
        write("setup.py", "longer than it was");
        write("notes.txt", "new");
        write(".cargo/config.toml", "new");
        write("x.pth", "new");
        let found = Look::at(folder.path()).changed_since(&before);
        assert_eq!(found.iter().map(|trigger| trigger.path.as_str()).collect::<Vec<_>>(), [".cargo/config.toml", "setup.py", "x.pth"]);
        assert_eq!(Look::at(folder.path()).changed_since(&Look::at(folder.path())), []);
    }
}
