//! Output of any size: its beginning for the model, all of it in a spill.

use haft_contract::{SpillFile, SpillWriter, ToolContext, ToolError};

/// Keeps the beginning of a stream, and the whole of it in a spill once it is larger than that.
pub(crate) struct Capture<'a> {
    cx: &'a ToolContext,
    extension: &'static str,
    limit: usize,
    head: Vec<u8>,
    total: u64,
    spill: Option<Box<dyn SpillWriter>>,
}

/// What was captured.
#[derive(Debug)]
pub(crate) struct Captured {
    /// The beginning.
    pub(crate) head: Vec<u8>,
    /// How many bytes there were.
    pub(crate) total: u64,
    /// The whole of it, if it was spilled.
    pub(crate) spill: Option<SpillFile>,
}

impl<'a> Capture<'a> {
    /// Keeps `limit` bytes in memory; a spill gets this extension.
    pub(crate) fn new(cx: &'a ToolContext, limit: usize, extension: &'static str) -> Self {
        Self { cx, extension, limit, head: Vec::new(), total: 0, spill: None }
    }

    /// How many bytes came so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The beginning, as far as it came.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Adds a piece.
    pub(crate) async fn push(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        let room = self.limit - self.head.len();
        if bytes.len() > room {
            self.spill_all().await?;
        }
        if let Some(spill) = &mut self.spill {
            spill.write(bytes).await?;
        }
        self.head.extend_from_slice(&bytes[..bytes.len().min(room)]);
        self.total += bytes.len() as u64;
        Ok(())
    }

    /// Spills from the first byte on, however little there is.
    pub(crate) async fn spill_all(&mut self) -> Result<(), ToolError> {
        if self.spill.is_none() {
            let mut spill = self.cx.spills().create(self.extension).await?;
            spill.write(&self.head).await?;
            self.spill = Some(spill);
        }
        Ok(())
    }

    /// Ends it.
    pub(crate) async fn finish(self) -> Result<Captured, ToolError> {
        let spill = match self.spill {
            Some(spill) => Some(spill.finish().await?),
            None => None,
        };
        Ok(Captured { head: self.head, total: self.total, spill })
    }
}
