//! Memory, as planned.

use std::path::Path;

use crate::capability::{alive, unplanned};
use crate::ports::{MemoryAnswer, MemoryIndex, MemoryLines, MemoryQuery, MemoryScope};
use crate::{Effect, ErrorKind, Extent, Location, PlanContext, ToolContext, ToolError};

/// The memory of the workspace, as planned. What a session wrote after it had seen untrusted content taints the session that reads it.
#[derive(Debug, Clone, Copy)]
pub struct MemoryUse<'a> {
    pub(crate) cx: &'a ToolContext,
}

pub(crate) fn no_memory() -> ToolError {
    ToolError::execution("There is no memory here: this program keeps none. Read the notes with read_file instead.")
}

impl<'a> MemoryUse<'a> {
    fn port(self) -> Result<&'a dyn MemoryIndex, ToolError> {
        alive(self.cx)?;
        self.cx.host().services().memory.as_deref().ok_or_else(no_memory)
    }

    /// The trees that the plan reads.
    fn roots(self) -> Vec<Location> {
        let planned = self.cx.plan().effects().iter().filter_map(|effect| match effect {
            Effect::Read(read) if read.extent == Extent::Tree => Some(read.location.clone()),
            _ => None,
        });
        planned.collect()
    }

    /// Searches the planned roots, and conversations if the plan reads them.
    pub async fn search(&self, query: MemoryQuery) -> Result<MemoryAnswer, ToolError> {
        let port = self.port()?;
        let sessions = self.cx.host().services().sessions.as_deref().filter(|_| self.cx.plan().permits_session_reads());
        let scope = MemoryScope { files: self.cx.host().files(), roots: self.roots(), sessions };
        let answer = port.search(query, scope).await?;
        if answer.hits.iter().any(|hit| hit.writer.is_tainted) {
            self.cx.mark_untrusted();
        }
        Ok(answer)
    }

    /// Who wrote the lines of a planned file, whose content was read; those outside of the wanted lines are left out.
    pub async fn writers(
        &self,
        path: impl AsRef<Path>,
        content: &[u8],
        wanted: std::ops::RangeInclusive<usize>,
    ) -> Result<Vec<MemoryLines>, ToolError> {
        let port = self.port()?;
        let path = path.as_ref();
        let at = self.cx.plan().readable(path).ok_or_else(|| unplanned("read", &path.to_string_lossy()))?;
        let mut lines = port.writers(at, content).await?;
        lines.retain(|part| part.first <= *wanted.end() && part.last >= *wanted.start());
        if lines.iter().any(|part| part.writer.is_tainted) {
            self.cx.mark_untrusted();
        }
        Ok(lines)
    }
}

impl PlanContext<'_> {
    /// The roots of memory that may be read, for the plan. A symbolic link is none: it could lead memory to other files.
    pub fn memory_roots(&self) -> Result<Vec<Location>, ToolError> {
        let memory = self.services().memory.as_deref().ok_or_else(no_memory)?;
        let roots = memory.roots().iter().filter_map(|path| self.memory_root(path));
        Ok(roots.filter(|location| location.no_read().is_none()).collect())
    }

    /// A root that is where its name says.
    fn memory_root(&self, path: &Path) -> Option<Location> {
        let location = self.locate(path).ok()?;
        let parent = path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let expected = self.locate(parent).ok()?.path().join(path.file_name()?);
        (location.path() == expected).then_some(location)
    }

    /// The location of a memory file. Other files are refused.
    pub fn memory_file(&self, path: &str) -> Result<Location, ToolError> {
        let roots = self.memory_roots()?;
        let location = self.locate(path)?;
        let ending = location.path().extension().and_then(|ending| ending.to_str()).unwrap_or_default().to_ascii_lowercase();
        if ["md", "markdown"].contains(&ending.as_str()) && roots.iter().any(|root| location.path().starts_with(root.path())) {
            return Ok(location);
        }
        let known: Vec<String> =
            self.services().memory.iter().flat_map(|memory| memory.roots()).map(|path| path.display().to_string()).collect();
        let message =
            format!("'{path}' is not a memory file. Memory is the Markdown in: {}. Use read_file for other files.", known.join(", "));
        Err(ToolError::new(ErrorKind::PathNotAllowed, message))
    }
}
