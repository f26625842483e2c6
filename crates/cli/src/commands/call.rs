//! `haft call`: one call, from the words of the command line to its one result.

use std::path::Path;

use haft_contract::{Arguments, Content, ErrorKind, JobScope, ToolCall, ToolError, ToolOutput, ToolResult, base64};
use haft_engine::Session;
use haft_store::StoreError;
use serde_json::{Value, json};

use crate::arguments::{Common, ToolWords};
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::commands::staying;
use crate::failure::{Exit, Failure, to_change};
use crate::invocation::Invocation;
use crate::output::{Output, error_text, note, warn};
use crate::terminal::{show_waiting, stop_waiting};
use crate::wire::{self, Asking, Following, Wire, Wired};

pub(crate) fn run(common: Common, words: ToolWords) -> Result<Exit, Failure> {
    let registry = wire::registry()?;
    let invocation = Invocation::read("call", words, common, &registry)?;
    let output = Output::new(&invocation.common);
    let wire = Wire::with(registry, &invocation.common, &output)?;
    let reads_input = invocation.reads_standard_input();
    let asking = if reads_input { Asking::Never } else { Asking::Allowed };
    let tool = invocation.tool.clone();
    let arguments = invocation.arguments(wire.settings.config.limits.argument_bytes)?.unwrap_or(Arguments::Text(String::new()));
    let asked_at = staying::asked_at();
    if asked_at.is_none() && staying::is_wanted(&arguments) {
        // Made private before anything lies in it.
        drop(wire::stores(&wire.settings.data_folder)?);
        let input = reads_input.then(|| given(&arguments));
        return staying::hand_over(&wire.run_folder(), input.as_deref());
    }
    let call = ToolCall::new(call_id(), tool, arguments);
    block_on(async {
        let stores = wire::stores(&wire.settings.data_folder)?;
        let following = Following { waits: true, ..wire.following(&stores) };
        let wired = wire.calling(&wire.settings.workspace, stores.log, following, asking)?;
        adopt(&wired.session, &wire.settings.workspace).await;
        let exit = answer(&wired, call).await?.show(&output)?;
        if let Some(asked_at) = &asked_at {
            staying::stay(asked_at, exit, &wired.session).await?;
        }
        Ok(exit)
    })
}

/// The arguments as they came from standard input.
fn given(arguments: &Arguments) -> String {
    match arguments {
        Arguments::Text(text) => text.clone(),
        Arguments::Json(value) => value.to_string(),
    }
}

/// A person sees every command that goes on in this workspace, whichever session it belongs to.
async fn adopt(session: &Session, workspace: &Path) {
    let adopted = session.host().processes().adopt(session.id(), JobScope::Workspace(workspace.to_owned())).await;
    adopted.unwrap_or_else(|error| warn(error.message()));
}

/// Enough of an id that no two calls share it.
fn call_id() -> String {
    let id = uuid::Uuid::now_v7().simple().to_string();
    format!("call_{}", &id[16..])
}

/// A result, and how the process was asked to end before it was there.
struct Answered {
    result: ToolResult,
    recorded: Result<(), StoreError>,
    stopped: Option<Exit>,
}

/// Runs the call, and takes the line that said so away.
async fn answer(wired: &Wired, call: ToolCall) -> Result<Answered, Failure> {
    let tool = call.name.clone();
    let outcome = tokio::select! {
        answered = stoppable(wired, call) => answered,
        never = show_waiting(&tool) => match never {},
    };
    stop_waiting();
    outcome
}

/// Runs the call. The first signal cancels it, the second ends the process.
async fn stoppable(wired: &Wired, call: ToolCall) -> Result<Answered, Failure> {
    let running = Box::pin(async {
        let result = wired.engine.run(call, &wired.session).await;
        (result, wired.log.flush().await)
    });
    let ((result, recorded), stopped) = interruptible(running, wired.session.cancellation()).await?;
    Ok(Answered { result, recorded, stopped })
}

impl Answered {
    fn show(&self, output: &Output) -> Result<Exit, Failure> {
        if output.json {
            output.data(&to_json(&self.result))?;
        } else {
            show_plain(&self.result, output)?;
        }
        if let Err(error) = &self.recorded {
            warn(&format!("this call is not in the history: {error}"));
        }
        Ok(self.exit())
    }

    fn exit(&self) -> Exit {
        match (&self.result.outcome, self.stopped) {
            (Ok(_), _) => Exit::Success,
            (Err(error), Some(exit)) if error.kind() == ErrorKind::Cancelled => exit,
            (Err(_), _) => Exit::Failed,
        }
    }
}

fn show_plain(result: &ToolResult, output: &Output) -> Result<(), Failure> {
    let warnings = result.details().and_then(|details| details.get("warnings")).and_then(Value::as_array);
    for warning in warnings.into_iter().flatten().filter_map(Value::as_str) {
        warn(warning);
    }
    match &result.outcome {
        Ok(content) => show_content(content, output)?,
        Err(error) => note(&error_text(error.message(), help(error, &result.tool).as_deref())),
    }
    if output.verbose {
        note(&format!("{} took {}", result.tool, super::history::duration(result.elapsed)));
    }
    Ok(())
}

/// What the person can do about it.
fn help(error: &ToolError, tool: &str) -> Option<String> {
    match error.kind() {
        ErrorKind::ValidationError => Some(format!("`haft call {tool} --help` lists the parameters")),
        ErrorKind::ToolNotFound => Some("`haft tools` lists the tools".into()),
        _ => to_change(error.details()),
    }
}

fn show_content(content: &ToolOutput, output: &Output) -> Result<(), Failure> {
    for block in &content.content {
        match block {
            Content::Text(text) => output.foreign(text)?,
            Content::Image { mime, data } => output.foreign(&format!("[image: {mime}, {} bytes; --json gives it]", data.len()))?,
            _ => output.foreign("[content of a kind that only --json shows]")?,
        }
    }
    Ok(())
}

fn to_json(result: &ToolResult) -> Value {
    let mut object = json!({ "call_id": result.call_id, "tool": result.tool });
    // The envelope is what the model gets: status, and result or error.
    let envelope = serde_json::to_value(result.envelope()).unwrap_or_default();
    let rest = json!({
        "content": result.outcome.as_ref().map_or_else(|_| Vec::new(), |output| output.content.iter().map(block).collect()),
        "details": result.details(),
        "duration_ms": super::history::milliseconds(result.elapsed),
    });
    for part in [envelope, rest] {
        if let (Value::Object(object), Value::Object(part)) = (&mut object, part) {
            object.extend(part);
        }
    }
    object
}

fn block(content: &Content) -> Value {
    match content {
        Content::Text(text) => json!({ "type": "text", "text": text }),
        Content::Image { mime, data } => json!({ "type": "image", "mime": mime, "data": base64::encode(data) }),
        _ => json!({ "type": "unknown" }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn result(outcome: Result<ToolOutput, ToolError>) -> ToolResult {
        ToolResult { call_id: "c".into(), tool: "t".into(), outcome, elapsed: Duration::from_micros(1234) }
    }

    #[test]
    fn json_has_every_field_in_its_order() {
        let output = ToolOutput::text("hi").with_image("image/png", vec![1, 2]).with_details(json!({"n": 1}));
        let expected = r#"{"call_id":"c","tool":"t","status":"success","result":"hi","content":[{"type":"text","text":"hi"},{"type":"image","mime":"image/png","data":"AQI="}],"details":{"n":1},"duration_ms":1.234}"#;
        assert_eq!(to_json(&result(Ok(output))).to_string(), expected);
        let expected = r#"{"call_id":"c","tool":"t","status":"error","error_type":"timeout","message":"late","content":[],"details":null,"duration_ms":1.234}"#;
        assert_eq!(to_json(&result(Err(ToolError::new(ErrorKind::Timeout, "late")))).to_string(), expected);
    }

    #[test]
    fn the_exit_code_follows_the_outcome() {
        for (kind, stopped, exit) in [
            (None, Some(Exit::Interrupted), Exit::Success),
            (Some(ErrorKind::Cancelled), Some(Exit::Interrupted), Exit::Interrupted),
            (Some(ErrorKind::Cancelled), Some(Exit::HungUp), Exit::HungUp),
            (Some(ErrorKind::Cancelled), None, Exit::Failed),
            (Some(ErrorKind::Timeout), Some(Exit::Terminated), Exit::Failed),
        ] {
            let outcome = kind.map_or_else(|| Ok(ToolOutput::text("")), |kind| Err(ToolError::new(kind, "")));
            assert_eq!(Answered { result: result(outcome), recorded: Ok(()), stopped }.exit(), exit);
        }
    }
}
