//! Where skills, commands and instructions are looked for, in order of precedence.

use std::path::{Path, PathBuf};

/// How many folders up from the workspace are looked at.
const MAX_DEPTH: usize = 32;
/// How many entries of a folder of the user are looked at for links.
const MAX_ENTRIES: usize = 1000;

/// Whose file it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PromptOrigin {
    /// The user's own.
    User,
    /// The project's.
    Project,
}

impl PromptOrigin {
    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::User => "user",
            Self::Project => "project",
        }
    }
}

/// The folders of a user and a project.
#[derive(Debug, Clone, Default)]
pub struct PromptFolders {
    /// Folder of the user's configuration.
    pub config: Option<PathBuf>,
    /// The user's home.
    pub home: Option<PathBuf>,
    /// The workspace.
    pub workspace: PathBuf,
    /// The root of the repository that holds the workspace, or the workspace.
    pub repository: PathBuf,
    /// Whether the user trusts the project.
    pub is_trusted: bool,
}

impl PromptFolders {
    /// Folders with skills: the user's before the project's, and folders near the workspace before those above.
    pub(crate) fn skills(&self) -> Vec<(PathBuf, PromptOrigin)> {
        let homes =
            [self.config.as_ref().map(|folder| folder.join("skills")), self.in_home(".agents/skills"), self.in_home(".claude/skills")];
        self.both(homes, &[".haft/skills", ".agents/skills", ".claude/skills"])
    }

    /// Folders with commands, likewise.
    pub(crate) fn commands(&self) -> Vec<(PathBuf, PromptOrigin)> {
        let homes = [self.config.as_ref().map(|folder| folder.join("commands")), self.in_home(".claude/commands")];
        self.both(homes, &[".haft/commands", ".claude/commands"])
    }

    /// Folders of the project that hold skills, commands or types of agents: what trust in it lets count.
    pub fn offered_by_project(&self) -> Vec<PathBuf> {
        let names =
            [".haft/skills", ".agents/skills", ".claude/skills", ".haft/commands", ".claude/commands", ".haft/agents", ".claude/agents"];
        let all = self.upwards().into_iter().flat_map(|folder| names.iter().map(move |name| folder.join(name)));
        all.filter(|folder| folder.is_dir() && self.home.as_ref().is_none_or(|home| folder.parent().and_then(Path::parent) != Some(home)))
            .collect()
    }

    fn in_home(&self, path: &str) -> Option<PathBuf> {
        self.home.as_ref().map(|home| home.join(path))
    }

    fn both(&self, homes: impl IntoIterator<Item = Option<PathBuf>>, names: &[&str]) -> Vec<(PathBuf, PromptOrigin)> {
        let own = homes.into_iter().flatten().map(|folder| (folder, PromptOrigin::User));
        let project = self.upwards().into_iter().filter(|_| self.is_trusted);
        let project = project.flat_map(|folder| names.iter().map(move |name| (folder.join(name), PromptOrigin::Project)));
        let mut folders: Vec<(PathBuf, PromptOrigin)> = Vec::new();
        // In a workspace that is the user's home, their own folders are those of the project.
        for (path, origin) in own.chain(project) {
            if !folders.iter().any(|(known, _)| *known == path) {
                folders.push((path, origin));
            }
        }
        folders
    }

    /// The workspace and the folders above it, up to the root of the repository.
    fn upwards(&self) -> Vec<&Path> {
        let above = self.workspace.ancestors().take(MAX_DEPTH);
        above.take_while(|folder| folder.starts_with(&self.repository)).collect()
    }

    /// The same from the root of the repository down.
    pub(crate) fn downwards(&self) -> Vec<&Path> {
        let mut folders = self.upwards();
        folders.reverse();
        folders
    }

    /// Folders outside the workspace that must be readable for all this. A skill of the user may be a link to its folder.
    pub fn roots(&self) -> Vec<PathBuf> {
        let skills = self.skills().into_iter().filter(|(_, origin)| *origin == PromptOrigin::User).map(|(folder, _)| folder);
        let skills: Vec<PathBuf> = skills.collect();
        let linked = skills.iter().flat_map(|folder| linked_folders(folder));
        let commands = self.commands().into_iter().filter(|(_, origin)| *origin == PromptOrigin::User).map(|(folder, _)| folder);
        let all = self.config.iter().cloned().chain(skills.iter().cloned()).chain(linked).chain(commands);
        let all = all.chain((self.repository != self.workspace).then(|| self.repository.clone()));
        // One that cannot be read has nothing for us, and must not keep the others from being opened.
        let mut roots: Vec<PathBuf> =
            all.filter(|folder| std::fs::read_dir(folder).is_ok()).filter_map(|folder| folder.canonicalize().ok()).collect();
        roots.retain(|root| *root != self.workspace && root.parent().is_some());
        roots.sort();
        roots.dedup();
        roots
    }
}

fn linked_folders(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let links = entries.take(MAX_ENTRIES).flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_symlink()));
    links.map(|entry| entry.path()).filter(|path| path.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_folders_come_first_and_a_project_counts_when_trusted() {
        let mut folders = PromptFolders {
            config: Some("/home/a/.config/haft".into()),
            home: Some("/home/a".into()),
            workspace: "/home/a/code/app/web".into(),
            repository: "/home/a/code/app".into(),
            is_trusted: false,
        };
        let own = ["/home/a/.config/haft/skills", "/home/a/.agents/skills", "/home/a/.claude/skills"];
        let paths = |folders: &PromptFolders| folders.skills().into_iter().map(|(path, _)| path).collect::<Vec<_>>();
        assert_eq!(paths(&folders), own.map(PathBuf::from));
        folders.is_trusted = true;
        let project = ["/home/a/code/app/web", "/home/a/code/app"]
            .iter()
            .flat_map(|folder| [".haft", ".agents", ".claude"].map(|name| PathBuf::from(format!("{folder}/{name}/skills"))));
        assert_eq!(paths(&folders), own.map(PathBuf::from).into_iter().chain(project).collect::<Vec<_>>());
        assert_eq!(folders.commands().len(), 2 + 4);
        assert_eq!(folders.downwards(), [Path::new("/home/a/code/app"), Path::new("/home/a/code/app/web")]);
    }
}
