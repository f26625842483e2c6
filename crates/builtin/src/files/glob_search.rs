mod pattern;
mod visitor;

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{
    Dialect, ErrorKind, FileKind, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput, TreeOptions, WalkSummary,
};
use haft_macros::ToolMeta;
use haft_text::numbers::group_digits;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use self::pattern::SearchPattern;
use self::visitor::{GlobResult, GlobVisitor};
use crate::shared::brief;
use crate::shared::tree_search::{self, Deadline, TIME, excluded_note, planned_location, with_notes};

const LIMIT: usize = 100;
const MOST: usize = 1000;
/// Most bytes of a page, whatever the limit.
const BYTES: usize = 200_000;
/// Pages beyond this are refused: everything before them must be kept in memory for the order.
const FURTHEST: usize = 50_000;

/// Find files by a pattern on their paths, newest first. '**/*.rs' is every Rust file, 'src/*.rs' those directly in src; '{a,b}', '[a-z]'
/// and '?' work too. At most 100 at a time; a note says how to continue. Leaves out hidden files and those in .gitignore. To search
/// contents use grep_search.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Find files",
    section = Files,
    category = Io,
    timeout_secs = 30,
    rules = Read,
    max_output = 262_144,
    aliases = ["glob"],
    forms = FORMS,
    profiles = ["coding"],
    read_only,
    idempotent
)]
pub(crate) struct GlobSearch;

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "glob_search").show_only(&["pattern", "path"])];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The pattern, relative to 'path'. A '!' in front negates it.
    #[schemars(extend("x-aliases" = ["glob_pattern"]))]
    pattern: String,
    /// The directory to search. Defaults to the workspace.
    #[schemars(extend("x-aliases" = ["directory", "dir", "cwd", "base_path"]))]
    path: Option<PathBuf>,
    /// Patterns to exclude, such as '**/tests/**'; one that matches a folder excludes all files in it.
    #[schemars(extend("x-rare" = true))]
    exclude: Option<Vec<String>>,
    /// Also hidden files, whose names begin with a dot. Not needed if the pattern names one, such as '.github/**'.
    #[serde(default)]
    #[schemars(extend("x-rare" = true, "x-aliases" = ["include_hidden", "dot"]))]
    hidden: bool,
    /// Also files that .gitignore and similar files exclude.
    #[serde(default)]
    #[schemars(extend("x-rare" = true, "x-aliases" = ["no_ignore", "include_ignored"]))]
    ignored: bool,
    /// How many files at most, up to 1000. Defaults to 100.
    #[schemars(extend("x-rare" = true, "x-aliases" = ["head_limit", "max_results"]))]
    limit: Option<usize>,
    /// How many of the newest files to skip, as the note of the page before says. Defaults to 0.
    #[schemars(extend("x-rare" = true))]
    offset: Option<usize>,
}

impl Tool for GlobSearch {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.window()?;
        Ok(Plan::nothing().read_tree(cx.locate(params.compile()?.start())?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.search(&params, Deadline::after(TIME), cx).await
    }
}

impl GlobSearch {
    async fn search(&self, params: &Params, deadline: Deadline, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (pattern, started) = (params.compile()?, cx.clock().now());
        let options = TreeOptions::default().with_ignored(params.ignored).with_hidden(params.hidden || pattern.names_hidden());
        let location = planned_location(cx)?.display().to_owned();
        let (offset, limit) = params.window()?;
        let start = pattern.start().to_owned();
        let visitor = Arc::new(GlobVisitor::new(pattern, location.clone(), offset + limit, deadline));
        let walked = match cx.fs().info(&start).await {
            Ok(info) if info.kind == FileKind::Directory => cx.fs().walk(&start, options.clone(), Arc::clone(&visitor) as _).await?,
            Ok(_) => return Err(not_a_directory(&location)),
            // A directory that the pattern names need not exist: then nothing matches.
            Err(error) if error.kind() == ErrorKind::FileNotFound && visitor.names_start() => WalkSummary::default(),
            Err(error) => return Err(error),
        };
        let page = GlobPage { params, options, location, offset, limit, found: visitor.take_result(), walked };
        let elapsed = cx.clock().now().duration_since(started).unwrap_or_default();
        Ok(page.output(elapsed.as_millis(), cx))
    }
}

impl Params {
    fn compile(&self) -> Result<SearchPattern, ToolError> {
        SearchPattern::parse(&self.pattern, self.path.as_deref(), self.exclude.as_deref().unwrap_or_default())
    }

    /// The offset and the limit.
    fn window(&self) -> Result<(usize, usize), ToolError> {
        let (offset, limit) = (self.offset.unwrap_or(0), self.limit.unwrap_or(LIMIT).clamp(1, MOST));
        if offset > FURTHEST {
            return Err(ToolError::validation(format!(
                "Parameter 'offset' may be at most {FURTHEST}, not {offset}. Narrow the pattern or the path instead."
            )));
        }
        Ok((offset, limit))
    }
}

fn not_a_directory(location: &str) -> ToolError {
    ToolError::validation(format!("'{location}' is a file. Give a directory as 'path', or read the file with read_file."))
}

/// A page of the result.
struct GlobPage<'a> {
    params: &'a Params,
    options: TreeOptions,
    location: String,
    offset: usize,
    limit: usize,
    found: GlobResult,
    walked: WalkSummary,
}

impl GlobPage<'_> {
    fn output(self, elapsed: u128, cx: &ToolContext) -> ToolOutput {
        let total = self.found.total;
        let shown = self.list_names();
        let next = self.offset + shown.len();
        let more = !shown.is_empty() && (next as u64) < total;
        let details = json!({
            "files": shown,
            "total": total,
            "truncated": more,
            "next_offset": more.then_some(next),
            "complete": !self.found.late,
            "looked_at": self.walked.entries,
            "denied": self.walked.denied,
            "elapsed_ms": u64::try_from(elapsed).unwrap_or(u64::MAX),
        });
        let notes = self.notes(&shown, more.then_some(next), cx);
        ToolOutput::text(with_notes(&shown, &notes)).with_details(details)
    }

    fn list_names(&self) -> Vec<String> {
        let (mut shown, mut size) = (Vec::new(), 0);
        for name in self.found.names.iter().skip(self.offset).take(self.limit) {
            size += name.len() + 1;
            if size > BYTES && !shown.is_empty() {
                break;
            }
            shown.push(name.clone());
        }
        shown
    }

    fn notes(&self, shown: &[String], next: Option<usize>, cx: &ToolContext) -> Vec<String> {
        let Self { offset, found, .. } = self;
        let total = group_digits(found.total);
        let mut notes = Vec::new();
        match next {
            Some(next) => notes.push(format!(
                "(Showing files {}-{next} of {total}, newest first. Continue with {}, or narrow the pattern.)",
                offset + 1,
                cx.write_parameter("offset", next as u64)
            )),
            None if found.total == 0 => notes.push(self.nothing()),
            None if shown.is_empty() => {
                notes.push(format!("(No files at {}: {total} match.)", cx.write_parameter("offset", *offset as u64)));
            }
            None => {}
        }
        if found.late {
            let seconds = TIME.as_secs();
            notes.push(format!("(Stopped after {seconds} seconds, so there may be more. Narrow the pattern or the path.)"));
        }
        notes.extend(tree_search::errors_note(&self.walked, &[]));
        notes
    }

    fn nothing(&self) -> String {
        let Self { params, location, .. } = self;
        let pattern = brief(&params.pattern);
        let location = if location == "." { "the workspace".to_owned() } else { format!("'{location}'") };
        let looked = group_digits(self.walked.entries);
        let mut note = format!("No file matches '{pattern}' in {location} ({looked} looked at).");
        if !params.pattern.contains('/') && !params.pattern.starts_with("**") {
            note.push_str(" '*' stays within one folder: '**/");
            note.push_str(&pattern);
            note.push_str("' looks in all of them.");
        }
        if let Some(excluded) = excluded_note(&self.options) {
            note.push(' ');
            note.push_str(excluded);
        }
        note
    }
}

#[cfg(test)]
mod tests;
