//! Instructions of the user and of a project: `AGENTS.md`, or what other agents use in its place.

use std::path::{Path, PathBuf};

use haft_text::{numbers, truncate};

use crate::files::FileText;
use crate::{PromptFileError, PromptFiles, PromptFolders, PromptOrigin, PromptProblem};

/// Names of instruction files: the first that a folder has counts.
const NAMES: [&str; 3] = ["AGENTS.md", "CLAUDE.md", ".cursorrules"];
/// Most bytes of one file.
const MAX_FILE: usize = 32 * 1024;
/// Most bytes of all.
const MAX_ALL: usize = 96 * 1024;

/// An instruction file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct InstructionFile {
    /// Its path.
    pub path: PathBuf,
    /// How it is labelled: relative to the repository, or with `~`.
    pub label: String,
    /// Whose it is.
    pub origin: PromptOrigin,
    /// Its text, perhaps cut, with a note that says so.
    pub text: String,
}

/// All instructions, from the most general to the most specific.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Instructions {
    /// The user's first, then the project's from the root of the repository down.
    pub files: Vec<InstructionFile>,
    /// Files that were not read.
    pub problems: Vec<PromptProblem>,
}

/// Where an instruction file may be.
struct InstructionCandidate {
    folder: PathBuf,
    beneath: PathBuf,
    origin: PromptOrigin,
    names: &'static [&'static str],
}

fn candidates(folders: &PromptFolders) -> Vec<InstructionCandidate> {
    let own = folders.config.iter().map(|config| InstructionCandidate {
        folder: config.clone(),
        beneath: config.clone(),
        origin: PromptOrigin::User,
        names: &NAMES[..1],
    });
    let project = folders.downwards().into_iter().map(|folder| InstructionCandidate {
        folder: folder.to_owned(),
        // A link may lead to another file of the project, as `CLAUDE.md` to `AGENTS.md`, and not out of it.
        beneath: folders.repository.clone(),
        origin: PromptOrigin::Project,
        names: &NAMES,
    });
    own.chain(project).collect()
}

/// Every path where an instruction file may be.
pub(crate) fn candidate_paths(folders: &PromptFolders) -> Vec<PathBuf> {
    candidates(folders).into_iter().flat_map(|candidate| candidate.names.iter().map(move |name| candidate.folder.join(name))).collect()
}

impl Instructions {
    /// Reads them.
    pub async fn read(folders: &PromptFolders, files: &PromptFiles) -> Self {
        let mut found = Self::default();
        for candidate in candidates(folders) {
            for name in candidate.names {
                let path = candidate.folder.join(name);
                let read = match files.locate(&path, &candidate.beneath) {
                    Ok(location) => files.read_start(&location, MAX_FILE as u64).await,
                    Err(error) => Err(error),
                };
                match read {
                    Err(PromptFileError::Missing) => continue,
                    Err(error) => found.problems.push(PromptProblem::error(path, format!("these instructions are not read: {error}"))),
                    Ok(text) if text.text.trim().is_empty() => {}
                    Ok(text) => found.files.push(instruction_file(path, candidate.origin, text, folders)),
                }
                break;
            }
        }
        found.bound();
        found
    }

    /// Cuts what is too much altogether: the user's own and the most specific ones stay.
    fn bound(&mut self) {
        let mut left = MAX_ALL;
        let (own, project): (Vec<_>, Vec<_>) = self.files.iter_mut().partition(|file| file.origin == PromptOrigin::User);
        for file in own.into_iter().chain(project.into_iter().rev()) {
            if file.text.len() > left {
                file.text = cut(&file.text, left, file.text.len() as u64, &file.label);
            }
            left = left.saturating_sub(file.text.len());
        }
    }

    /// The file with this path.
    pub(crate) fn file(&self, path: &Path) -> Option<&InstructionFile> {
        self.files.iter().find(|file| file.path == path)
    }
}

fn instruction_file(path: PathBuf, origin: PromptOrigin, FileText { text, size }: FileText, folders: &PromptFolders) -> InstructionFile {
    let label = label(&path, folders);
    let text = if size > text.len() as u64 { cut(&text, MAX_FILE, size, &label) } else { text };
    InstructionFile { path, label, origin, text: text.trim_end().to_owned() }
}

fn label(path: &Path, folders: &PromptFolders) -> String {
    if let Ok(rest) = path.strip_prefix(&folders.repository) {
        return rest.display().to_string();
    }
    let in_home = folders.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
    in_home.map_or_else(|| path.display().to_string(), |rest| format!("~/{}", rest.display()))
}

/// The first bytes up to a line end, and a note.
fn cut(text: &str, most: usize, size: u64, label: &str) -> String {
    let head = truncate::first_bytes(text, most);
    let head = head.rfind('\n').map_or(head, |end| &head[..end]);
    format!("{head}\n[{label} is cut here: {} of {} are shown.]", numbers::size(head.len() as u64), numbers::size(size))
}
