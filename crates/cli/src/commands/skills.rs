//! `haft skills`: lists, shows, creates and checks skills.

use std::io::Write;
use std::path::{Path, PathBuf};

use haft_policy::{RuleKind, RuleSet};
use haft_prompts::{PromptFiles, PromptProblem, SKILL_FILE, Skill, Skills, content_rules, skill_template, unknown_tools, valid_skill_name};
use haft_text::display;
use serde_json::{Value, json};

use crate::arguments::{Common, SkillsCommand};
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{CAUTION, DIM, Output, STRONG, note, warn};
use crate::table::{ColumnFit, Table, TableCell};
use crate::text_builder::TextBuilder;
use crate::wire::{self, Wire};

pub(crate) fn run(common: &Common, command: &SkillsCommand, output: &Output) -> Result<Exit, Failure> {
    match command {
        SkillsCommand::List => list(&Wire::new(common, output)?, output),
        SkillsCommand::Show { name } => show(&Wire::new(common, output)?, name, output),
        SkillsCommand::New { name, description, project } => create(common, name, description.as_deref(), *project, output),
        SkillsCommand::Check { folder } => check(&Wire::new(common, output)?, folder.as_deref(), output),
    }
}

fn list(wire: &Wire, output: &Output) -> Result<Exit, Failure> {
    let found = wire.prompts.skills();
    found.problems.iter().for_each(tell);
    let columns = [("NAME", ColumnFit::Keep), ("FROM", ColumnFit::Keep), ("DESCRIPTION", ColumnFit::Cut)];
    let mut table = Table::new(&columns);
    for skill in &found.skills {
        table.row(vec![TableCell::new(&skill.name), TableCell::styled(skill.origin.as_str(), DIM), TableCell::new(&skill.description)]);
    }
    if found.skills.is_empty() {
        let (folders, _) = wire.prompts.sources()?;
        let trust = if folders.is_trusted { "" } else { "; skills of this project count after `haft trust`" };
        note(&format!("there are no skills: `haft skills new NAME` creates one{trust}"));
    }
    output.show(|| found.skills.iter().map(summary).collect::<Vec<_>>(), || table.render(output.width))
}

fn summary(skill: &Skill) -> Value {
    json!({
        "name": skill.name, "description": skill.description, "from": skill.origin.as_str(), "folder": skill.folder,
        "allowed_tools": skill.allowed_tools, "license": skill.license, "for_user_only": skill.is_for_user,
    })
}

fn tell(problem: &PromptProblem) {
    warn(&format!("{}: {}", display::escape_line(&problem.path.display().to_string()), problem.message));
}

fn show(wire: &Wire, name: &str, output: &Output) -> Result<Exit, Failure> {
    let found = wire.prompts.skills();
    let Some(skill) = found.find(name) else {
        let fault = found.fault(name).map(|problem| format!(": {}", problem.message)).unwrap_or_default();
        return Err(Failure::failed("not_found", format!("there is no skill '{}'{fault}", display::escape_line(name)))
            .help("`haft skills list` lists them"));
    };
    let files = haft_prompts::skill_files(&skill.folder);
    let page = || {
        let mut page = TextBuilder::default();
        page.line(format_args!(
            "{STRONG}{}{STRONG:#}  {DIM}{}{DIM:#}",
            skill.name,
            display::escape_line(&skill.folder.display().to_string())
        ));
        page.line(display::escape_lines(&skill.description));
        if let Some(tools) = &skill.allowed_tools {
            page.section("While it is in use the turn has at most these tools", &display::escape_line(&tools.join(", ")));
        }
        page.section("Files", &display::escape_lines(&files.join("\n")));
        page.section("Instructions", &display::escape_lines(skill.body.trim()));
        page.finish()
    };
    let data = || {
        let mut data = summary(skill);
        (data["files"], data["instructions"]) = (json!(files), json!(skill.body));
        data
    };
    output.show(data, page)
}

fn create(common: &Common, name: &str, description: Option<&str>, project: bool, output: &Output) -> Result<Exit, Failure> {
    if !valid_skill_name(name) {
        let message = format!("'{}' is no name for a skill", display::escape_line(name));
        return Err(Failure::usage(message).help("use lower-case letters, digits and single hyphens, such as 'release-notes'"));
    }
    let base = if project { wire::workspace(common)?.join(".haft") } else { config_folder()? };
    let file = base.join("skills").join(name).join(SKILL_FILE);
    let failed = |error: &std::io::Error| Failure::failed("execution_error", format!("{} cannot be written: {error}", file.display()));
    std::fs::create_dir_all(file.parent().unwrap_or(&base)).map_err(|error| failed(&error))?;
    let mut out = match std::fs::OpenOptions::new().write(true).create_new(true).open(&file) {
        Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => {
            return Err(Failure::usage(format!("{} is there already", file.display())).help("edit it, or choose another name"));
        }
        opened => opened.map_err(|error| failed(&error))?,
    };
    let text = skill_template(name, description.unwrap_or("What it does. Use it when …"));
    out.write_all(text.as_bytes()).map_err(|error| failed(&error))?;
    output.show(|| json!({ "file": file }), || format!("{}\n", display::escape_line(&file.display().to_string())))
}

fn config_folder() -> Result<PathBuf, Failure> {
    let file = wire::user_file()?;
    Ok(file.parent().map_or_else(PathBuf::new, Path::to_owned))
}

fn check(wire: &Wire, folder: Option<&Path>, output: &Output) -> Result<Exit, Failure> {
    let found = match folder {
        None => wire.prompts.skills(),
        Some(folder) => std::sync::Arc::new(block_on(read_folder(folder))?),
    };
    let mut problems = found.problems.clone();
    for skill in &found.skills {
        let unknown = unknown_tools(skill, &|name| wire.prompts.canonical(name));
        let unread = content_rules(skill, &|name| wire.prompts.canonical(name)).into_iter().filter_map(|rule| {
            let fault = RuleSet::check(RuleKind::Only, &rule, wire.policy.vocabulary(), None).err()?;
            Some(format!("allowed-tools has '{rule}', which leaves nothing of the tool: {fault}"))
        });
        let remarks = unknown.into_iter().chain(unread);
        problems.extend(remarks.map(|message| PromptProblem::remark(skill.folder.join(SKILL_FILE), message)));
    }
    let has_errors = problems.iter().any(|problem| problem.is_error);
    let rows = || problems.iter().map(|problem| json!({ "path": problem.path, "message": problem.message, "error": problem.is_error }));
    output.show(|| json!({ "skills": found.skills.len(), "problems": rows().collect::<Vec<_>>() }), || report(&found, &problems))?;
    Ok(if has_errors { Exit::Failed } else { Exit::Success })
}

fn report(found: &Skills, problems: &[PromptProblem]) -> String {
    let mut page = TextBuilder::default();
    for problem in problems {
        let word = if problem.is_error { "error" } else { "warning" };
        page.line(format_args!(
            "{CAUTION}{word}{CAUTION:#}: {}: {}",
            display::escape_line(&problem.path.display().to_string()),
            problem.message
        ));
    }
    page.line(format_args!("{} can be used", haft_text::numbers::count(found.skills.len(), "skill")));
    page.finish()
}

/// Skills of a folder that is not one of the usual ones, or the folder of one skill.
async fn read_folder(folder: &Path) -> Result<Skills, Failure> {
    let refused =
        |why: String| Failure::usage(format!("'{}' cannot be checked: {why}", folder.display())).help("name a folder with skills");
    let folder = folder.canonicalize().map_err(|error| refused(error.to_string()))?;
    let root = if folder.join(SKILL_FILE).exists() { folder.parent().map_or(folder.clone(), Path::to_owned) } else { folder.clone() };
    let options = haft_host::WorkspaceOptions::new(&root);
    let files = haft_host::LocalFiles::open(options).map_err(|error| refused(error.message().to_owned()))?;
    let only = (root != folder).then(|| folder.clone());
    Ok(Skills::read_in(&root, only.as_deref(), &PromptFiles::new(std::sync::Arc::new(files))).await)
}
