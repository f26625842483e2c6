use haft_contract::ports::SkillContent;
use haft_contract::{Dialect, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use haft_text::{arguments, display};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

use crate::shared::brief;

/// How many files of a skill are named.
const FILES: usize = 50;

/// Load the instructions of a skill, or a file of its folder. When a skill that the system prompt lists fits the task, load it before you
/// begin, and follow it.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "skill",
    label = "Skill",
    section = Planning,
    category = Io,
    timeout_secs = 10,
    aliases = ["Skill"],
    forms = FORMS,
    profiles = ["coding"],
    read_only,
    idempotent
)]
pub(crate) struct SkillTool;

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "Skill")];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The name of the skill.
    #[schemars(extend("x-aliases" = ["name", "command"]))]
    skill: String,
    /// Arguments, where its instructions take some.
    #[schemars(extend("x-aliases" = ["arguments"]))]
    args: Option<String>,
    /// A file of its folder to read instead, such as 'references/forms.md'.
    file: Option<String>,
}

impl Params {
    /// Models write skills as users do, with `/` or `$`.
    fn name(&self) -> Result<&str, ToolError> {
        let name = self.skill.trim().trim_start_matches(['/', '$']);
        if name.is_empty() {
            return Err(ToolError::validation("Parameter 'skill' is empty. Name a skill that the system prompt lists."));
        }
        Ok(name)
    }
}

impl Tool for SkillTool {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let Some(library) = &cx.services().skills else {
            return Err(ToolError::execution("There are no skills here: this program gives none. Do without."));
        };
        Ok(Plan::nothing().read(library.locate(params.name()?, params.file.as_deref())?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let name = params.name()?;
        let content = cx.skills().read(name, params.file.as_deref()).await?;
        if let Some(file) = &params.file {
            let details = json!({"skill": name, "file": file, "path": content.path.to_string_lossy()});
            return Ok(ToolOutput::text(content.text).with_details(details));
        }
        let given = params.args.as_deref().unwrap_or_default();
        let text = instructions(name, &arguments::substitute(&content.text, given), &content);
        let details = json!({
            "skill": name,
            "path": content.path.to_string_lossy(),
            "args": given,
            "description": content.description,
            "files": content.files,
            "allowed_tools": content.allowed_tools,
        });
        Ok(ToolOutput::text(text).with_details(details))
    }
}

fn instructions(name: &str, body: &str, content: &SkillContent) -> String {
    // Neither its text nor its arguments end it: what follows is said by this tool.
    let body = body.trim().replace("</skill", "&lt;/skill");
    let mut lines = vec![format!("<skill name=\"{}\">\n{body}\n</skill>", display::escape_line(name))];
    if !content.files.is_empty() {
        let listed: Vec<String> = content.files.iter().take(FILES).map(|file| brief(file)).collect();
        let more = content.files.len().saturating_sub(FILES);
        let more = if more > 0 { format!(" and {more} more") } else { String::new() };
        lines.push(format!("Files of this skill, to be read with 'file' where its instructions name them: {}{more}", listed.join(", ")));
    }
    if let Some(folder) = &content.folder {
        lines.push(format!("They are in {}, which commands can read and not change.", display::escape_line(&folder.display().to_string())));
    }
    if let Some(tools) = &content.allowed_tools {
        lines.push(format!("Until the end of this turn you have these tools at most: {}", tools.join(", ")));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests;
