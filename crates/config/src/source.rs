//! Where a value came from.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// One layer of configuration, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Layer {
    /// What holds without any file.
    BuiltIn,
    /// The person's own file, or the one that `--config` names.
    User,
    /// The file in the workspace.
    Project,
    /// `HAFT_…` variables.
    Environment,
    /// The command line.
    Flag,
}

/// Where a value came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct Source {
    /// The layer.
    pub layer: Layer,
    /// The file, if it stands in one.
    #[serde(serialize_with = "lossy", skip_serializing_if = "Option::is_none")]
    pub file: Option<Arc<PathBuf>>,
    /// The line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in characters, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The variable or the flag, if it is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The preset that says so, if the value came with one; the rest is the place that names the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<&'static str>,
    /// The bytes of the file that say so, for the report.
    #[serde(skip)]
    pub(crate) span: Range<usize>,
}

impl Source {
    /// What holds without any file.
    pub(crate) const BUILT_IN: Self =
        Self { layer: Layer::BuiltIn, file: None, line: None, column: None, name: None, preset: None, span: 0..0 };

    fn place(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.name, &self.file) {
            (Some(name), _) => f.write_str(name),
            (None, None) => f.write_str("built-in"),
            (None, Some(file)) => {
                write!(f, "{}", file.display())?;
                self.line.map_or(Ok(()), |line| write!(f, ":{line}"))?;
                self.column.map_or(Ok(()), |column| write!(f, ":{column}"))
            }
        }
    }
}

impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(preset) = self.preset else { return self.place(f) };
        write!(f, "preset \"{preset}\" (")?;
        self.place(f)?;
        f.write_str(")")
    }
}

/// A value and where it came from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Where it came from.
    pub source: Source,
}

// A path need not be UTF-8, and a report about it must come out all the same.
#[allow(clippy::ref_option)] // the signature that serde calls
fn lossy<S: Serializer>(path: &Option<Arc<PathBuf>>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}
