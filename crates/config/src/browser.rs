//! Settings of the browser.

use std::path::PathBuf;

use crate::config::word;
use crate::provenance::Provenance;

/// How the browser behaves.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct BrowserConfig {
    /// The program; the first that is installed, if absent.
    pub program: Option<PathBuf>,
    /// Whether scripts of the model may run in pages.
    pub evaluate: bool,
}

impl From<&Provenance> for BrowserConfig {
    fn from(settings: &Provenance) -> Self {
        let evaluate = settings.value("browser.evaluate").is_true();
        Self { program: word(settings, "browser.program").map(PathBuf::from), evaluate }
    }
}
