//! `haft agents edit`: flags or a list to tick become the smallest change of the person's file.

use haft_config::{AgentEdit, Problem};
use haft_contract::{ToolDefinition, visible};
use serde_json::json;

use super::ask::{Answer, Choice, confirm, tick};
use super::draft::Draft;
use super::{diff, flags, names, text};
use crate::arguments::{Common, EditAgent};
use crate::commands::tools::first_sentence;
use crate::failure::{Exit, Failure};
use crate::output::{GOOD, Output, note, print, warn};
use crate::terminal::Terminal;

const NOTHING: &str = "nothing was changed";

pub(super) fn run(common: &Common, request: &EditAgent, output: &Output) -> Result<Exit, Failure> {
    // What these flags say is written; it does not hold for this process.
    let common = Common { access: None, profile: None, ..common.clone() };
    let mut draft = Draft::begin(&common, output, &request.name)?;
    let known: Vec<Problem> = draft.loaded().warnings().cloned().collect();
    let is_new = draft.wire().known_agent(&request.name).is_err();
    if let Answer::Left(exit) = changed(&mut draft, request, is_new)? {
        note(NOTHING);
        return Ok(exit);
    }
    for problem in draft.loaded().warnings().filter(|problem| !known.iter().any(|known| known.message == problem.message)) {
        warn(&problem.message);
    }
    finish(draft, request, is_new, output)
}

/// Changes the draft by the flags; where they say nothing, the person is asked.
fn changed(draft: &mut Draft<'_>, request: &EditAgent, is_new: bool) -> Result<Answer<()>, Failure> {
    let asks = !request.yes && Terminal::is_there();
    if is_new && !request.create && !request.yes {
        if !asks {
            return Err(not_there(draft));
        }
        let question = format!("There is no agent '{}' yet. Create it?", visible::line(draft.agent()));
        match confirm(&question)? {
            Answer::Given(true) => {}
            Answer::Given(false) => return Ok(Answer::Left(Exit::Success)),
            Answer::Left(exit) => return Ok(Answer::Left(exit)),
        }
    }
    flags::apply(draft, request)?;
    match (request.says_something(), asks) {
        (false, true) => {
            if let Answer::Left(exit) = ticks(draft)? {
                return Ok(Answer::Left(exit));
            }
        }
        (false, false) if !request.create => return Err(nothing_said(draft.agent())),
        _ => {}
    }
    if is_new {
        draft.change([AgentEdit::Create])?;
    }
    Ok(Answer::Given(()))
}

fn nothing_said(name: &str) -> Failure {
    Failure::usage("there is nothing to change: no flag says what, and nobody is asked")
        .help(format!("haft agents edit {name} --model anthropic/claude-sonnet-4-5 --no-tool write_file"))
}

fn not_there(draft: &Draft<'_>) -> Failure {
    let (name, known) = (draft.agent(), names(draft.wire()));
    let near = haft_engine::nearest(name, known.iter().map(String::as_str));
    let meant = near.first().map(|near| format!("did you mean '{near}'? Or ")).unwrap_or_default();
    let help = format!("{meant}add --create to make it: haft agents edit {name} --create");
    Failure::usage(format!("there is no agent '{name}'")).help(help)
}

/// Lets the person tick the tools, and changes what they changed.
fn ticks(draft: &mut Draft<'_>) -> Result<Answer<()>, Failure> {
    let mut choices = Vec::new();
    for tool in draft.view()?.tools {
        let name = tool.definition().name.to_string();
        let obstacle = if tool.is_offered() { None } else { draft.obstacle(&name)? };
        choices.push(Choice { about: about(tool.definition()), ticked: tool.is_offered(), obstacle, name });
    }
    let title = format!("Tools of the agent '{}':", visible::line(draft.agent()));
    let ticked = match tick(&title, choices.clone())? {
        Answer::Given(ticked) => ticked,
        Answer::Left(exit) => return Ok(Answer::Left(exit)),
    };
    for (choice, wanted) in choices.iter().zip(ticked).filter(|(choice, wanted)| choice.ticked != *wanted) {
        if wanted { draft.switch_on(&choice.name)? } else { draft.switch_off(&choice.name)? }
    }
    Ok(Answer::Given(()))
}

/// What a tool is for, and what the platform must grant it.
fn about(tool: &ToolDefinition) -> String {
    let sentence = first_sentence(&tool.description);
    if tool.permissions.is_empty() { sentence.to_owned() } else { format!("{sentence} (needs {})", tool.permissions.join(", ")) }
}

/// Writes the file, unless nothing changed or it was only to be shown, and says what came of it.
fn finish(draft: Draft<'_>, request: &EditAgent, is_new: bool, output: &Output) -> Result<Exit, Failure> {
    let changed = draft.before() != draft.after();
    let view = draft.view()?;
    if let Some(wanted) = request.access.filter(|wanted| *wanted > view.session.access()) {
        warn(&format!("the agent has {}, not {wanted}: no agent has more than `access` gives", view.session.access()));
    }
    let (file, share) = (visible::line(&draft.file().to_string_lossy()).into_owned(), view.share());
    let offered: Vec<String> = view.tools.iter().filter(|tool| tool.is_offered()).map(|tool| tool.definition().name.to_string()).collect();
    let data = json!({
        "agent": view.name, "model": view.model.and_then(text), "access": view.session.access(), "tools": offered, "file": file,
        "created": is_new && changed, "changed": changed, "written": changed && !request.dry_run,
        "diff": diff::plain(draft.before(), draft.after()),
    });
    let (shown, name) = (diff::styled(draft.before(), draft.after()), visible::line(view.name).into_owned());
    let said = match (changed, request.dry_run) {
        (false, _) => format!("{NOTHING}: {file} says so already\n"),
        (true, true) => format!("this would be written to {file}:\n{shown}"),
        (true, false) => format!("{GOOD}saved{GOOD:#} to {file}:\n{shown}the agent '{name}' has {share} tools\n"),
    };
    if changed && !request.dry_run {
        draft.write()?;
    }
    if output.json {
        output.data(&data)?;
    } else {
        print(&said)?;
    }
    Ok(Exit::Success)
}
