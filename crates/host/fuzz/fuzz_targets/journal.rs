//! A journal that keeps one pre-image, with its content read out.

use std::io::{Cursor, Read};
use std::path::Path;
use std::sync::Mutex;

use haft_contract::{
    BoxFuture, SpillWriter, ToolError,
    ports::{Journal, PreImage},
};

#[derive(Default)]
pub(crate) struct Kept(Mutex<Option<PreImage>>);

impl Kept {
    pub(crate) fn image(self) -> Option<PreImage> {
        self.0.into_inner().expect("no panic while it was held")
    }
}

impl Journal for Kept {
    fn keep(&self, mut image: PreImage) -> BoxFuture<'_, Result<(), ToolError>> {
        image.content = image.content.map(|mut content| {
            let mut bytes = Vec::new();
            content.read_to_end(&mut bytes).expect("a file that can be read");
            Box::new(Cursor::new(bytes)) as Box<dyn Read + Send>
        });
        *self.0.lock().expect("no panic while it was held") = Some(image);
        Box::pin(async { Ok(()) })
    }
    fn withdraw<'a>(&'a self, _path: &'a Path, _after: Option<&'a str>) -> BoxFuture<'a, Result<(), ToolError>> {
        *self.0.lock().expect("no panic while it was held") = None;
        Box::pin(async { Ok(()) })
    }
    fn spill(&self, _extension: &'static str) -> BoxFuture<'_, Result<Box<dyn SpillWriter>, ToolError>> {
        Box::pin(async { Err(ToolError::execution("no spills here")) })
    }
}
