mod clip;
mod file_parts;
mod filter;
mod params;
mod pattern;
mod report;
mod rows;
mod search;
mod searcher;
mod sink;
mod source;

use std::sync::Arc;

use haft_contract::{Dialect, FileKind, Form, FormParameter, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;

use self::params::Params;
use self::report::GrepReport;
use self::search::{GrepBudget, GrepSearchRun};
use crate::shared::tree_search::planned_location;

/// Search the contents of files by a regular expression (Rust's syntax; no look-around, no back-references). Returns files with matches,
/// newest first, or with output_mode the lines ('content') or how many match in each file ('count'); at most 250, and a note says how to
/// continue. Leaves out hidden and binary files and those in .gitignore. To find files by name use glob_search.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Search in files",
    section = Files,
    category = Io,
    timeout_secs = 30,
    rules = Read,
    max_output = 1_048_576,
    aliases = ["grep"],
    forms = FORMS,
    profiles = ["coding"],
    read_only,
    idempotent
)]
pub(crate) struct GrepSearch;

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "grep_search").show_only(CLAW).parameters(&[
    FormParameter::new("-i", "case_insensitive"),
    FormParameter::new("-n", "line_numbers"),
    FormParameter::new("-B", "before"),
    FormParameter::new("-A", "after"),
    FormParameter::new("-C", "context"),
    FormParameter::new("-o", "only_matching"),
])];
const CLAW: &[&str] = &[
    "pattern",
    "path",
    "glob",
    "type",
    "output_mode",
    "case_insensitive",
    "line_numbers",
    "before",
    "after",
    "context",
    "multiline",
    "only_matching",
    "head_limit",
    "offset",
];

impl Tool for GrepSearch {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.check()?;
        Ok(Plan::nothing().read_tree(cx.locate(params.path())?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        self.search(&params, GrepBudget::default(), cx).await
    }
}

impl GrepSearch {
    async fn search(&self, params: &Params, budget: GrepBudget, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let started = cx.clock().now();
        let location = planned_location(cx)?.display().to_owned();
        let is_file = cx.fs().info(params.path()).await?.kind == FileKind::File;
        let search = Arc::new(GrepSearchRun::new(params.request()?, location, is_file, budget));
        let walked = cx.fs().walk(params.path(), params.tree(), Arc::clone(&search) as _).await?;
        let elapsed = cx.clock().now().duration_since(started).unwrap_or_default();
        Ok(GrepReport::new(params, &search, walked).output(elapsed, cx))
    }
}

#[cfg(test)]
mod tests;
