mod params;

use haft_contract::ports::{NodeSummary, PendingNode};
use haft_contract::{
    Content, Dialect, DocumentBody, EmbeddedDocument, Form, FormParameter, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput,
    WriteMode,
};
use haft_macros::ToolMeta;
use haft_text::numbers;
use serde_json::json;

use self::params::{NodeAction, Params};

/// Use machines that the user has paired with this one (nodes): run a command there, read, write and list files beneath their folder, show
/// a notification, take a picture, record the screen, get the location or the state. Each node has its own policy, and may refuse what is
/// allowed here. 'status' lists the nodes. Not for this machine: use exec and the file tools for that.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "nodes",
    label = "Use nodes",
    section = Nodes,
    category = System,
    access = FullAccess,
    timeout_secs = 1800,
    rules = Node,
    forms = FORMS,
    open_world
)]
pub(crate) struct Nodes;

const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "nodes").parameters(&[
    FormParameter::new("requestId", "request_id"),
    FormParameter::new("deviceId", "device_id"),
    FormParameter::new("maxWidth", "max_width"),
    FormParameter::new("delayMs", "delay_ms"),
    FormParameter::new("durationMs", "duration_ms"),
    FormParameter::new("screenIndex", "screen_index"),
    FormParameter::new("outPath", "out_path"),
    FormParameter::new("invokeCommand", "invoke_command"),
    FormParameter::new("invokeParamsJson", "invoke_params_json"),
])];

impl Tool for Nodes {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        match params.action {
            NodeAction::Status | NodeAction::Pending => return Ok(Plan::nothing()),
            NodeAction::Describe => return cx.node(params.node()).map(|_| Plan::nothing()),
            NodeAction::Reject => {
                params.request_id()?;
                return Ok(cx.node_refusal());
            }
            NodeAction::Approve => {
                return Err(ToolError::denied(
                    "Only the user pairs machines, with `haft node approve CODE`: the code is on the screen of the machine that asks.",
                ));
            }
            _ => {}
        }
        params.check()?;
        let node = cx.node(params.node())?;
        if params.action == NodeAction::Run {
            return cx.node_command(&node, &params.command_request()?);
        }
        let plan = Plan::nothing().on_node(&node, params.action.as_str(), params.target(&node));
        match params.out_path() {
            Some(path) => Ok(plan.write(cx.locate(path)?)),
            None => Ok(plan),
        }
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        match params.action {
            NodeAction::Status => return Ok(status(&cx.nodes().list().await?, &cx.nodes().pending().await?)),
            NodeAction::Pending => return Ok(pending(&cx.nodes().pending().await?)),
            NodeAction::Describe => return describe(params.node(), &cx.nodes().list().await?),
            NodeAction::Reject => {
                cx.nodes().reject(params.request_id()?).await?;
                return Ok(ToolOutput::text("The machine was rejected."));
            }
            _ => {}
        }
        let (tool, arguments) = params.remote_call()?;
        let output = cx.nodes().call(params.node(), tool, arguments, params.timeout()?).await?;
        match params.out_path() {
            Some(path) => save(output, path, cx).await,
            None => Ok(output),
        }
    }
}

/// Writes the file of a result to the workspace.
async fn save(output: ToolOutput, path: &str, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
    let (mut kept, mut file) = (ToolOutput::default(), None);
    for content in output.content {
        match content {
            Content::Document(EmbeddedDocument { body: DocumentBody::Bytes(bytes), .. }) => file = Some(bytes),
            other => kept.content.push(other),
        }
    }
    let bytes = file.ok_or_else(|| ToolError::execution("The node sent no file, and nothing was written."))?;
    let size = numbers::size(bytes.len() as u64);
    cx.fs().write(path, bytes, WriteMode::Overwrite).await?;
    kept.content.push(Content::Text(format!("Saved {size} to {path}.")));
    kept.details = Some(json!({"path": path}));
    Ok(kept)
}

fn status(nodes: &[NodeSummary], asking: &[PendingNode]) -> ToolOutput {
    let mut lines: Vec<String> = nodes.iter().map(line).collect();
    if nodes.is_empty() {
        lines.push("No machine is paired. The user pairs one with `haft node pair` here and `haft node run` there.".into());
    }
    if !asking.is_empty() {
        lines.push(format!(
            "{} to be paired: the user decides with `haft node approve CODE`.",
            numbers::count(asking.len(), "machine asks")
        ));
    }
    ToolOutput::text(lines.join("\n")).with_details(json!({"nodes": nodes, "pending": asking}))
}

fn line(node: &NodeSummary) -> String {
    let state = match node.connected {
        Some(true) => "connected",
        Some(false) => "not connected",
        None => "not known whether it is connected",
    };
    let platform = node.platform.as_deref().map(|platform| format!(", {platform}")).unwrap_or_default();
    format!("{} ({}): {state}{platform}", node.name, node.id)
}

fn describe(wanted: &str, nodes: &[NodeSummary]) -> Result<ToolOutput, ToolError> {
    let folded = wanted.trim().to_lowercase();
    let found = |node: &&NodeSummary| folded.is_empty() || node.name.starts_with(&folded) || node.id.starts_with(&folded);
    let exact = nodes.iter().find(|node| node.name == folded || node.id == folded);
    let gone = || ToolError::execution("The node was removed in this moment. 'status' lists those that are paired.");
    let node = exact.or_else(|| nodes.iter().find(found)).ok_or_else(gone)?;
    let mut lines = vec![line(node)];
    lines.extend(node.workspace.as_ref().map(|workspace| format!("Relative paths start from {workspace}.")));
    if !node.actions.is_empty() {
        lines.push(format!("It offers: {}. Its own policy decides on each call.", node.actions.join(", ")));
    }
    Ok(ToolOutput::text(lines.join("\n")).with_details(json!(node)))
}

fn pending(asking: &[PendingNode]) -> ToolOutput {
    let line = |node: &PendingNode| format!("{} ({}): for {} s more", node.name, node.id, node.expires_in_seconds);
    let text = if asking.is_empty() {
        "No machine asks to be paired.".to_owned()
    } else {
        let lines: Vec<String> = asking.iter().map(line).collect();
        format!("{}\nThe user approves one with `haft node approve CODE`; the code is on its screen.", lines.join("\n"))
    };
    ToolOutput::text(text).with_details(json!({"pending": asking}))
}

#[cfg(test)]
mod tests;
