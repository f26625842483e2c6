//! The skills of a session, as the tool `skill` reaches them.

use std::path::Path;
use std::sync::Arc;

use haft_contract::ports::{SkillContent, SkillLibrary, SkillSummary};
use haft_contract::{BoxFuture, Location, ToolError};
use haft_text::{display, suggest};

use crate::skill::{SKILL_FILE, Skill};
use crate::skills::{MAX_BODY, Skills};
use crate::{PromptFileError, PromptFiles};

/// How many files of a skill are listed, and how deep.
const MAX_FILES: usize = 200;
const MAX_DEPTH: usize = 4;
/// How many names an error lists.
const NAMES: usize = 20;
/// Tools that a skill cannot take away: the rest of itself, and the answer that the caller of the turn waits for.
const ALWAYS: [&str; 2] = ["skill", "structured_output"];

/// The canonical name of a tool.
type Canonical = dyn Fn(&str) -> Option<String> + Send + Sync;

/// Skills in folders.
pub struct FolderSkills {
    skills: Arc<Skills>,
    files: PromptFiles,
    canonical: Box<Canonical>,
}

haft_contract::opaque_debug!(FolderSkills);

impl FolderSkills {
    /// These skills; `canonical` knows the names of tools.
    pub fn new(skills: Arc<Skills>, files: PromptFiles, canonical: impl Fn(&str) -> Option<String> + Send + Sync + 'static) -> Self {
        Self { skills, files, canonical: Box::new(canonical) }
    }

    fn find(&self, name: &str) -> Result<&Skill, ToolError> {
        if let Some(skill) = self.skills.find(name).filter(|skill| !skill.is_for_user) {
            return Ok(skill);
        }
        let name = display::shorten(name, 80);
        if let Some(fault) = self.skills.fault(&name) {
            return Err(ToolError::validation(format!(
                "The skill '{name}' cannot be used: {}. Do without, and tell the user.",
                fault.message
            )));
        }
        let known: Vec<String> = self.list().into_iter().map(|skill| skill.name).collect();
        let near = suggest::closest(&name, known.iter().map(String::as_str));
        let meant = near.map(|near| format!(" Did you mean '{near}'?")).unwrap_or_default();
        let listed = match known.len() {
            0 => " There are none.".to_owned(),
            count if count > NAMES => format!(" Of {count} there are: {}, ….", known[..NAMES].join(", ")),
            _ => format!(" There are: {}.", known.join(", ")),
        };
        Err(ToolError::validation(format!("There is no skill '{name}'.{meant}{listed}")))
    }

    fn refused(skill: &Skill, file: &str, error: &PromptFileError) -> ToolError {
        let file = display::shorten(file, 200);
        let what = format!("'{file}' of the skill '{}' cannot be read: {error}.", skill.name);
        match error {
            PromptFileError::Missing => {
                ToolError::new(haft_contract::ErrorKind::FileNotFound, format!("{what} Its instructions name its files."))
            }
            PromptFileError::Outside(_) => ToolError::new(haft_contract::ErrorKind::PathNotAllowed, what),
            PromptFileError::TooLarge { .. } => ToolError::new(haft_contract::ErrorKind::FileTooLarge, what),
            PromptFileError::NotText => ToolError::new(haft_contract::ErrorKind::NotText, what),
            PromptFileError::Refused(_) => ToolError::denied(what),
        }
    }
}

/// The entries of a list such as `Read, Bash(git:*)` with canonical names, `read_file`, `exec(git *)`; and entries that name no tool.
fn canonical_entries(entries: &[String], canonical: &dyn Fn(&str) -> Option<String>) -> (Vec<String>, Vec<String>) {
    let (mut known, mut unknown) = (Vec::new(), Vec::new());
    for entry in entries {
        let (name, content) = entry.split_once('(').map_or((entry.as_str(), None), |(name, rest)| (name, Some(rest)));
        let Some(name) = canonical(name.trim()) else {
            unknown.push(name.trim().to_owned());
            continue;
        };
        let entry = match content.map(|content| rule_content(content.trim_end().strip_suffix(')').unwrap_or(content))) {
            // Everything of a tool is the tool.
            None => name,
            Some(content) if content == "*" => name,
            Some(content) => format!("{name}({content})"),
        };
        if !known.contains(&entry) {
            known.push(entry);
        }
    }
    (known, unknown)
}

/// The content of a rule: other agents write `git:*` for `git *`, and `//` before a path from the top of the machine.
fn rule_content(content: &str) -> String {
    const KEYS: [&str; 5] = ["domain", "method", "channel", "to", "host"];
    let content = content.trim();
    let content = content.strip_prefix("./").unwrap_or(content);
    let content = if content.starts_with("//") { &content[1..] } else { content };
    match content.strip_suffix(":*") {
        Some(start) if !KEYS.contains(&start) => format!("{start} *"),
        _ => content.to_owned(),
    }
}

/// Remarks on the `allowed-tools` of a skill: names of no tool.
pub fn unknown_tools(skill: &Skill, canonical: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let (_, unknown) = canonical_entries(skill.allowed_tools.as_deref().unwrap_or_default(), canonical);
    let unknown = unknown.into_iter().filter(|name| name != "*");
    unknown.map(|name| format!("allowed-tools names '{name}', and there is no such tool")).collect()
}

/// The entries of a skill's `allowed-tools` that leave some calls of a tool, as rules with canonical names.
pub fn content_rules(skill: &Skill, canonical: &dyn Fn(&str) -> Option<String>) -> Vec<String> {
    let (known, _) = canonical_entries(skill.allowed_tools.as_deref().unwrap_or_default(), canonical);
    known.into_iter().filter(|entry| entry.contains('(')).collect()
}

/// The tools of a list with canonical names, if it leaves some of them for calls that a rule covers alone. A name of no tool that is
/// known now stays as it is: it may be one of a server that has not started.
pub fn narrowed_tools(entries: &[String], canonical: &dyn Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    let (mut tools, _) = canonical_entries(entries, canonical);
    if !tools.iter().any(|entry| entry.contains('(')) {
        return None;
    }
    tools.extend(entries.iter().filter(|entry| !entry.contains('(') && canonical(entry.trim()).is_none()).cloned());
    Some(tools)
}

/// The tools that a limit leaves, some of them for calls that a rule covers; `None` if it leaves all.
pub(crate) fn limit(entries: Option<&[String]>, canonical: &dyn Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    let entries = entries.filter(|entries| !entries.iter().any(|entry| entry == "*"))?;
    let (mut tools, _) = canonical_entries(entries, canonical);
    tools.extend(ALWAYS.iter().filter(|name| !tools.iter().any(|tool| tool == *name)).map(ToString::to_string).collect::<Vec<_>>());
    Some(tools)
}

impl SkillLibrary for FolderSkills {
    fn list(&self) -> Vec<SkillSummary> {
        let mut listed: Vec<&Skill> = self.skills.skills.iter().filter(|skill| !skill.is_for_user).collect();
        listed.sort_by(|one, other| one.name.cmp(&other.name));
        listed.into_iter().map(|skill| SkillSummary::new(&skill.name, &skill.description)).collect()
    }

    fn locate(&self, name: &str, file: Option<&str>) -> Result<Location, ToolError> {
        let skill = self.find(name)?;
        let file = file.unwrap_or(SKILL_FILE);
        self.files.locate(&skill.folder.join(file), &skill.folder).map_err(|error| Self::refused(skill, file, &error))
    }

    fn read<'a>(&'a self, name: &'a str, file: Option<&'a str>, at: &'a Location) -> BoxFuture<'a, Result<SkillContent, ToolError>> {
        Box::pin(async move {
            let skill = self.find(name)?;
            let text = self.files.read(at, MAX_BODY).await.map_err(|error| Self::refused(skill, file.unwrap_or(SKILL_FILE), &error))?;
            let mut content = SkillContent::default();
            at.path().clone_into(&mut content.path);
            if file.is_some() {
                content.text = text;
                return Ok(content);
            }
            // Read again: it may have changed since the session began.
            let (skill, _) = Skill::parse(&text, skill.folder.clone(), skill.origin).map_err(|error| {
                ToolError::validation(format!("The skill '{name}' cannot be used: {error}. Do without, and tell the user."))
            })?;
            content.files = files_of(&skill.folder);
            content.folder = (!content.files.is_empty()).then(|| skill.folder.clone());
            content.allowed_tools = limit(skill.allowed_tools.as_deref(), &*self.canonical);
            (content.text, content.description) = (skill.body, skill.description);
            Ok(content)
        })
    }
}

/// Paths of the files in a skill's folder, without hidden ones and links.
pub fn files_of(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    list(folder, "", MAX_DEPTH, &mut files);
    files.sort();
    files
}

fn list(folder: &Path, prefix: &str, depth: usize, files: &mut Vec<String>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if files.len() >= MAX_FILES {
            return;
        }
        match entry.file_type() {
            Ok(kind) if name.starts_with('.') || kind.is_symlink() => {}
            Ok(kind) if kind.is_dir() && depth > 0 => list(&entry.path(), &format!("{prefix}{name}/"), depth - 1, files),
            Ok(kind) if kind.is_file() && !(prefix.is_empty() && name == SKILL_FILE) => files.push(format!("{prefix}{name}")),
            _ => {}
        }
    }
}
