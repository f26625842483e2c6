//! `haft call`: one call, from the command line to its result.

mod conversing;

use std::path::Path;
use std::sync::Arc;

use haft_agent::NullMeter;
use haft_contract::{Arguments, Content, ErrorKind, ToolCall, ToolError, ToolOutput, ToolResult, ports::JobScope};
use haft_engine::Session;
use haft_store::{CallLog, StoreError};
use haft_text::advice::for_user;
use haft_text::base64;
use serde_json::{Value, json};

use crate::arguments::{CallArgs, CallerArgs, Common};
use crate::commands::background;
use crate::commands::block_on;
use crate::commands::interrupt::interruptible;
use crate::failure::{Exit, Failure, to_change};
use crate::invocation::{Invocation, is_of_servers};
use crate::output::{Output, error_text, note, warn};
use crate::terminal::{show_waiting, stop_waiting};
use crate::wire::{self, CallSetup, JobSettings, UserPrompts, Wire};

pub(crate) fn run(common: Common, request: CallArgs) -> Result<Exit, Failure> {
    let CallArgs { acting, words } = request;
    let registry = wire::registry_in(words.workspace().as_deref().or(common.workspace.as_deref()))?;
    let first = Invocation::parse_early("call", words.clone(), common.clone(), &registry)?;
    let output = first.common.output();
    let wire = Arc::new(Wire::with_registry(registry, &first.common, &output)?);
    // The parameters of a server's tool are known only now.
    let is_parsed_again = wire::learn_server(&wire, &first.tool)? || is_of_servers(&first.tool);
    let invocation = if is_parsed_again { Invocation::parse("call", words, common, &wire.registry)? } else { first };
    let reads_input = invocation.reads_standard_input();
    let who = acting.with(invocation.who.clone());
    // Another caller gets no approval of yours.
    let is_asked = !reads_input && who == CallerArgs::default();
    let prompts = if is_asked { UserPrompts::Allowed } else { UserPrompts::Never };
    let (tool, runs_commands, needs_conversation) = (invocation.tool.clone(), invocation.runs_commands, invocation.needs_conversation);
    let arguments = invocation.arguments(wire.settings.config.limits.argument_bytes)?.unwrap_or(Arguments::Text(String::new()));
    let runner_socket = background::runner_socket();
    if runs_commands && runner_socket.is_none() && background::is_requested(&arguments) {
        // Creates the data folder with private permissions.
        drop(wire::store(&wire.settings.data_folder)?);
        let input = reads_input.then(|| text_of(&arguments));
        return background::spawn_runner(&wire.run_folder(), input.as_deref());
    }
    let call = ToolCall::new(call_id(), tool, arguments);
    if needs_conversation && who == CallerArgs::default() {
        return conversing::run(&wire, call, prompts, &output);
    }
    block_on(async {
        let store = wire::store(&wire.settings.data_folder)?;
        wire.repair_interrupted(&(Arc::clone(&store) as Arc<dyn CallLog>)).await;
        wire.clean_in_background();
        let jobs = wire.recorded_jobs(&store);
        let jobs = move || JobSettings { wait_for_exit: true, ..jobs() };
        let mut services = wire.call_services(store.sessions(), &output);
        // A plain call belongs to no session whose budget could pay.
        services.small_model = wire::small_model(&wire, Arc::new(NullMeter));
        services.questions = wire::terminal_questions(prompts);
        let setup = wire.calling(&wire.settings.workspace, store, jobs, prompts, &who, services)?;
        if runs_commands {
            adopt(&setup.session, &wire.settings.workspace).await;
        }
        let exit = answer(&setup, call).await?.show(&output)?;
        if let Some(socket) = &runner_socket {
            background::wait(socket, exit, &setup.session).await?;
        }
        // A command in the background may still be ending.
        if runs_commands && runner_socket.is_none() {
            setup.session.host().processes().end_session(setup.session.id());
        }
        Ok(exit)
    })
}

/// The arguments as text.
fn text_of(arguments: &Arguments) -> String {
    match arguments {
        Arguments::Text(text) => text.clone(),
        Arguments::Json(value) => value.to_string(),
    }
}

/// Lists the background jobs of every session of this workspace.
async fn adopt(session: &Session, workspace: &Path) {
    let adopted = session.host().processes().adopt(session.id(), JobScope::Workspace(workspace.to_owned())).await;
    adopted.unwrap_or_else(|error| warn(error.message()));
}

/// A unique id.
fn call_id() -> String {
    let id = haft_store::new_uuid().simple().to_string();
    format!("call_{}", &id[16..])
}

/// The result of a call, and the signal that interrupted it.
struct CallOutcome {
    result: ToolResult,
    recorded: Result<(), StoreError>,
    stopped: Option<Exit>,
}

/// Runs the call, with a wait line on a terminal.
async fn answer(setup: &CallSetup, call: ToolCall) -> Result<CallOutcome, Failure> {
    let tool = call.name.clone();
    let outcome = tokio::select! {
        answered = run_interruptible(setup, call) => answered,
        never = show_waiting(&tool) => match never {},
    };
    stop_waiting();
    outcome
}

/// Runs the call. The first signal cancels it, the second ends the process.
async fn run_interruptible(setup: &CallSetup, call: ToolCall) -> Result<CallOutcome, Failure> {
    let running = Box::pin(async {
        let result = setup.engine.run(call, &setup.session).await;
        (result, setup.log.flush().await)
    });
    let ((result, recorded), stopped) = interruptible(running, setup.session.cancellation()).await?;
    Ok(CallOutcome { result, recorded, stopped })
}

impl CallOutcome {
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
        Err(error) => note(&error_text(&for_user(error.message()), help(error, &result.tool).as_deref())),
    }
    if output.verbose {
        note(&format!("{} took {}", result.tool, haft_tui::time::duration(result.elapsed)));
    }
    Ok(())
}

/// What the user can do about an error.
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
            Content::Text(text) => output.tool_text(text)?,
            Content::Image { mime, data } => output.tool_text(&format!("[image: {mime}, {} bytes; --json gives it]", data.len()))?,
            _ => output.tool_text("[content that only --json shows]")?,
        }
    }
    Ok(())
}

fn to_json(result: &ToolResult) -> Value {
    let mut object = json!({ "call_id": result.call_id, "tool": result.tool });
    // The envelope, as the model gets it: status, and result or error.
    let envelope = serde_json::to_value(result.envelope()).unwrap_or_default();
    let rest = json!({
        "content": result.outcome.as_ref().map_or_else(|_| Vec::new(), |output| output.content.iter().map(block).collect()),
        "details": result.details(),
        "duration_ms": haft_tui::time::milliseconds(result.elapsed),
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
        ToolResult { call_id: "c".into(), tool: "t".into(), outcome, elapsed: Duration::from_micros(1234), stored: None }
    }

    #[test]
    fn call_json_has_all_fields_in_order() {
        let output = ToolOutput::text("hi").with_image("image/png", vec![1, 2]).with_details(json!({"n": 1}));
        let expected = r#"{"call_id":"c","tool":"t","status":"success","result":"hi","content":[{"type":"text","text":"hi"},{"type":"image","mime":"image/png","data":"AQI="}],"details":{"n":1},"duration_ms":1.234}"#;
        assert_eq!(to_json(&result(Ok(output))).to_string(), expected);
        let expected = r#"{"call_id":"c","tool":"t","status":"error","error_type":"timeout","message":"late","content":[],"details":null,"duration_ms":1.234}"#;
        assert_eq!(to_json(&result(Err(ToolError::new(ErrorKind::Timeout, "late")))).to_string(), expected);
    }

    #[test]
    fn exit_code_follows_the_outcome() {
        for (kind, stopped, exit) in [
            (None, Some(Exit::Interrupted), Exit::Success),
            (Some(ErrorKind::Cancelled), Some(Exit::Interrupted), Exit::Interrupted),
            (Some(ErrorKind::Cancelled), Some(Exit::HungUp), Exit::HungUp),
            (Some(ErrorKind::Cancelled), None, Exit::Failed),
            (Some(ErrorKind::Timeout), Some(Exit::Terminated), Exit::Failed),
        ] {
            let outcome = kind.map_or_else(|| Ok(ToolOutput::text("")), |kind| Err(ToolError::new(kind, "")));
            assert_eq!(CallOutcome { result: result(outcome), recorded: Ok(()), stopped }.exit(), exit);
        }
    }
}
