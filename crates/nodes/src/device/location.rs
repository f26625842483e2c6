use std::sync::Arc;
use std::time::Duration;

use haft_contract::{Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;

use super::{DeviceSettings, capture, plan};

const LIMIT: Duration = Duration::from_secs(45);
/// Where distributions install the client of GeoClue.
const CLIENTS: &[&str] = &["/usr/libexec/geoclue-2.0/demos/where-am-i", "/usr/lib/geoclue-2.0/demos/where-am-i"];

/// Say where this machine is.
#[derive(Debug, ToolMeta)]
#[tool(name = "location_get", label = "Get location", section = Nodes, category = Io, access = ReadOnly, timeout_secs = 60, rules = Node, read_only)]
pub(super) struct LocationGet(pub(super) Arc<DeviceSettings>);

#[derive(Debug, Deserialize, JsonSchema)]
pub(super) struct LocationParams {}

impl Tool for LocationGet {
    type Params = LocationParams;
    type Output = ToolOutput;

    fn plan(&self, _: &LocationParams, _cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        plan(self.0.location, "node.location", "location_get", "")
    }

    async fn execute(&self, _: LocationParams, _cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let client = CLIENTS.iter().map(std::path::PathBuf::from).find(|client| client.is_file());
        let absent = || ToolError::execution("This machine does not know where it is: it has no GeoClue.");
        let output = capture::run(&client.ok_or_else(absent)?, &["-t".to_owned(), "30".to_owned()], &[], LIMIT).await?;
        Ok(ToolOutput::text(String::from_utf8_lossy(&output).trim()))
    }
}
