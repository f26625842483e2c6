//! WASM components: code of a plugin that runs in this process and reaches what the plan of its call permits, through the capabilities of
//! the call. It has nothing else: a component that imports more than `haft:plugin/host`, such as WASI, is refused.
//!
//! Three limits hold for each call: fuel (the work), memory, and time. Each call has an instance of its own.

mod host;
mod runtime;
#[cfg(all(test, feature = "wasm-fixtures"))]
mod tests;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use haft_contract::{
    Access, BoxFuture, DynTool, ErrorKind, Hints, Plan, PlanContext, Prepared, ToolContext, ToolDefinition, ToolError, ToolOutput,
};
use serde_json::{Value, json};
use tokio::sync::watch;

pub(crate) use self::runtime::ComponentCode;
use self::runtime::{ComponentCall, ComponentFault};
use crate::PluginToolSpec;
use crate::tool::PluginProgram;

/// How much longer than its component a call may take: the first one compiles it.
const GRACE: Duration = Duration::from_mins(2);
/// Work for each second that a call may take: about as many instructions, more than a core does.
const FUEL_PER_SECOND: u64 = 10_000_000_000;

/// A tool of a component.
pub(crate) struct ComponentTool {
    definition: ToolDefinition,
    program: Arc<PluginProgram>,
    code: Arc<ComponentCode>,
    spec: Arc<PluginToolSpec>,
}

haft_contract::opaque_debug!(ComponentTool: spec = spec);

impl ComponentTool {
    pub(crate) fn new(program: Arc<PluginProgram>, code: Arc<ComponentCode>, spec: PluginToolSpec) -> Self {
        let mut definition = ToolDefinition::new(spec.name.clone(), spec.description.clone(), spec.parameters.clone());
        definition.keep_texts();
        let (changes, connects) = (!spec.writes.is_empty(), !spec.hosts.is_empty() || !spec.urls.is_empty());
        definition.access = if changes { Access::WorkspaceWrite } else { Access::ReadOnly };
        definition.timeout = spec.timeout + GRACE;
        definition.optional = spec.optional;
        definition.hints = Hints { read_only: !changes && !connects, destructive: changes, idempotent: false, open_world: connects };
        Self { definition, program, code, spec: Arc::new(spec) }
    }

    /// The effects of a call: the files and addresses in the parameters that the manifest names.
    fn plan(&self, arguments: &Value, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let mut plan = Plan::nothing();
        for path in values(&self.spec.reads, arguments) {
            plan = plan.read(cx.locate(path)?);
        }
        for path in values(&self.spec.writes, arguments) {
            plan = plan.write(cx.locate(path)?);
        }
        let hosts: BTreeSet<String> = self.spec.hosts.iter().map(|host| format!("https://{host}/")).collect();
        for url in hosts.iter().map(String::as_str).chain(values(&self.spec.urls, arguments)) {
            plan = plan.connect(cx.connect("GET", url)?);
        }
        Ok(plan)
    }
}

/// The texts of these parameters: one, or a list of them.
fn values<'a>(parameters: &'a [String], arguments: &'a Value) -> impl Iterator<Item = &'a str> {
    parameters.iter().filter_map(|name| arguments.get(name)).flat_map(|value| match value {
        Value::Array(entries) => entries.iter().filter_map(Value::as_str).collect::<Vec<_>>(),
        value => value.as_str().into_iter().collect(),
    })
}

impl DynTool for ComponentTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare(&self, arguments: Value, cx: &PlanContext<'_>) -> Result<Prepared, ToolError> {
        self.program.check()?;
        let plan = self.plan(&arguments, cx)?;
        let (program, code, spec, access) = (Arc::clone(&self.program), Arc::clone(&self.code), Arc::clone(&self.spec), cx.access());
        let run = move |cx: ToolContext| -> BoxFuture<'static, _> {
            Box::pin(async move { answer(&program, code, &spec, arguments, access, cx).await })
        };
        Ok(Prepared::new(plan, run))
    }
}

/// One call, on a thread of its own, which ends with it.
async fn answer(
    program: &Arc<PluginProgram>,
    code: Arc<ComponentCode>,
    spec: &PluginToolSpec,
    arguments: Value,
    access: Access,
    cx: ToolContext,
) -> Result<ToolOutput, ToolError> {
    let call = cx.call();
    let context = json!({
        "agent": &*call.agent, "session": &*call.session, "call": call.id, "access": access.as_str(), "plugin_version": program.version(),
    });
    let (stop, stopped) = watch::channel(false);
    let input = ComponentCall {
        tool: spec.name.clone(),
        arguments: arguments.to_string(),
        context: context.to_string(),
        fuel: FUEL_PER_SECOND.saturating_mul(spec.timeout.as_secs()),
    };
    let (compiling, own, inner) = (Arc::clone(&code), Arc::clone(program), cx.clone());
    let ready = tokio::task::spawn_blocking(move || compiling.compile(&own)).await;
    ready.map_err(|error| broken(program, &error.to_string()))??;
    let running = Arc::clone(&code);
    let runtime = tokio::runtime::Handle::current();
    let mut task = tokio::task::spawn_blocking(move || running.run(&input, inner, stopped, runtime));
    let ended = tokio::select! {
        biased;
        ended = &mut task => ended,
        () = cx.cancelled() => {
            code.stop(&stop);
            task.await.ok();
            let message = format!("The call was cancelled, and the plugin '{}' ended.", program.name());
            return Err(ToolError::new(ErrorKind::Cancelled, message));
        }
        () = tokio::time::sleep(spec.timeout) => {
            code.stop(&stop);
            task.await.ok();
            let message = format!("The plugin '{}' did not answer within {} s, and was ended.", program.name(), spec.timeout.as_secs());
            return Err(ToolError::new(ErrorKind::Timeout, message));
        }
    };
    let details = |fuel: u64| json!({ "plugin": program.name(), "version": program.version(), "fuel": fuel });
    match ended.map_err(|error| broken(program, &error.to_string()))? {
        Ok((text, fuel)) => Ok(ToolOutput::text(text).with_details(details(fuel))),
        Err(ComponentFault::Said(message)) => Err(ToolError::execution(message)),
        Err(ComponentFault::Broke(why)) => Err(broken(program, &why)),
    }
}

fn broken(program: &PluginProgram, why: &str) -> ToolError {
    ToolError::execution(format!("The plugin '{}' was ended: {why}.", program.name()))
}
