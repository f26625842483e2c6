//! Output of any size: the beginning in memory, all of it in a spill.

use haft_contract::{SpillFile, SpillWriter, ToolContext, ToolError};

/// Keeps the beginning of a stream, and the whole of it in a spill once it is larger than that.
pub(crate) struct SpillBuffer<'a> {
    cx: &'a ToolContext,
    extension: &'static str,
    limit: usize,
    head: Vec<u8>,
    total: u64,
    spill: Option<Box<dyn SpillWriter>>,
}

/// The output of a buffer.
#[derive(Debug)]
pub(crate) struct SpilledOutput {
    /// The beginning.
    pub(crate) head: Vec<u8>,
    /// How many bytes there were.
    pub(crate) total: u64,
    /// All of it, if it was spilled.
    pub(crate) spill: Option<SpillFile>,
}

impl<'a> SpillBuffer<'a> {
    /// Keeps `limit` bytes in memory; a spill gets this extension.
    pub(crate) fn new(cx: &'a ToolContext, limit: usize, extension: &'static str) -> Self {
        Self { cx, extension, limit, head: Vec::new(), total: 0, spill: None }
    }

    /// How many bytes there are so far.
    pub(crate) fn total(&self) -> u64 {
        self.total
    }

    /// The beginning so far.
    pub(crate) fn head(&self) -> &[u8] {
        &self.head
    }

    /// Adds a piece.
    pub(crate) async fn push(&mut self, bytes: &[u8]) -> Result<(), ToolError> {
        let space = self.limit - self.head.len();
        if bytes.len() > space {
            self.spill_all().await?;
        }
        if let Some(spill) = &mut self.spill {
            spill.write(bytes).await?;
        }
        self.head.extend_from_slice(&bytes[..bytes.len().min(space)]);
        self.total += bytes.len() as u64;
        Ok(())
    }

    /// Spills from the first byte on, whatever the size.
    pub(crate) async fn spill_all(&mut self) -> Result<(), ToolError> {
        if self.spill.is_none() {
            let mut spill = self.cx.spills().create(self.extension).await?;
            spill.write(&self.head).await?;
            self.spill = Some(spill);
        }
        Ok(())
    }

    /// Ends the output.
    pub(crate) async fn finish(self) -> Result<SpilledOutput, ToolError> {
        let spill = match self.spill {
            Some(spill) => Some(spill.finish().await?),
            None => None,
        };
        Ok(SpilledOutput { head: self.head, total: self.total, spill })
    }
}
