//! Slash commands of the user: prompts in Markdown files.

use std::path::{Path, PathBuf};

use haft_config::FrontMatter;
use haft_text::{arguments, display};

use crate::library::limit;
use crate::skill::first_paragraph;
use crate::{PromptFileError, PromptFiles, PromptFolders, PromptOrigin, PromptProblem, Skills};

/// Larger files are refused.
const MAX_BYTES: u64 = 256 * 1024;
const MAX_FILES: usize = 500;
const MAX_DEPTH: usize = 3;
const NAME_CHARACTERS: usize = 64;
const DESCRIPTION: usize = 100;

/// A command of the user.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct UserCommand {
    /// Its name, without the slash.
    pub name: String,
    /// What it does, in one line.
    pub description: String,
    /// What it takes, such as `[issue]`.
    pub takes: String,
    /// Whose it is.
    pub origin: PromptOrigin,
    /// Its file.
    pub path: PathBuf,
    /// Tools that the turn has at most, as they are written; `None` leaves all.
    pub allowed_tools: Option<Vec<String>>,
    /// The folder of its skill, if it is one.
    pub folder: Option<PathBuf>,
    body: String,
}

impl UserCommand {
    /// The prompt with these arguments.
    pub fn prompt(&self, given: &str) -> String {
        arguments::substitute(&self.body, given).trim().to_owned()
    }

    /// The tools that the turn has at most, by canonical names and rules; `canonical` knows the names of tools.
    pub fn limit(&self, canonical: &dyn Fn(&str) -> Option<String>) -> Option<Vec<String>> {
        limit(self.allowed_tools.as_deref(), canonical)
    }
}

/// All commands of the user, with what is wrong with some.
#[derive(Debug, Clone, Default)]
#[non_exhaustive]
pub struct UserCommands {
    /// By name.
    pub commands: Vec<UserCommand>,
    /// Faults and clashes.
    pub problems: Vec<PromptProblem>,
}

impl UserCommands {
    /// Reads every command file. Names in `taken` belong to commands of the program. Skills are commands, too, unless a file has the name.
    pub async fn read(folders: &PromptFolders, files: &PromptFiles, skills: &Skills, taken: &[&str]) -> Self {
        let mut found = Self::default();
        for (folder, origin) in folders.commands() {
            let mut paths = Vec::new();
            markdown_files(&folder, MAX_DEPTH, &mut paths);
            paths.sort();
            for path in paths {
                let beneath = if origin == PromptOrigin::Project { &folders.repository } else { &folder };
                found.add(path, origin, beneath, files, taken).await;
            }
        }
        for skill in &skills.skills {
            if !taken.contains(&skill.name.as_str()) && found.find(&skill.name).is_none() {
                found.commands.push(UserCommand {
                    name: skill.name.clone(),
                    description: one_line(&skill.description),
                    takes: String::new(),
                    origin: skill.origin,
                    path: skill.folder.join(crate::SKILL_FILE),
                    allowed_tools: skill.allowed_tools.clone(),
                    folder: Some(skill.folder.clone()),
                    body: skill.body.clone(),
                });
            }
        }
        found.commands.sort_by(|one, other| one.name.cmp(&other.name));
        found
    }

    async fn add(&mut self, path: PathBuf, origin: PromptOrigin, beneath: &Path, files: &PromptFiles, taken: &[&str]) {
        let name = path.file_stem().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        if let Some(fault) = self.fault(&name, taken) {
            return self.problems.push(PromptProblem::warning(path, fault));
        }
        let text = match files.locate(&path, beneath) {
            Ok(location) => files.read(&location, MAX_BYTES).await,
            Err(error) => Err(error),
        };
        let parsed = match text {
            Err(PromptFileError::Missing) => return,
            Err(error) => Err(error.to_string()),
            Ok(text) => parse(&text, name, origin, path.clone()).map_err(|error| format!("the front matter is broken: {error}")),
        };
        match parsed {
            Ok(command) if command.body.trim().is_empty() => self.problems.push(PromptProblem::error(path, "there is no prompt in it")),
            Ok(command) => self.commands.push(command),
            Err(message) => self.problems.push(PromptProblem::error(path, message)),
        }
    }

    /// Why a name cannot be used.
    fn fault(&self, name: &str, taken: &[&str]) -> Option<String> {
        let fits = !name.is_empty() && name.len() <= NAME_CHARACTERS && name.chars().all(|ch| ch.is_alphanumeric() || "-_.:".contains(ch));
        if !fits {
            return Some("a command's name has letters, digits, '-', '_', '.' and ':': rename the file".to_owned());
        }
        if taken.contains(&name) {
            return Some(format!("/{name} is a command of Haft, which is used instead: rename the file"));
        }
        let known = self.find(name)?;
        Some(format!("/{name} of {} is used instead: rename one", known.path.display()))
    }

    /// The command of a name.
    pub fn find(&self, name: &str) -> Option<&UserCommand> {
        self.commands.iter().find(|command| command.name == name)
    }
}

fn parse(text: &str, name: String, origin: PromptOrigin, path: PathBuf) -> Result<UserCommand, haft_config::FrontMatterError> {
    let matter = FrontMatter::parse(text)?;
    let description = matter.text("description")?.map_or_else(|| first_paragraph(matter.body), str::to_owned);
    let takes = match matter.field("argument-hint").map(|field| &field.value) {
        // `argument-hint: [issue] [branch]` is a list to YAML.
        Some(haft_config::FrontMatterValue::List(entries)) => {
            let entries =
                entries.iter().filter_map(|entry| if let haft_config::FrontMatterValue::Text(text) = entry { Some(text) } else { None });
            entries.map(|entry| format!("[{entry}]")).collect::<Vec<_>>().join(" ")
        }
        Some(_) => matter.text("argument-hint")?.unwrap_or_default().to_owned(),
        None => String::new(),
    };
    let allowed_tools = matter.entries("allowed-tools")?;
    Ok(UserCommand {
        name,
        description: one_line(&description),
        takes: one_line(&takes),
        origin,
        path,
        allowed_tools,
        folder: None,
        body: matter.body.to_owned(),
    })
}

fn one_line(text: &str) -> String {
    display::shorten(&text.split_whitespace().collect::<Vec<_>>().join(" "), DESCRIPTION).into_owned()
}

fn markdown_files(folder: &Path, depth: usize, files: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_hidden = entry.file_name().to_string_lossy().starts_with('.');
        if files.len() >= MAX_FILES || is_hidden {
            continue;
        }
        match entry.file_type() {
            Ok(kind) if kind.is_dir() && depth > 0 => markdown_files(&path, depth - 1, files),
            Ok(kind) if !kind.is_dir() && path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("md")) => files.push(path),
            _ => {}
        }
    }
}
