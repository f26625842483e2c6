//! Sources of values.

use std::fmt;
use std::ops::Range;
use std::path::PathBuf;
use std::sync::Arc;

use serde::{Serialize, Serializer};

/// One layer of configuration, weakest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum ConfigLayer {
    /// The defaults.
    BuiltIn,
    /// The user's file, or the one that `--config` names.
    User,
    /// The file in the workspace.
    Project,
    /// `HAFT_…` variables.
    Environment,
    /// The command line.
    Flag,
}

/// The source of a value.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[non_exhaustive]
pub struct SettingSource {
    /// The layer.
    pub layer: ConfigLayer,
    /// The file, if any.
    #[serde(serialize_with = "lossy", skip_serializing_if = "Option::is_none")]
    pub file: Option<Arc<PathBuf>>,
    /// The line, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<u32>,
    /// The column in characters, counted from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<u32>,
    /// The variable or the flag, if any.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// The preset that has the value, if any; the rest is the place that names the preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<&'static str>,
    /// Its bytes in the file, for the report.
    #[serde(skip)]
    pub(crate) span: Range<usize>,
}

impl SettingSource {
    /// The source of defaults.
    pub(crate) const BUILT_IN: Self =
        Self { layer: ConfigLayer::BuiltIn, file: None, line: None, column: None, name: None, preset: None, span: 0..0 };

    /// Whether both are on the same line of a file, or in the same variable or flag.
    pub(crate) fn is_same_place(&self, other: &Self) -> bool {
        (self.layer, &self.file, self.line, &self.name) == (other.layer, &other.file, other.line, &other.name)
    }

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

impl fmt::Display for SettingSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some(preset) = self.preset else { return self.place(f) };
        write!(f, "preset \"{preset}\" (")?;
        self.place(f)?;
        f.write_str(")")
    }
}

/// A value and its source.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Sourced<T> {
    /// The value.
    pub value: T,
    /// Its source.
    pub source: SettingSource,
}

// A path need not be UTF-8, and a report about it must come out all the same.
#[allow(clippy::ref_option)] // the signature that serde calls
fn lossy<S: Serializer>(path: &Option<Arc<PathBuf>>, serializer: S) -> Result<S::Ok, S::Error> {
    path.as_ref().map(|path| path.to_string_lossy()).serialize(serializer)
}
