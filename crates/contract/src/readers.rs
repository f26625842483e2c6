//! Readers and bodies within a call: one that a tool keeps reads nothing after the call.

use tokio_util::sync::CancellationToken;

use crate::capability::ended;
use crate::{Body, BoxFuture, FileReader, ToolError};

/// A file that can be read as long as its call lasts.
pub(crate) struct CallReader {
    pub(crate) reader: Box<dyn FileReader>,
    pub(crate) call: CancellationToken,
}

impl FileReader for CallReader {
    fn size(&self) -> u64 {
        self.reader.size()
    }
    fn read_at(&self, offset: u64, length: usize) -> BoxFuture<'_, Result<Vec<u8>, ToolError>> {
        if self.call.is_cancelled() { refuse() } else { self.reader.read_at(offset, length) }
    }
    fn fingerprint(&self) -> BoxFuture<'_, Result<String, ToolError>> {
        if self.call.is_cancelled() { refuse() } else { self.reader.fingerprint() }
    }
}

/// A body that arrives as long as its call lasts.
pub(crate) struct CallBody {
    pub(crate) body: Box<dyn Body>,
    pub(crate) call: CancellationToken,
}

impl Body for CallBody {
    fn chunk(&mut self) -> BoxFuture<'_, Result<Option<Vec<u8>>, ToolError>> {
        if self.call.is_cancelled() { refuse() } else { self.body.chunk() }
    }
}

fn refuse<'a, T: Send + 'a>() -> BoxFuture<'a, Result<T, ToolError>> {
    Box::pin(std::future::ready(Err(ended())))
}
