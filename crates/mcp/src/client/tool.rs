//! One tool of a server as a tool of ours.

use std::sync::Arc;

use haft_contract::{DynTool, PlanContext, Prepared, Section, ToolDefinition, ToolError};
use haft_text::display;
use haft_text::truncate::first_bytes;
use rmcp::model::Tool;
use serde_json::Value;

use super::effects::ToolEffects;
use super::parameters::{self, ForeignParameters};
use super::server::McpServer;

/// A longer description is cut: every request to a model would carry it.
const MAX_DESCRIPTION: usize = 4 * 1024;
/// Characters of a title.
const MAX_LABEL: usize = 80;
/// Time for the end of a call after the server's own time is up.
const MARGIN: std::time::Duration = std::time::Duration::from_secs(5);

/// A tool that a server runs.
pub(crate) struct McpTool {
    definition: ToolDefinition,
    /// The server's name of it.
    remote_name: String,
    effects: ToolEffects,
    parameters: ForeignParameters,
    server: Arc<McpServer>,
}

impl McpTool {
    /// Under this name; `None` if its parameters cannot be shown to a model.
    pub(crate) fn new(server: &Arc<McpServer>, name: String, tool: &Tool) -> Option<Self> {
        let settings = server.settings();
        let effects = ToolEffects::new(settings, tool.annotations.as_ref());
        // A user may have approved hidden characters; nobody reads them unseen.
        let description = display::escape_lines(tool.description.as_deref().unwrap_or_default().trim());
        let description = match first_bytes(&description, MAX_DESCRIPTION) {
            "" => format!("The tool {} of the MCP server {}.", tool.name, settings.name),
            cut if cut.len() < description.len() => format!("{cut}…"),
            whole => whole.to_owned(),
        };
        let mut parameters = parameters::loosened(&tool.input_schema)?;
        let mut definition = ToolDefinition::new(name, description, parameters.schema.take());
        definition.keep_texts();
        let own_names = parameters.renamed.iter().map(|renamed| (renamed.own.clone(), renamed.shown.clone()));
        definition.parameters.hints_mut().aliases.extend(own_names);
        if let Some(title) = tool.title.clone().or_else(|| tool.annotations.as_ref()?.title.clone()) {
            definition.label = display::shorten(&title, MAX_LABEL).into_owned().into();
        }
        definition.output = tool.output_schema.as_ref().map(|schema| Value::Object(schema.as_ref().clone()).into());
        (definition.access, definition.hints) = (effects.access, effects.hints);
        definition.section = Section::System;
        definition.category = haft_contract::Category::Network;
        definition.timeout = settings.timeouts.start + settings.timeouts.total + MARGIN;
        Some(Self { definition, remote_name: tool.name.to_string(), effects, parameters, server: Arc::clone(server) })
    }
}

impl DynTool for McpTool {
    fn definition(&self) -> &ToolDefinition {
        &self.definition
    }

    fn prepare(&self, arguments: Value, _: &PlanContext<'_>) -> Result<Prepared, ToolError> {
        let Value::Object(mut arguments) = arguments else {
            return Err(ToolError::validation("The arguments must be an object."));
        };
        self.parameters.restore(&mut arguments);
        let (server, name) = (Arc::clone(&self.server), self.remote_name.clone());
        Ok(Prepared::new(self.effects.plan(), move |cx| Box::pin(async move { server.call(&name, arguments, &cx).await })))
    }
}
