//! One skill: the front matter and the body of its `SKILL.md`.

use std::path::PathBuf;

use haft_config::{FrontMatter, FrontMatterError};
use haft_text::display;

use crate::PromptOrigin;

/// The file with the instructions of a skill.
pub const SKILL_FILE: &str = "SKILL.md";
/// Longest name, as the format says.
const NAME_CHARACTERS: usize = 64;
/// Longest description, as the format says.
const DESCRIPTION_CHARACTERS: usize = 1024;

/// A skill.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Skill {
    /// Its name.
    pub name: String,
    /// What it is for, and when to use it.
    pub description: String,
    /// Its folder.
    pub folder: PathBuf,
    /// Whose it is.
    pub origin: PromptOrigin,
    /// Tools that it needs, as they are written; the turn has at most these. `None` leaves all.
    pub allowed_tools: Option<Vec<String>>,
    /// Its licence.
    pub license: Option<String>,
    /// Whether the user alone starts it.
    pub is_for_user: bool,
    /// The instructions.
    pub body: String,
}

/// Whether a name fits the format: lower-case letters, digits and single hyphens.
pub fn valid_skill_name(name: &str) -> bool {
    let fits = |part: &str| !part.is_empty() && part.chars().all(|ch| ch.is_ascii_lowercase() || ch.is_ascii_digit());
    name.len() <= NAME_CHARACTERS && name.split('-').all(fits)
}

/// A `SKILL.md` to begin with.
pub fn skill_template(name: &str, description: &str) -> String {
    let title: String = name.split('-').map(capitalized).collect::<Vec<_>>().join(" ");
    let description = display::escape_line(description).replace('"', "'");
    format!(
        "---\nname: {name}\ndescription: \"{description}\"\n# allowed-tools: read_file, grep_search\n---\n\n# {title}\n\n\
         1. What to do first. `$ARGUMENTS` is what the skill is called with.\n2. What to do then. Long texts belong in files beside this \
         one, such as `references/details.md`.\n"
    )
}

fn capitalized(word: &str) -> String {
    let mut characters = word.chars();
    characters.next().map_or_else(String::new, |first| first.to_uppercase().chain(characters).collect())
}

impl Skill {
    /// Parses the text of a `SKILL.md`, with remarks on what the format wants otherwise.
    pub(crate) fn parse(text: &str, folder: PathBuf, origin: PromptOrigin) -> Result<(Self, Vec<String>), FrontMatterError> {
        let matter = FrontMatter::parse(text)?;
        let folder_name = folder.file_name().map_or_else(String::new, |name| name.to_string_lossy().into_owned());
        let mut remarks = Vec::new();
        let name = match matter.text("name")? {
            Some(name) if valid_skill_name(name) => name.to_owned(),
            Some(name) => {
                remarks.push(format!("the name '{}' is not made of lower-case letters, digits and hyphens", display::shorten(name, 80)));
                folder_name.clone()
            }
            None => {
                remarks.push("the front matter has no name: add 'name: …', the same as the folder's".to_owned());
                folder_name.clone()
            }
        };
        if name != folder_name {
            remarks.push(format!("the name '{name}' differs from that of its folder, '{}'", display::shorten(&folder_name, 80)));
        }
        let described = matter.text("description")?;
        if described.is_none() {
            remarks
                .push("the front matter has no description: add 'description: …', which says what it does and when to use it".to_owned());
        }
        let description = described.map_or_else(|| first_paragraph(matter.body), str::to_owned);
        if description.chars().count() > DESCRIPTION_CHARACTERS {
            remarks.push(format!("the description has more than {DESCRIPTION_CHARACTERS} characters"));
        }
        if matter.body.trim().is_empty() {
            remarks.push("there are no instructions below the front matter".to_owned());
        }
        let skill = Self {
            name,
            description: description.split_whitespace().collect::<Vec<_>>().join(" "),
            folder,
            origin,
            allowed_tools: matter.entries("allowed-tools")?,
            license: matter.text("license")?.map(str::to_owned),
            is_for_user: matter.flag("disable-model-invocation")?.unwrap_or(false),
            body: matter.body.to_owned(),
        };
        Ok((skill, remarks))
    }
}

/// The first paragraph that is no heading.
pub(crate) fn first_paragraph(body: &str) -> String {
    let paragraphs = body.split("\n\n").map(str::trim);
    let text = paragraphs.filter(|text| !text.is_empty() && !text.starts_with('#')).map(str::to_owned).next();
    text.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_the_format() {
        for (name, valid) in
            [("pdf", true), ("pdf-2", true), ("", false), ("-a", false), ("a--b", false), ("PDF", false), ("a b", false), ("../a", false)]
        {
            assert_eq!(valid_skill_name(name), valid, "{name:?}");
        }
        assert!(!valid_skill_name(&"a".repeat(65)));
    }

    #[test]
    fn template_is_a_skill_without_remarks() {
        let text = skill_template("my-skill", "Does \"things\".\nUse when asked");
        let (skill, remarks) = Skill::parse(&text, "/s/my-skill".into(), PromptOrigin::User).unwrap();
        assert_eq!(remarks, Vec::<String>::new());
        assert_eq!((skill.name.as_str(), skill.allowed_tools), ("my-skill", None));
    }

    #[test]
    fn what_the_format_wants_otherwise_is_remarked() {
        for (text, name, remark) in [
            ("---\nname: other\ndescription: d\n---\nbody", "other", "differs from that of its folder"),
            ("---\nname: Bad Name\ndescription: d\n---\nbody", "mine", "not made of lower-case letters"),
            ("---\nname: mine\n---\n# Title\n\nFirst words.\n", "mine", "no description"),
            ("---\nname: mine\ndescription: d\n---\n \n", "mine", "no instructions"),
            ("Just text", "mine", "no name"),
        ] {
            let (skill, remarks) = Skill::parse(text, "/s/mine".into(), PromptOrigin::User).unwrap();
            assert_eq!(skill.name, name, "{text}");
            assert!(remarks.iter().any(|said| said.contains(remark)), "{text}: {remarks:?}");
        }
        let parsed = Skill::parse("---\nname: mine\n---\n# Title\n\nFirst\nwords.\n", "/s/mine".into(), PromptOrigin::User).unwrap();
        assert_eq!(parsed.0.description, "First words.");
    }
}
