mod finder;
mod pattern;

use std::path::PathBuf;
use std::sync::Arc;

use haft_contract::{ErrorKind, FileKind, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput, TreeOptions, Walked};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use self::finder::{Finder, Found};
use self::pattern::Pattern;
use crate::shared::searching::{self, Deadline, TIME, count_of, left_out, planned, with_notes};
use crate::shared::words;

const LIMIT: usize = 100;
const MOST: usize = 1000;
/// What a page holds at most, whatever the limit.
const BYTES: usize = 200_000;
/// Pages beyond this are refused: everything before them has to be held to know what is newest.
const FURTHEST: usize = 50_000;

/// Find files by a pattern on their paths, newest first. '*' and '?' stay within one name, '**' crosses folders, '{a,b}' is one of
/// several, '[a-z]' one letter; '**/*.rs' is every Rust file, 'src/*.rs' those directly in src. Returns paths relative to the
/// workspace, at most 100 at a time; the note at the end says how many there are and how to continue. What .gitignore names and
/// hidden files are left out unless asked for. Not for searching in what files contain: that is grep_search.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Find files",
    section = Files,
    category = Io,
    timeout_secs = 30,
    max_output = 262_144,
    aliases = ["glob"],
    profiles = ["coding"],
    read_only,
    idempotent
)]
pub(crate) struct GlobSearch;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The pattern on paths, relative to 'path', such as '**/*.{ts,tsx}'. A '!' in front finds what does not match.
    #[schemars(extend("x-aliases" = ["glob_pattern"]))]
    pattern: String,
    /// The directory to look in. Defaults to the workspace.
    #[schemars(extend("x-aliases" = ["directory", "dir", "cwd", "base_path"]))]
    path: Option<PathBuf>,
    /// Patterns of what to leave out, such as '**/tests/**'; one that matches a folder leaves out all that is in it.
    exclude: Option<Vec<String>>,
    /// Also hidden files, whose names begin with a dot. Needless where the pattern itself names one, such as '.github/**'.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["include_hidden", "dot"]))]
    hidden: bool,
    /// Also what .gitignore and its like leave out.
    #[serde(default)]
    #[schemars(extend("x-aliases" = ["no_ignore", "include_ignored"]))]
    ignored: bool,
    /// How many files to return at most. Defaults to 100; 1000 is the most.
    #[schemars(extend("x-aliases" = ["head_limit", "max_results"]))]
    limit: Option<usize>,
    /// How many of the newest files to skip: what the note of the page before says. Defaults to 0.
    offset: Option<usize>,
}

impl Tool for GlobSearch {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.window()?;
        Ok(Plan::nothing().read_tree(cx.locate(params.compiled()?.start())?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.search(&params, Deadline::after(TIME), cx).await
    }
}

impl GlobSearch {
    async fn search(&self, params: &Params, deadline: Deadline, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (pattern, started) = (params.compiled()?, cx.clock().now());
        let options = TreeOptions::default().with_ignored(params.ignored).with_hidden(params.hidden || pattern.names_hidden());
        let place = planned(cx)?.display().to_owned();
        let (offset, limit) = params.window()?;
        let start = pattern.start().to_owned();
        let finder = Arc::new(Finder::new(pattern, place.clone(), offset + limit, deadline));
        let walked = match cx.fs().info(&start).await {
            Ok(info) if info.kind == FileKind::Directory => cx.fs().walk(&start, options.clone(), Arc::clone(&finder) as _).await?,
            Ok(_) => return Err(not_a_directory(&place)),
            // What the pattern itself names need not be there: then nothing matches.
            Err(error) if error.kind() == ErrorKind::FileNotFound && finder.is_led_on() => Walked::default(),
            Err(error) => return Err(error),
        };
        let page = Page { params, options, place, offset, limit, found: finder.found(), walked };
        let elapsed = cx.clock().now().duration_since(started).unwrap_or_default();
        Ok(page.output(elapsed.as_millis(), cx))
    }
}

impl Params {
    fn compiled(&self) -> Result<Pattern, ToolError> {
        Pattern::parse(&self.pattern, self.path.as_deref(), self.exclude.as_deref().unwrap_or_default())
    }

    /// What to skip, and how many to show.
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

fn not_a_directory(place: &str) -> ToolError {
    ToolError::validation(format!(
        "'{place}' is a file, and files are found in a directory. Give a directory as 'path', or read the file with read_file."
    ))
}

/// What was found, to be shown.
struct Page<'a> {
    params: &'a Params,
    options: TreeOptions,
    place: String,
    offset: usize,
    limit: usize,
    found: Found,
    walked: Walked,
}

impl Page<'_> {
    fn output(self, elapsed: u128, cx: &ToolContext) -> ToolOutput {
        let total = self.found.total;
        let shown = self.shown();
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

    fn shown(&self) -> Vec<String> {
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
        let total = count_of(found.total);
        let mut notes = Vec::new();
        match next {
            Some(next) => notes.push(format!(
                "(Showing files {}-{next} of {total}, newest first. Continue with {}, or narrow the pattern.)",
                offset + 1,
                cx.written("offset", next as u64)
            )),
            None if found.total == 0 => notes.push(self.nothing()),
            None if shown.is_empty() => notes.push(format!("(No files at {}: {total} match.)", cx.written("offset", *offset as u64))),
            None => {}
        }
        if found.late {
            let seconds = TIME.as_secs();
            notes.push(format!("(Stopped after {seconds} seconds, so there may be more. Narrow the pattern or the path.)"));
        }
        notes.extend(searching::troubles(&self.walked, &[]));
        notes
    }

    fn nothing(&self) -> String {
        let Self { params, place, .. } = self;
        let pattern = words::shown(&params.pattern);
        let place = if place == "." { "the workspace".to_owned() } else { format!("'{place}'") };
        let looked = count_of(self.walked.entries);
        let mut note = format!("No file matches '{pattern}' in {place} ({looked} looked at).");
        if !params.pattern.contains('/') && !params.pattern.starts_with("**") {
            note.push_str(" '*' stays within one folder: '**/");
            note.push_str(&pattern);
            note.push_str("' looks in all of them.");
        }
        if let Some(left_out) = left_out(&self.options) {
            note.push(' ');
            note.push_str(left_out);
        }
        note
    }
}

#[cfg(test)]
mod tests;
