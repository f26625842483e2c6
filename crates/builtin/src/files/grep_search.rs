mod clip;
mod filter;
mod kept;
mod kit;
mod params;
mod parts;
mod pattern;
mod report;
mod search;
mod sink;
mod source;

use std::sync::Arc;

use haft_contract::{Dialect, FileKind, Form, FormParameter, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;

use self::params::Params;
use self::report::Report;
use self::search::{Budget, Search};
use crate::shared::searching::planned;

/// Search in what files contain, by a regular expression (Rust's syntax; look-around and back-references are not known). Returns
/// the files with matches, newest first, or with output_mode the lines ('content') or how many match in each file ('count'), at
/// most 250 at a time; the note at the end says how many there are and how to continue. Searches a whole directory or one file.
/// What .gitignore names, hidden files and binary files are left out. Not for finding files by name: that is glob_search.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Search in files",
    section = Files,
    category = Io,
    timeout_secs = 30,
    max_output = 1_048_576,
    aliases = ["grep"],
    forms = FORMS,
    profiles = ["coding"],
    read_only,
    idempotent
)]
pub(crate) struct GrepSearch;

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "grep_search").parameters(&[
    FormParameter::new("-i", "case_insensitive"),
    FormParameter::new("-n", "line_numbers"),
    FormParameter::new("-B", "before"),
    FormParameter::new("-A", "after"),
    FormParameter::new("-C", "context"),
    FormParameter::new("-o", "only_matching"),
])];

impl Tool for GrepSearch {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.check()?;
        Ok(Plan::nothing().read_tree(cx.locate(params.path())?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.search(&params, Budget::default(), cx).await
    }
}

impl GrepSearch {
    async fn search(&self, params: &Params, budget: Budget, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let started = cx.clock().now();
        let place = planned(cx)?.display().to_owned();
        let is_file = cx.fs().info(params.path()).await?.kind == FileKind::File;
        let search = Arc::new(Search::new(params.request()?, place, is_file, budget));
        let walked = cx.fs().walk(params.path(), params.tree(), Arc::clone(&search) as _).await?;
        let elapsed = cx.clock().now().duration_since(started).unwrap_or_default();
        Ok(Report::new(params, &search, walked).output(elapsed, cx))
    }
}

#[cfg(test)]
mod tests;
