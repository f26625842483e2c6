//! The typed tool that authors write, and the erased one that the engine runs.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Number, Value};

use crate::{IntoToolOutput, Meta, Plan, PlanContext, ToolContext, ToolDefinition, ToolError, ToolOutput};

/// A boxed future.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The fixed facts of a tool; written by `#[derive(ToolMeta)]`.
pub trait ToolMeta {
    /// The facts.
    const META: Meta;
}

/// A tool, as its author writes it.
pub trait Tool: ToolMeta + Send + Sync + 'static {
    /// What it takes. Doc comments of the fields are what the model reads.
    type Params: DeserializeOwned + JsonSchema + Send + 'static;
    /// What it gives back.
    type Output: IntoToolOutput;

    /// What a call with these parameters will do. The default is for tools that touch nothing.
    fn plan(&self, params: &Self::Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let _ = (params, cx);
        Ok(Plan::nothing())
    }

    /// What listings, providers and the engine know of it. The default is what its type says; a tool whose parameters depend on the
    /// configuration says more, or less.
    fn describe(&self) -> ToolDefinition
    where
        Self: Sized,
    {
        ToolDefinition::for_tool::<Self>()
    }

    /// Does it.
    fn execute(&self, params: Self::Params, cx: &ToolContext) -> impl Future<Output = Result<Self::Output, ToolError>> + Send;
}

/// A tool, as the engine, MCP and plugins know it.
pub trait DynTool: Send + Sync + 'static {
    /// What is known of it.
    fn definition(&self) -> &ToolDefinition;
    /// Turns checked arguments into a plan and the way to run exactly that.
    fn prepare(&self, arguments: Value, cx: &PlanContext<'_>) -> Result<Prepared, ToolError>;
}

type RunFn = Box<dyn FnOnce(ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send>;

/// A call that was planned and can be run once.
pub struct Prepared {
    plan: Plan,
    run: RunFn,
}

crate::opaque_debug!(Prepared: plan = plan);

impl Prepared {
    /// A plan and what carries it out.
    pub fn new(plan: Plan, run: impl FnOnce(ToolContext) -> BoxFuture<'static, Result<ToolOutput, ToolError>> + Send + 'static) -> Self {
        Self { plan, run: Box::new(run) }
    }
    /// What it will do.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }
    /// Takes it apart: the plan for the context, and the rest to run with it.
    pub fn into_parts(self) -> (Plan, RunFn) {
        (self.plan, self.run)
    }
}

/// A typed tool behind the erased trait.
#[derive(Debug)]
pub struct Erased<T> {
    tool: Arc<T>,
    definition: ToolDefinition,
}

impl<T: Tool> Erased<T> {
    /// Erases a tool; its schema is made here, once.
    pub fn new(tool: T) -> Self {
        let definition = tool.describe();
        Self { tool: Arc::new(tool), definition }
    }
}

impl<T: Tool> DynTool for Erased<T> {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare(&self, arguments: Value, cx: &PlanContext<'_>) -> Result<Prepared, ToolError> {
        // The schema has accepted these arguments; what is left are rules that a schema cannot say.
        let numbers = numbers(&arguments, &self.definition);
        let params: T::Params = serde_json::from_value(arguments).map_err(|error| misfit(&error.to_string(), &numbers))?;
        let plan = self.tool.plan(&params, cx)?;
        let tool = Arc::clone(&self.tool);
        Ok(Prepared::new(plan, move |cx| Box::pin(async move { tool.execute(params, &cx).await.map(IntoToolOutput::into_output) })))
    }
}

/// Every number among the arguments by its name: what a schema accepts and a type may still refuse. The names are those of the schema,
/// because the arguments are gone when they are needed.
fn numbers<'a>(arguments: &Value, definition: &'a ToolDefinition) -> Vec<(&'a str, Number)> {
    // Comparing the few names is faster than hashing them, and every call comes here.
    let properties = || definition.parameters.as_object()?.iter().find(|(key, _)| *key == "properties")?.1.as_object();
    let named = |(name, value): (&String, &Value)| {
        let number = value.as_number()?;
        properties()?.keys().find(|known| *known == name).map(|known| (known.as_str(), number.clone()))
    };
    arguments.as_object().into_iter().flatten().filter_map(named).collect()
}

/// The message of a value that its type refuses, for those who do not know Rust's types.
fn misfit(message: &str, numbers: &[(&str, Number)]) -> ToolError {
    let (problem, expected) = message.rsplit_once(", expected ").unwrap_or((message, ""));
    let expected = match expected.trim_start_matches("a nonzero ") {
        "u8" | "u16" | "u32" | "u64" | "usize" | "i8" | "i16" | "i32" | "i64" | "isize" => {
            if problem.contains(": integer `") {
                ", which is out of range"
            } else {
                ", expected a whole number"
            }
        }
        "f32" | "f64" => ", expected a number",
        _ => &message[problem.len()..],
    };
    let mut refused = numbers.iter().filter(|(_, number)| problem.contains(&format!("`{number}`")));
    ToolError::validation(match (refused.next(), refused.next()) {
        (Some((name, _)), None) => format!("The argument '{name}' does not fit: {problem}{expected}."),
        _ => format!("The arguments do not fit: {problem}{expected}."),
    })
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, Deserialize)]
    #[expect(dead_code, reason = "only whether it can be read matters")]
    struct Params {
        #[serde(default)]
        offset: usize,
        #[serde(default)]
        limit: Option<std::num::NonZeroU8>,
        #[serde(default)]
        ratio: f32,
        #[serde(default)]
        pair: (i64, i64),
    }

    #[test]
    fn a_refused_value_is_named_without_words_of_rust() {
        let properties = json!({"offset": {}, "limit": {}, "ratio": {}, "pair": {}});
        let definition = ToolDefinition::new("t", "A tool.", json!({"type": "object", "properties": properties}));
        for (arguments, expected) in [
            (
                json!({"offset": 1e18, "limit": 5}),
                "The argument 'offset' does not fit: invalid type: floating point `1e+18`, expected a whole number.",
            ),
            (json!({"limit": 300, "offset": 3}), "The argument 'limit' does not fit: invalid value: integer `300`, which is out of range."),
            (json!({"limit": 0}), "The argument 'limit' does not fit: invalid value: integer `0`, which is out of range."),
            (json!({"offset": -1, "ratio": -1}), "The arguments do not fit: invalid value: integer `-1`, which is out of range."),
            (json!({"ratio": "x"}), "The arguments do not fit: invalid type: string \"x\", expected a number."),
            (json!({"pair": [1]}), "The arguments do not fit: invalid length 1, expected a tuple of size 2."),
        ] {
            let error = serde_json::from_value::<Params>(arguments.clone()).unwrap_err();
            assert_eq!(misfit(&error.to_string(), &numbers(&arguments, &definition)).message(), expected);
        }
    }
}
