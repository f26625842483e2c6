//! Rules that the sandbox of commands enforces: programs and files that are not there, folders that cannot be changed,
//! staged changes.

use std::collections::BTreeSet;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use haft_jobs::{GuardedPattern, ShellOptions};
use haft_policy::{ChangeRules, GuardedChanges, StandardPolicy};

/// Where programs are, besides the folders of the `PATH`.
const PROGRAM_FOLDERS: &[&str] = &["/usr/local/sbin", "/usr/local/bin", "/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/// What the rules of a session mean for its commands.
pub(super) struct CommandRules {
    hidden: Vec<PathBuf>,
    readable: Vec<Vec<String>>,
    protected: Vec<PathBuf>,
    guarded: Vec<GuardedPattern>,
}

impl CommandRules {
    pub(super) fn new(policy: &StandardPolicy, agents: &[&str], root: &Path) -> Self {
        let ChangeRules { denied_folders, needs_staging, .. } = policy.change_rules(agents);
        let is_staged = |others: &[PathBuf]| needs_staging || others.iter().any(|path| path.starts_with(root));
        let denied = denied_folders.iter().flat_map(|folder| spellings(root, Path::new(folder)));
        let (protected, others): (Vec<PathBuf>, Vec<PathBuf>) = denied.partition(|path| path != root && is_folder(path));
        Self {
            hidden: policy.denied_programs(agents).iter().flat_map(|name| program_files(name)).collect(),
            readable: policy.readable_paths(agents, root),
            protected,
            guarded: if is_staged(&others) { guarded(policy, agents, root) } else { Vec::new() },
        }
    }

    pub(super) fn apply(self, mut options: ShellOptions) -> ShellOptions {
        options.hidden.extend(self.hidden);
        options.readable.extend(self.readable);
        options.protected.extend(self.protected);
        options.changes.guarded = self.guarded;
        options
    }
}

fn guarded(policy: &StandardPolicy, agents: &[&str], root: &Path) -> Vec<GuardedPattern> {
    let guarded = policy.guarded_changes(agents, root).into_iter();
    guarded.map(|GuardedChanges { pattern, except, .. }| GuardedPattern { pattern, except }).collect()
}

/// A folder of a rule, and those that differ from it by capitals alone: rules compare without regard to them.
fn spellings(root: &Path, folder: &Path) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::from([root.to_owned()]);
    for name in folder.iter().map(|name| name.to_string_lossy().to_lowercase()) {
        let entries = found.iter().filter_map(|above| std::fs::read_dir(above).ok()).flatten().flatten();
        found = entries.filter(|entry| entry.file_name().to_string_lossy().to_lowercase() == name).map(|entry| entry.path()).collect();
    }
    found.retain(|path| is_folder(path));
    found.insert(root.join(folder));
    found
}

fn is_folder(path: &Path) -> bool {
    path.symlink_metadata().is_ok_and(|metadata| metadata.is_dir())
}

/// The files of a program, by its name in lower case or its path, with hard links whose names begin with it, as `perl5.36.0`. A link to
/// a program of another name, such as one program that is many commands, is left: hiding its target would hide those too.
fn program_files(name: &str) -> BTreeSet<PathBuf> {
    if name.starts_with('/') {
        return BTreeSet::from([PathBuf::from(name)]);
    }
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).chain(PROGRAM_FOLDERS.iter().map(PathBuf::from)).collect();
    let mut files = files_in(name, folders.iter().cloned());
    files.extend(own_folders(name, &folders));
    files
}

/// Folders beside those of programs in which a program keeps copies of itself and its commands, as Git does in `libexec/git-core`.
fn own_folders(name: &str, folders: &[PathBuf]) -> BTreeSet<PathBuf> {
    let prefixes = folders.iter().filter_map(|folder| folder.canonicalize().ok()?.parent().map(Path::to_owned));
    let named = prefixes.flat_map(|prefix| ["lib", "libexec"].map(|part| prefix.join(part).join(format!("{name}-core"))));
    named.filter_map(|folder| folder.canonicalize().ok()).filter(|folder| folder.is_dir()).collect()
}

fn files_in(name: &str, folders: impl Iterator<Item = PathBuf>) -> BTreeSet<PathBuf> {
    let begins = |path: &Path| path.file_name().is_some_and(|file| file.to_string_lossy().to_lowercase().starts_with(name));
    let entries = folders.filter_map(|folder| std::fs::read_dir(folder).ok()).flatten().flatten().map(|entry| entry.path());
    let similar: Vec<PathBuf> = entries.filter(|path| begins(path)).collect();
    let named = similar.iter().filter(|path| path.file_name().is_some_and(|file| file.to_string_lossy().to_lowercase() == name));
    let files: BTreeSet<PathBuf> = named.filter_map(|path| path.canonicalize().ok()).filter(|file| begins(file)).collect();
    let identities: Vec<(u64, u64)> = files.iter().filter_map(|file| identity(file)).collect();
    let linked = similar.iter().filter(|path| identity(path).is_some_and(|found| identities.contains(&found)));
    files.iter().chain(linked).cloned().collect()
}

/// Device and inode of a file that is no link.
fn identity(path: &Path) -> Option<(u64, u64)> {
    path.symlink_metadata().ok().filter(std::fs::Metadata::is_file).map(|file| (file.dev(), file.ino()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folder_of_a_rule_has_all_spellings_that_are_there() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["docs/api", "Docs/API", "DOCS", "docs2"] {
            std::fs::create_dir_all(folder.path().join(name)).unwrap();
        }
        std::fs::write(folder.path().join("dOCS"), "").unwrap();
        let found = |name: &str| spellings(folder.path(), Path::new(name)).into_iter().collect::<Vec<_>>();
        let at = |names: &[&str]| names.iter().map(|name| folder.path().join(name)).collect::<Vec<_>>();
        assert_eq!(found("docs"), at(&["DOCS", "Docs", "docs"]));
        assert_eq!(found("docs/api"), at(&["Docs/API", "docs/api"]));
        assert_eq!(found("missing"), at(&["missing"]));
    }

    #[test]
    fn program_is_found_by_name_and_path_and_what_is_another_program_is_not() {
        assert!(program_files("sh").iter().all(|file| file.file_name().is_some_and(|name| name.to_string_lossy().starts_with("sh"))));
        assert_eq!(program_files("/opt/x/tool"), BTreeSet::from([PathBuf::from("/opt/x/tool")]));
        assert!(!program_files("cat").is_empty());
        assert!(program_files("no-such-program").is_empty());
    }

    #[test]
    fn folder_with_the_commands_of_a_program_goes_with_it() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["usr/bin", "usr/lib/tool-core", "usr/libexec/tool-core", "usr/lib/other-core"] {
            std::fs::create_dir_all(root.join(name)).unwrap();
        }
        std::os::unix::fs::symlink("usr/bin", root.join("bin")).unwrap();
        let expected = ["usr/lib/tool-core", "usr/libexec/tool-core"].map(|name| root.join(name));
        assert_eq!(own_folders("tool", &[root.join("bin"), root.join("missing")]), BTreeSet::from(expected));
        assert_eq!(own_folders("bin", &[root.join("bin")]), BTreeSet::new());
    }

    #[test]
    fn hard_links_of_a_program_are_found_by_the_start_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().canonicalize().unwrap();
        for name in ["tool", "tool-else", "many"] {
            std::fs::write(root.join(name), name).unwrap();
        }
        for (from, to) in [("tool", "tool5.36"), ("tool", "other"), ("many", "single")] {
            std::fs::hard_link(root.join(from), root.join(to)).unwrap();
        }
        std::os::unix::fs::symlink("many", root.join("link")).unwrap();
        let found = |name: &str| files_in(name, std::iter::once(root.clone()));
        assert_eq!(found("tool"), BTreeSet::from([root.join("tool"), root.join("tool5.36")]));
        assert_eq!((found("single"), found("link")), (BTreeSet::from([root.join("single")]), BTreeSet::new()));
    }
}
