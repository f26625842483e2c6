//! Finds the skills of a user and a project.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::{Path, PathBuf};

use haft_text::display;

use crate::skill::{SKILL_FILE, Skill};
use crate::{PromptFileError, PromptFiles, PromptFolders, PromptOrigin};

/// Larger instructions are refused: a model would pay for them in every round.
pub(crate) const MAX_BODY: u64 = 256 * 1024;
/// How many entries of one folder are looked at.
const MAX_ENTRIES: usize = 1000;

/// Something to tell the user about a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct PromptProblem {
    /// The file or folder.
    pub path: PathBuf,
    /// What is wrong, and what to do.
    pub message: String,
    /// Whether the file is not used because of it.
    pub is_error: bool,
}

impl PromptProblem {
    pub(crate) fn error(path: impl Into<PathBuf>, message: impl AsRef<str>) -> Self {
        Self { path: path.into(), message: display::escape_line(message.as_ref()).into_owned(), is_error: true }
    }
    /// A remark of a caller.
    pub fn remark(path: impl Into<PathBuf>, message: impl AsRef<str>) -> Self {
        Self::warning(path, message)
    }
    pub(crate) fn warning(path: impl Into<PathBuf>, message: impl AsRef<str>) -> Self {
        Self { is_error: false, ..Self::error(path, message) }
    }
}

/// All skills, with what is wrong with some.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct Skills {
    /// By precedence: the first of a name is the one that counts, and the others are not here.
    pub skills: Vec<Skill>,
    /// Faults and clashes.
    pub problems: Vec<PromptProblem>,
}

impl Skills {
    /// Reads every `SKILL.md`.
    pub async fn read(folders: &PromptFolders, files: &PromptFiles) -> Self {
        let mut found = Self::default();
        for (folder, origin) in folders.skills() {
            for folder in subfolders(&folder) {
                found.add(&folder, origin, folders, files).await;
            }
        }
        found
    }

    /// A number for the state of the files of all skills: with another one, the skills may be others. Reads no file.
    pub fn stamp(folders: &PromptFolders) -> u64 {
        let mut hasher = DefaultHasher::new();
        for folder in folders.skills().iter().flat_map(|(folder, _)| subfolders(folder)) {
            let file = folder.join(SKILL_FILE).metadata().ok();
            (folder, file.map(|file| (file.len(), file.modified().ok()))).hash(&mut hasher);
        }
        hasher.finish()
    }

    /// Reads the skills of one folder, or only one of them.
    pub async fn read_in(root: &Path, only: Option<&Path>, files: &PromptFiles) -> Self {
        let mut found = Self::default();
        let folders = PromptFolders { workspace: root.to_owned(), repository: root.to_owned(), ..PromptFolders::default() };
        for folder in subfolders(root).iter().filter(|folder| only.is_none_or(|only| only == *folder)) {
            found.add(folder, PromptOrigin::User, &folders, files).await;
        }
        found
    }

    async fn add(&mut self, folder: &Path, origin: PromptOrigin, folders: &PromptFolders, files: &PromptFiles) {
        let path = folder.join(SKILL_FILE);
        // What a project holds must lie in the project; what the user links into a folder is the user's own choice.
        let beneath = if origin == PromptOrigin::Project { folders.repository.as_path() } else { folder };
        let text = match files.locate(folder, beneath).and_then(|_| files.locate(&path, folder)) {
            Ok(location) => files.read(&location, MAX_BODY).await,
            Err(error) => Err(error),
        };
        let text = match text {
            Ok(text) => text,
            // A folder without it is no skill.
            Err(PromptFileError::Missing) => return,
            Err(error) => return self.problems.push(PromptProblem::error(path, error.to_string())),
        };
        match Skill::parse(&text, folder.to_owned(), origin) {
            Ok((skill, remarks)) => {
                self.problems.extend(remarks.into_iter().map(|remark| PromptProblem::warning(&path, remark)));
                self.insert(skill, path);
            }
            Err(error) => self.problems.push(PromptProblem::error(path, format!("the front matter is broken: {error}"))),
        }
    }

    fn insert(&mut self, skill: Skill, path: PathBuf) {
        match self.skills.iter().find(|known| known.name == skill.name) {
            Some(known) => {
                let message = format!("the skill '{}' of {} is used instead: rename one", skill.name, known.folder.display());
                self.problems.push(PromptProblem::warning(path, message));
            }
            None => self.skills.push(skill),
        }
    }

    /// The skill of a name, in any case, or of a folder's name.
    pub fn find(&self, name: &str) -> Option<&Skill> {
        let of_folder = |skill: &&Skill| skill.folder.file_name().is_some_and(|folder| folder.to_string_lossy().eq_ignore_ascii_case(name));
        let by_name = |skill: &&Skill| skill.name.eq_ignore_ascii_case(name);
        self.skills.iter().find(by_name).or_else(|| self.skills.iter().find(of_folder))
    }

    /// Why a skill of this name cannot be used, if there is one.
    pub fn fault(&self, name: &str) -> Option<&PromptProblem> {
        let is_folder = |problem: &&PromptProblem| {
            problem.is_error
                && problem.path.parent().and_then(Path::file_name).is_some_and(|folder| folder.to_string_lossy().eq_ignore_ascii_case(name))
        };
        self.problems.iter().find(is_folder)
    }
}

/// Folders in a folder, by name. Links to folders count.
fn subfolders(folder: &Path) -> Vec<PathBuf> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Vec::new() };
    let mut folders: Vec<PathBuf> = entries.take(MAX_ENTRIES).flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
    folders.sort();
    folders
}
