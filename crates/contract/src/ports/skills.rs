//! Port for skills: folders of instructions that a model loads when it needs them.

use std::path::PathBuf;

use crate::{BoxFuture, Location, ToolError};

/// A skill in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct SkillSummary {
    /// Its name.
    pub name: String,
    /// What it is for, and when to use it.
    pub description: String,
}

impl SkillSummary {
    /// A skill in a listing.
    pub fn new(name: impl Into<String>, description: impl Into<String>) -> Self {
        Self { name: name.into(), description: description.into() }
    }
}

/// What is read of a skill.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
#[non_exhaustive]
pub struct SkillContent {
    /// The instructions, or the text of a file of the skill.
    pub text: String,
    /// What the skill is for; only with the instructions.
    pub description: String,
    /// The file that was read.
    pub path: PathBuf,
    /// Other files of the skill, as paths in its folder; only with the instructions.
    pub files: Vec<String>,
    /// The folder of the skill, where it has other files, which commands may read from now on.
    pub folder: Option<PathBuf>,
    /// The tools that the turn has at most from now on, as in [`TurnLimit`](crate::TurnLimit); `None` leaves it all.
    pub allowed_tools: Option<Vec<String>>,
}

/// The skills of a session.
pub trait SkillLibrary: Send + Sync {
    /// Every skill, by name.
    fn list(&self) -> Vec<SkillSummary>;
    /// The location of a skill's instructions, or of a file in its folder, for the plan. Unknown names are refused, and so is a path
    /// that leads out of the folder.
    fn locate(&self, skill: &str, file: Option<&str>) -> Result<Location, ToolError>;
    /// Reads a location that [`locate`](Self::locate) made.
    fn read<'a>(&'a self, skill: &'a str, file: Option<&'a str>, at: &'a Location) -> BoxFuture<'a, Result<SkillContent, ToolError>>;
}
