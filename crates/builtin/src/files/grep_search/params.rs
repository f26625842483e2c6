//! The parameters of a search.

use std::path::{Path, PathBuf};

use haft_contract::{ToolError, TreeOptions};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::filter::FileFilter;
use super::pattern;
use super::search::GrepRequest;

const LIMIT: usize = 250;
/// The most that are shown at once.
const MOST: usize = 10_000;
/// Pages beyond this are refused: everything before them must be kept in memory for the order.
const FURTHEST: usize = 20_000;
/// Bytes of a page, without and with an explicit limit.
const BYTES: usize = 100 * 1024;
const BYTES_WITH_LIMIT: usize = 1_000_000;
/// Most lines around a match.
const MOST_CONTEXT: usize = 500;

/// What a search returns.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub(crate) enum OutputMode {
    // The paths of files with a match. Models read of the modes in the description of the tool.
    #[default]
    FilesWithMatches,
    // The lines that match.
    Content,
    // How many lines match in each file.
    Count,
}

#[derive(Debug, Deserialize, JsonSchema)]
#[expect(clippy::struct_excessive_bools, reason = "a model is shown one switch for each")]
pub(crate) struct Params {
    /// The regular expression; a '\' takes the meaning of the character behind it.
    #[schemars(extend("x-verbatim" = true, "x-aliases" = ["regex", "query"]))]
    pattern: String,
    /// The file or directory to search in. Defaults to the workspace.
    #[schemars(extend("x-aliases" = ["directory", "dir", "file_path", "file"]))]
    path: Option<PathBuf>,
    /// Only paths that match one of these, such as '*.rs' or 'src/**/*.{ts,tsx}'; one with '!' in front leaves out.
    #[schemars(extend("x-aliases" = ["include", "globs"]))]
    glob: Option<Vec<String>>,
    /// Only files of this type, by ripgrep's names, such as 'rust' or 'py'.
    #[serde(rename = "type")]
    #[schemars(extend("x-rare" = true, "x-aliases" = ["file_type"]))]
    kind: Option<String>,
    /// The kind of result. Defaults to 'files_with_matches'.
    #[schemars(extend("x-aliases" = ["mode"]))]
    output_mode: Option<OutputMode>,
    /// Ignore upper and lower case.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["-i", "ignore_case"]))]
    case_insensitive: bool,
    /// Show the number of each line; only for 'content'. Defaults to true.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["-n"]))]
    line_numbers: Option<bool>,
    /// How many lines to show before each match; only for 'content'. Defaults to 'context'.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["-B", "before_context"]))]
    before: Option<usize>,
    /// How many lines to show after each match; only for 'content'. Defaults to 'context'.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["-A", "after_context"]))]
    after: Option<usize>,
    /// How many lines to show around each match, with 'content'. Defaults to 0.
    #[schemars(extend("x-aliases" = ["-C"]))]
    context: Option<usize>,
    /// Let the expression match across lines: '.' matches the end of a line as well.
    #[serde(default)]
    #[schemars(extend("x-rare" = true, "x-aliases" = ["-U"]))]
    multiline: bool,
    /// Show only the matching part of a line; only for 'content'.
    #[serde(default)]
    #[schemars(extend("x-rare" = true, "x-aliases" = ["-o"]))]
    only_matching: bool,
    /// How many lines ('content') or files at most. Defaults to 250; 0 is as many as fit.
    #[schemars(extend("x-aliases" = ["limit", "max_results"]))]
    head_limit: Option<usize>,
    /// How many of them to skip, as the note of the page before says. Defaults to 0.
    #[schemars(extend("x-rare" = true))]
    offset: Option<usize>,
    /// Also hidden files, whose names begin with a dot.
    #[serde(default)]
    #[schemars(extend("x-rare" = true, "x-aliases" = ["include_hidden"]))]
    hidden: bool,
    /// Also files that .gitignore and similar files exclude.
    #[serde(default)]
    #[schemars(extend("x-rare" = true, "x-aliases" = ["no_ignore", "include_ignored"]))]
    ignored: bool,
}

/// The part of a result that is shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct ResultWindow {
    pub(super) offset: usize,
    pub(super) limit: usize,
    pub(super) bytes: usize,
}

impl Params {
    /// Refuses parameters that cannot work.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        self.window()?;
        self.request().map(drop)
    }

    pub(super) fn path(&self) -> &Path {
        self.path.as_deref().unwrap_or(Path::new("."))
    }
    pub(super) fn pattern(&self) -> &str {
        &self.pattern
    }
    pub(super) fn mode(&self) -> OutputMode {
        self.output_mode.unwrap_or_default()
    }
    pub(super) fn tree(&self) -> TreeOptions {
        TreeOptions::default().with_hidden(self.hidden).with_ignored(self.ignored)
    }

    pub(super) fn window(&self) -> Result<ResultWindow, ToolError> {
        let offset = self.offset.unwrap_or(0);
        if offset > FURTHEST {
            return Err(ToolError::validation(format!(
                "Parameter 'offset' may be at most {FURTHEST}, not {offset}. Narrow the search with 'path', 'glob' or 'type' instead."
            )));
        }
        let (limit, bytes) = match self.head_limit {
            None => (LIMIT, BYTES),
            Some(0) => (MOST, BYTES_WITH_LIMIT),
            Some(limit) => (limit.min(MOST), BYTES_WITH_LIMIT),
        };
        Ok(ResultWindow { offset, limit, bytes })
    }

    pub(super) fn request(&self) -> Result<GrepRequest, ToolError> {
        let around = |own: Option<usize>| {
            let has_context = self.mode() == OutputMode::Content && !self.only_matching;
            if has_context { own.or(self.context).unwrap_or(0).min(MOST_CONTEXT) } else { 0 }
        };
        let ResultWindow { offset, limit, .. } = self.window()?;
        Ok(GrepRequest {
            matcher: pattern::compile(&self.pattern, self.case_insensitive, self.multiline)?,
            filter: FileFilter::new(self.glob.as_deref().unwrap_or_default(), self.kind.as_deref())?,
            mode: self.mode(),
            before: around(self.before),
            after: around(self.after),
            line_numbers: self.line_numbers.unwrap_or(true),
            multiline: self.multiline,
            only_matching: self.only_matching,
            keep: offset + limit,
        })
    }
}
