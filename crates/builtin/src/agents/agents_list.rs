use haft_contract::{AgentType, Dialect, Form, KnownAgent, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

/// List the agents and the types that a sub-agent can be started with. They are the values of 'agent_id' of sessions_spawn, and of
/// 'subagent_type' of agent.
#[derive(Debug, ToolMeta)]
#[tool(
    label = "List agents",
    section = Agents,
    category = System,
    access = ReadOnly,
    timeout_secs = 10,
    forms = FORMS,
    read_only,
    idempotent
)]
pub(crate) struct AgentsList;

pub(crate) const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "agents_list")];

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {}

impl Tool for AgentsList {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, _: &Params, _: &PlanContext<'_>) -> Result<Plan, ToolError> {
        Ok(Plan::nothing().read_sessions())
    }

    async fn execute(&self, _: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let (agents, types) = (cx.sub_agents().agents()?, cx.sub_agents().types()?);
        let mut lines = vec!["Agents:".to_owned()];
        lines.extend(agents.iter().enumerate().map(|(index, agent)| format!("- {}{}", agent.id, if index == 0 { " (you)" } else { "" })));
        lines.push("Types:".to_owned());
        lines.extend(types.iter().map(|known| format!("- {}: {}", known.name, known.description)));
        let agent_rows: Vec<Value> =
            agents.iter().map(|KnownAgent { id, configured }| json!({"id": id, "configured": configured})).collect();
        let type_rows: Vec<Value> = types.iter().map(type_row).collect();
        let details = json!({
            "requester": agents.first().map(|agent| &agent.id),
            "allow_any": true,
            "agents": agent_rows,
            "types": type_rows,
        });
        Ok(ToolOutput::text(lines.join("\n")).with_details(details))
    }
}

fn type_row(known: &AgentType) -> Value {
    json!({
        "name": known.name,
        "description": known.description,
        "tools": known.tools,
        "access": known.access,
        "model": known.model,
        "file": known.file.as_ref().map(|file| file.to_string_lossy()),
    })
}
