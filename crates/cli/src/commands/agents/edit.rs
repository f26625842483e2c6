//! `haft agents edit`: flags or ticked tools become the smallest change of the user's file.

use haft_config::{AgentEdit, Problem};
use haft_contract::ToolDefinition;
use haft_text::display;
use haft_tui::diff::style_lines;
use serde_json::json;

use super::draft::AgentDraft;
use super::prompt::{EnterMeans, PromptResult, ToolChoice, confirm, tick};
use super::{flags, text};
use crate::arguments::{Common, EditAgentArgs};
use crate::commands::tools::first_sentence;
use crate::failure::{Exit, Failure};
use crate::output::{GOOD, Output, note, warn};
use crate::terminal::Terminal;

const UNCHANGED: &str = "nothing was changed";
/// Lines of context in a diff.
const CONTEXT: usize = 2;

pub(super) fn run(common: &Common, request: &EditAgentArgs, output: &Output) -> Result<Exit, Failure> {
    // These flags are written to the file and do not apply to this process.
    let common = Common { access: None, profile: None, ..common.clone() };
    let mut draft = AgentDraft::begin(&common, output, &request.name)?;
    let known: Vec<Problem> = draft.loaded().warnings().cloned().collect();
    let is_new = draft.wire().known_agent(&request.name).is_err();
    if let PromptResult::Left(exit) = apply_changes(&mut draft, request, is_new)? {
        note(UNCHANGED);
        return Ok(exit);
    }
    for problem in draft.loaded().warnings().filter(|problem| !known.iter().any(|known| known.message == problem.message)) {
        warn(&problem.message);
    }
    finish(draft, request, is_new, output)
}

/// Changes the draft by the flags, or by a prompt if there are none.
fn apply_changes(draft: &mut AgentDraft<'_>, request: &EditAgentArgs, is_new: bool) -> Result<PromptResult<()>, Failure> {
    let asks = !request.yes && Terminal::is_there();
    if is_new && !request.create && !request.yes {
        if !asks {
            return Err(not_there(draft));
        }
        let question = format!("There is no agent '{}' yet. Create it?", display::escape_line(draft.agent()));
        match confirm(&question, EnterMeans::Yes)? {
            PromptResult::Given(true) => {}
            PromptResult::Given(false) => return Ok(PromptResult::Left(Exit::Success)),
            PromptResult::Left(exit) => return Ok(PromptResult::Left(exit)),
        }
    }
    flags::apply(draft, request)?;
    match (request.has_changes(), asks) {
        (false, true) => {
            if let PromptResult::Left(exit) = tick_tools(draft)? {
                return Ok(PromptResult::Left(exit));
            }
        }
        (false, false) if !request.create => return Err(no_changes(draft.agent())),
        _ => {}
    }
    if is_new {
        draft.change([AgentEdit::Create])?;
    }
    Ok(PromptResult::Given(()))
}

fn no_changes(name: &str) -> Failure {
    Failure::usage("there is nothing to change: no flag names a change")
        .help(format!("haft agents edit {name} --model anthropic/claude-sonnet-4-5 --no-tool write_file"))
}

fn not_there(draft: &AgentDraft<'_>) -> Failure {
    let (name, known) = (draft.agent(), draft.wire().agents());
    let near = haft_text::suggest::nearest(name, known.iter().map(String::as_str));
    let meant = near.first().map(|near| format!("did you mean '{near}'? Or ")).unwrap_or_default();
    let help = format!("{meant}add --create to make it: haft agents edit {name} --create");
    Failure::usage(format!("there is no agent '{name}'")).help(help)
}

/// Lets the user tick tools, and applies the changes.
fn tick_tools(draft: &mut AgentDraft<'_>) -> Result<PromptResult<()>, Failure> {
    let mut choices = Vec::new();
    for tool in draft.view()?.tools {
        let name = tool.definition().name.to_string();
        let obstacle = if tool.is_offered() { None } else { draft.obstacle(&name)? };
        choices.push(ToolChoice { about: about(tool.definition()), ticked: tool.is_offered(), obstacle, name });
    }
    let title = format!("Tools of the agent '{}':", display::escape_line(draft.agent()));
    let ticked = match tick(&title, choices.clone())? {
        PromptResult::Given(ticked) => ticked,
        PromptResult::Left(exit) => return Ok(PromptResult::Left(exit)),
    };
    for (choice, wanted) in choices.iter().zip(ticked).filter(|(choice, wanted)| choice.ticked != *wanted) {
        if wanted { draft.switch_on(&choice.name)? } else { draft.switch_off(&choice.name)? }
    }
    Ok(PromptResult::Given(()))
}

/// The first sentence of the description, with the permissions that the tool needs.
fn about(tool: &ToolDefinition) -> String {
    let sentence = first_sentence(&tool.description);
    if tool.permissions.is_empty() { sentence.to_owned() } else { format!("{sentence} (needs {})", tool.permissions.join(", ")) }
}

/// Writes the file, unless nothing changed or `--dry-run` is given, and prints the result.
fn finish(draft: AgentDraft<'_>, request: &EditAgentArgs, is_new: bool, output: &Output) -> Result<Exit, Failure> {
    let changed = draft.before() != draft.after();
    let view = draft.view()?;
    if let Some(wanted) = request.access.filter(|wanted| *wanted > view.session.access()) {
        warn(&format!("the agent has {}, not {wanted}: `access` limits every agent", view.session.access()));
    }
    let (file, share) = (display::escape_line(&draft.file().to_string_lossy()).into_owned(), view.share());
    let offered: Vec<String> = view.tools.iter().filter(|tool| tool.is_offered()).map(|tool| tool.definition().name.to_string()).collect();
    let diff = diff_lines(draft.before(), draft.after());
    let data = json!({
        "agent": view.name, "model": view.model.and_then(text), "access": view.session.access(), "tools": offered, "file": file,
        "created": is_new && changed, "changed": changed, "written": changed && !request.dry_run,
        "diff": to_text(&diff),
    });
    let name = display::escape_line(view.name).into_owned();
    let shown = to_text(&style_lines(&diff));
    let text = match (changed, request.dry_run) {
        (false, _) => format!("{UNCHANGED}: {file} has these settings already\n"),
        (true, true) => format!("this would be written to {file}:\n{shown}"),
        (true, false) => format!("{GOOD}saved{GOOD:#} to {file}:\n{shown}the agent '{name}' has {share} tools\n"),
    };
    if changed && !request.dry_run {
        drop(draft.write()?);
    }
    output.show(|| data, || text)
}

fn to_text(lines: &[String]) -> String {
    lines.iter().fold(String::new(), |text, line| text + line + "\n")
}

/// Hunks of a unified diff, without its header.
fn diff_lines(before: &str, after: &str) -> Vec<String> {
    let diff = haft_patch::diff::unified(before.as_bytes(), after.as_bytes(), "config.toml", CONTEXT);
    diff.lines().skip(2).map(|line| display::escape_line(line).into_owned()).collect()
}
