//! The person's file as it was read, to be replaced as a whole if nobody else changed it meanwhile.

use std::path::{Path, PathBuf};

use super::agent::{AgentEdit, with_agent};
use super::{PATIENCE, SaveError, file};

/// The person's file as it was read.
#[derive(Debug, Clone)]
pub struct OwnFile {
    /// What a link leads to.
    target: PathBuf,
    text: Option<String>,
}

impl OwnFile {
    /// Reads it; one that is not there is empty.
    pub fn read(file: &Path) -> Result<Self, SaveError> {
        let target = file::target(file)?;
        let text = file::read(&target)?;
        Ok(Self { target, text })
    }

    /// What it holds.
    pub fn text(&self) -> &str {
        self.text.as_deref().unwrap_or_default()
    }

    /// The text after changes of an agent's table, of which the name has its one spelling. Comments, order and formatting of
    /// everything else stay.
    pub fn with_agent(&self, agent: &str, edits: &[AgentEdit]) -> Result<String, SaveError> {
        with_agent(&self.target, self.text(), agent, edits)
    }

    /// Writes a text in its place, unless it is no longer what was read. A file that was missing is made, private to the
    /// person; a link stays a link.
    pub fn replace(self, text: String) -> Result<Replaced, SaveError> {
        file::make_folder(&self.target)?;
        self.exchange(Some(&text))?;
        Ok(Replaced { before: self, text })
    }

    fn exchange(&self, text: Option<&str>) -> Result<(), SaveError> {
        let lock = file::lock(&self.target, PATIENCE)?;
        if file::read(&self.target)? != self.text {
            return Err(SaveError::Changed { file: self.target.clone() });
        }
        match text {
            Some(text) => file::replace(&self.target, text)?,
            None => file::remove(&self.target)?,
        }
        drop(lock);
        Ok(())
    }
}

/// A file that was replaced.
#[derive(Debug)]
#[must_use]
pub struct Replaced {
    before: OwnFile,
    text: String,
}

impl Replaced {
    /// Puts the file back as it was, unless somebody changed it meanwhile.
    pub fn put_back(self) -> Result<(), SaveError> {
        let Self { before: OwnFile { target, text: before }, text } = self;
        OwnFile { target, text: Some(text) }.exchange(before.as_deref())
    }
}
