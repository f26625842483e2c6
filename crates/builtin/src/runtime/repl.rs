mod interpreter;
mod kept;
mod language;
mod marks;
mod params;
mod report;
mod running;
mod stream;

use std::sync::Arc;

use haft_contract::{Dialect, Form, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use serde_json::json;

use self::interpreter::Interpreter;
use self::params::Params;
use self::running::{Interpreters, Key};

/// Run code in an interpreter that remembers: Python, JavaScript (Node.js) or Bash. Variables, functions and imports stay for
/// the next calls of this session, until 'reset'. Returns what the code printed and, behind '=>', the value of its last
/// expression. Runs behind the same walls as exec: it can change files of the workspace, and has no network. Input is empty.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "Interpreter",
    section = Runtime,
    category = System,
    access = FullAccess,
    timeout_secs = 120,
    aliases = ["REPL"],
    forms = FORMS,
    profiles = ["coding"],
    destructive,
    open_world
)]
pub(crate) struct Repl {
    interpreters: Interpreters,
}

/// Why a limit is not held that came too late.
const RUNS_ALREADY: &str = "the interpreter runs already; reset=true starts one that keeps to it";

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "REPL")];

impl Repl {
    pub(crate) fn new() -> Self {
        Self { interpreters: Interpreters::default() }
    }
}

impl Tool for Repl {
    type Params = Params;
    type Output = ToolOutput;

    /// Every call plans the interpreter and the code, also where one runs already: what may not be started may not be used.
    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        params.check()?;
        Ok(Plan::nothing().line(cx.line(&params.request())?))
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let key = Key { session: Arc::clone(&cx.call().session), language: params.language(), name: params.name().to_owned() };
        if params.resets() {
            let ended = self.reset(&key).await;
            if params.code.trim().is_empty() {
                return Ok(forgotten(&params, ended));
            }
        }
        let (interpreter, remarks) = self.ready(&key, cx).await?;
        let _turn = interpreter.turn.lock().await;
        let unfinished = Unfinished { interpreters: &self.interpreters, key: &key, is_over: false };
        let answer = interpreter.run(&params.code, params.timeout(), cx).await;
        unfinished.over(interpreter.status().end.is_none());
        let planned = params.limits().warnings(cx);
        let warnings = if planned.is_empty() { params.limits().unheld(interpreter.limits, RUNS_ALREADY) } else { planned };
        report::report(&params, &answer, report::Besides { remarks, warnings }, cx)
    }
}

impl Repl {
    async fn reset(&self, key: &Key) -> bool {
        match self.interpreters.forget(key) {
            Some(interpreter) => {
                interpreter.end().await;
                true
            }
            None => false,
        }
    }

    /// The interpreter for this call, and what is to be said of it.
    async fn ready(&self, key: &Key, cx: &ToolContext) -> Result<(Arc<Interpreter>, Vec<String>), ToolError> {
        if let Some(interpreter) = self.interpreters.find(key, cx) {
            return Ok((interpreter, Vec::new()));
        }
        let interpreter = Arc::new(Interpreter::start(key.language, cx).await?);
        let anew = self.interpreters.keep(key, Arc::clone(&interpreter));
        let remark = "The interpreter of earlier calls is no longer there: this is a new one, which knows nothing of them.";
        Ok((interpreter, anew.then(|| remark.to_owned()).into_iter().collect()))
    }
}

fn forgotten(params: &Params, ended: bool) -> ToolOutput {
    let language = params.language().as_str();
    let text = if ended { "is forgotten; the next call starts afresh" } else { "had not been started; there is nothing to forget" };
    ToolOutput::text(format!("The {language} interpreter {text}.")).with_details(json!({"status": "reset", "language": language}))
}

/// A call that is under way. If it is given up, the interpreter goes with it: what it does now is for nobody.
struct Unfinished<'a> {
    interpreters: &'a Interpreters,
    key: &'a Key,
    is_over: bool,
}

impl Unfinished<'_> {
    /// Over in good time; the interpreter stays if it can be used again.
    fn over(mut self, stays: bool) {
        self.is_over = stays;
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        if !self.is_over {
            self.interpreters.forget(self.key);
        }
    }
}

#[cfg(test)]
mod tests;
