//! Port for pre-images and spills.

use std::path::{Path, PathBuf};

use super::PreImage;
use crate::{BoxFuture, ToolError};

/// Stores pre-images for undo, and spills.
pub trait Journal: Send + Sync {
    /// Stores a pre-image; returns when it is durable. The change happens after that.
    fn keep(&self, image: PreImage) -> BoxFuture<'_, Result<(), ToolError>>;
    /// Stores pre-images of changes that have happened already, in this order; returns when they are durable.
    fn keep_all(&self, images: Vec<PreImage>) -> BoxFuture<'_, Result<(), ToolError>> {
        Box::pin(async move {
            for image in images {
                self.keep(image).await?;
            }
            Ok(())
        })
    }
    /// Makes the changes of the call final: a failure of the call does not revert them. Undo still can.
    fn finalize(&self) {}
    /// Notes that the call brings untrusted content in that its plan does not show.
    fn mark_untrusted(&self) {}
    /// Removes the pre-image of this path and this [`after`](PreImage::after): the change did not happen.
    fn withdraw<'a>(&'a self, path: &'a Path, after: Option<&'a str>) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Opens a spill. Secrets are redacted on the way.
    fn spill(&self, extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>>;
}

/// Writes a spill: output that is too large for the model.
pub trait SpillWriter: Send {
    /// Adds to it.
    fn write<'a>(&'a mut self, bytes: &'a [u8]) -> BoxFuture<'a, Result<(), ToolError>>;
    /// Whether it reached its limit and holds the beginning alone.
    fn is_cut(&self) -> bool {
        false
    }
    /// Finishes it; it can be read from now on.
    fn finish(self: Box<Self>) -> BoxFuture<'static, Result<SpillFile, ToolError>>;
}

/// A finished spill, readable with `read_file`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpillFile {
    /// Where it is.
    pub path: PathBuf,
    /// Its size.
    pub bytes: u64,
}
