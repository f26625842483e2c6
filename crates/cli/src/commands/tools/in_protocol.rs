//! `haft tools --json --provider PROVIDER/MODEL`: the definitions as a request to that model has them.

use haft_contract::ToolDefinition;
use haft_provider::{Model, tool_definitions};

use super::ListedTool;
use crate::failure::Failure;
use crate::output::{Output, warn};
use crate::wire::{Wire, models};

/// The model that a name stands for; `None` for a provider that is not known, which has no form.
pub(super) fn model(wire: &Wire, name: &str) -> Option<Model> {
    let (provider, model_name) = name.split_once('/').unwrap_or((name, ""));
    let mut model = models::example(&wire.settings, provider).ok()?;
    if !model_name.is_empty() {
        model_name.clone_into(&mut model.name);
    }
    Some(model)
}

/// Prints the tools that the agent is offered, in the form of the model's protocol.
pub(super) fn show(tools: &[ListedTool], model: &Model, output: &Output) -> Result<(), Failure> {
    let definition = |tool: &ListedTool| {
        let shown = tool.definition().offered_in(tool.dialect);
        ToolDefinition::new(shown.name.to_owned(), shown.description.to_owned(), shown.parameters.into_owned())
    };
    let offered: Vec<ToolDefinition> = tools.iter().filter(|tool| tool.is_offered()).map(definition).collect();
    let encoded = tool_definitions(model, &offered);
    encoded.warnings.iter().for_each(|warning| warn(warning));
    output.data(&encoded.tools)
}
