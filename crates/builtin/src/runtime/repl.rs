mod delimiters;
mod interpreter;
mod interpreters;
mod language;
mod output_buffer;
mod params;
mod report;
mod stream;

use std::sync::Arc;

use haft_contract::{Dialect, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use serde_json::json;

use self::interpreter::Interpreter;
use self::interpreters::{InterpreterKey, InterpreterPool};
use self::params::Params;

/// Run code in an interpreter that keeps its state: Python, JavaScript (Node.js) or Bash. Returns what the code printed and, after '=>',
/// the value of its last expression. It runs in the sandbox of exec, without network, and its input is empty.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Interpreter",
    section = Runtime,
    category = System,
    access = FullAccess,
    timeout_secs = 120,
    rules = Exec,
    aliases = ["REPL"],
    forms = FORMS,
    profiles = ["coding"],
    destructive,
    open_world
)]
pub(crate) struct Repl {
    interpreters: InterpreterPool,
}

/// Why a limit is not enforced that came too late.
const RUNS_ALREADY: &str = "the interpreter runs already; reset=true starts one with the limit";

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "REPL").show_only(&["code", "language", "timeout_ms"])];

impl Repl {
    pub(crate) fn new() -> Self {
        Self { interpreters: InterpreterPool::default() }
    }
}

impl Tool for Repl {
    type Params = Params;
    type Output = ToolOutput;

    /// Every call plans the interpreter and the code, also if one runs already: an interpreter that may not be started may not
    /// be used.
    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.check()?;
        Ok(Plan::nothing().command(cx.command(&params.request())?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let key = InterpreterKey { session: Arc::clone(&cx.call().session), language: params.language(), name: params.name().to_owned() };
        if params.resets() {
            let ended = self.reset(&key).await;
            if params.code.trim().is_empty() {
                return Ok(report_reset(&params, ended));
            }
        }
        let (interpreter, remarks) = self.ready(&key, cx).await?;
        let _turn = interpreter.turn.lock().await;
        let pending = ReplCall { interpreters: &self.interpreters, key: &key, is_over: false };
        let answer = interpreter.run(&params.code, params.timeout(), cx).await?;
        pending.finish(interpreter.serves(cx));
        let planned = params.limits().warnings(cx);
        let warnings = if planned.is_empty() { params.limits().unenforced(interpreter.limits, RUNS_ALREADY) } else { planned };
        report::report(&params, &answer, report::ReportNotes { remarks, warnings }, cx)
    }
}

impl Repl {
    async fn reset(&self, key: &InterpreterKey) -> bool {
        match self.interpreters.forget(key) {
            Some(interpreter) => {
                interpreter.end().await;
                true
            }
            None => false,
        }
    }

    /// The interpreter for this call, and notes on it.
    async fn ready(&self, key: &InterpreterKey, cx: &ToolContext) -> Result<(Arc<Interpreter>, Vec<String>), ToolError> {
        if let Some(interpreter) = self.interpreters.find(key, cx) {
            return Ok((interpreter, Vec::new()));
        }
        let interpreter = Arc::new(Interpreter::start(key.language, cx).await?);
        let anew = self.interpreters.keep(key, Arc::clone(&interpreter));
        let remark = "The interpreter of earlier calls has ended: this is a new one without their state.";
        Ok((interpreter, anew.then(|| remark.to_owned()).into_iter().collect()))
    }
}

fn report_reset(params: &Params, ended: bool) -> ToolOutput {
    let language = params.language().as_str();
    let text = if ended { "is forgotten; the next call starts afresh" } else { "had not been started; there is nothing to forget" };
    ToolOutput::text(format!("The {language} interpreter {text}.")).with_details(json!({"status": "reset", "language": language}))
}

/// A call that runs. If it is dropped, its interpreter is ended.
struct ReplCall<'a> {
    interpreters: &'a InterpreterPool,
    key: &'a InterpreterKey,
    is_over: bool,
}

impl ReplCall<'_> {
    /// The call is done; keeps the interpreter if it can be used again.
    fn finish(mut self, keep: bool) {
        self.is_over = keep;
    }
}

impl Drop for ReplCall<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.interpreters.forget(self.key);
        }
    }
}

#[cfg(test)]
mod tests;
