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
    /// Whether a picture of each step is kept.
    pub record: bool,
}

impl From<&Provenance> for BrowserConfig {
    fn from(settings: &Provenance) -> Self {
        let flag = |key| settings.value(key).is_true();
        let program = word(settings, "browser.program").map(PathBuf::from);
        Self { program, evaluate: flag("browser.evaluate"), record: flag("browser.record") }
    }
}
