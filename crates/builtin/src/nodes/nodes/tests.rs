use std::sync::{Arc, Mutex};

use haft_contract::ports::{NodeCall, NodeDirectory, Services};
use haft_contract::{BoxFuture, CommandRequest, DynTool, Effect, Erased, ErrorKind, Exec, ExecHost};
use haft_testkit::{FakeHost, expect_error, run_tool};
use serde_json::Value;

use super::*;

/// One node, `laptop`, that answers with what it was asked.
#[derive(Default)]
struct OneNode(Mutex<Vec<NodeCall>>);

fn laptop() -> NodeSummary {
    NodeSummary { id: "0123456789abcdef".into(), name: "laptop".into(), connected: Some(true), ..NodeSummary::default() }
}

impl NodeDirectory for OneNode {
    fn resolve(&self, wanted: &str) -> Result<NodeSummary, ToolError> {
        if ["", "laptop"].contains(&wanted) { Ok(laptop()) } else { Err(ToolError::validation("No such node.")) }
    }
    fn is_default_host(&self) -> bool {
        false
    }
    fn command_effects(&self, node: &NodeSummary, request: &CommandRequest) -> Result<Vec<Effect>, ToolError> {
        let mut exec = Exec::new(&request.command, Vec::new(), "");
        exec.host = ExecHost::Node;
        Ok(vec![Effect::Node { node: node.name.clone(), action: "exec".into(), target: request.command.clone() }, Effect::Exec(exec)])
    }
    fn list(&self) -> BoxFuture<'_, Result<Vec<NodeSummary>, ToolError>> {
        Box::pin(async { Ok(vec![laptop()]) })
    }
    fn pending(&self) -> BoxFuture<'_, Result<Vec<PendingNode>, ToolError>> {
        Box::pin(async { Ok(vec![PendingNode { id: "77".into(), name: "phone".into(), expires_in_seconds: 9 }]) })
    }
    fn reject<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move { if id == "77" { Ok(()) } else { Err(ToolError::validation("No such machine.")) } })
    }
    fn call(&self, call: NodeCall) -> BoxFuture<'_, Result<ToolOutput, ToolError>> {
        self.0.lock().unwrap().push(call.clone());
        let mut output = ToolOutput::text("done");
        if call.tool == "screen_record" {
            output.content.push(Content::Document(EmbeddedDocument::bytes("screen.mp4", "video/mp4", b"film".to_vec())));
        }
        Box::pin(async { Ok(output) })
    }
}

fn host() -> (Arc<FakeHost>, Arc<OneNode>) {
    let (host, mut services, nodes) = (FakeHost::new(), Services::default(), Arc::new(OneNode::default()));
    services.nodes = Some(Arc::clone(&nodes) as _);
    assert!(host.services.set(services).is_ok());
    (host, nodes)
}

async fn call(host: &Arc<FakeHost>, arguments: Value) -> Result<ToolOutput, ToolError> {
    run_tool(&Erased::new(Nodes), arguments, Arc::clone(host)).await
}

#[tokio::test]
async fn every_action_makes_its_call_with_its_plan() {
    let node = |action: &str, target: &str| json!({"effect": "node", "node": "laptop", "action": action, "target": target});
    for (arguments, tool, expected, effects) in [
        (
            json!({"action": "read", "path": "a.txt", "limit": 3}),
            "read_file",
            json!({"path": "a.txt", "limit": 3, "again": true}),
            json!([node("read", "a.txt")]),
        ),
        (
            json!({"action": "read", "path": "./x/../a.txt"}),
            "read_file",
            json!({"path": "./x/../a.txt", "again": true}),
            json!([node("read", "a.txt")]),
        ),
        (
            json!({"action": "write", "path": "a", "content": ""}),
            "write_file",
            json!({"path": "a", "content": ""}),
            json!([node("write", "a")]),
        ),
        (json!({"action": "list", "node": "laptop"}), "glob_search", json!({"pattern": "*", "path": "."}), json!([node("list", ".")])),
        (
            json!({"action": "notify", "title": "T", "body": "B", "priority": "passive"}),
            "notify",
            json!({"message": "T: B", "urgency": "low"}),
            json!([node("notify", "")]),
        ),
        (
            json!({"action": "camera_snap", "device_id": "/dev/video0"}),
            "camera_snap",
            json!({"device": "/dev/video0"}),
            json!([node("camera_snap", "/dev/video0")]),
        ),
        (json!({"action": "camera_list"}), "camera_list", json!({}), json!([node("camera_list", "")])),
        (json!({"action": "location_get"}), "location_get", json!({}), json!([node("location_get", "")])),
        (json!({"action": "device_status"}), "system_info", json!({}), json!([node("device_status", "")])),
        (
            json!({"action": "invoke", "invoke_command": "backup", "invoke_params_json": "{}"}),
            "node_invoke",
            json!({"command": "backup", "input": "{}"}),
            json!([node("invoke", "backup")]),
        ),
        (
            json!({"action": "run", "command": "uptime", "timeout": 5}),
            "exec",
            json!({"command": "uptime", "timeout": 5.0}),
            json!([node("exec", "uptime"), {"effect": "exec", "program": "uptime", "arguments": [], "directory": "", "host": "node"}]),
        ),
    ] {
        let (host, nodes) = host();
        let output = call(&host, arguments.clone()).await.unwrap();
        assert_eq!(output.texts().collect::<String>(), "done", "{arguments}");
        let made = nodes.0.lock().unwrap().pop().unwrap();
        assert_eq!((made.tool.as_str(), made.arguments, made.effects), (tool, expected, effects), "{arguments}");
        assert_eq!((made.node.as_str(), made.name.as_str()), ("0123456789abcdef", "laptop"));
    }
}

#[tokio::test]
async fn film_is_saved_where_the_plan_says() {
    let (host, _) = host();
    let output = call(&host, json!({"action": "screen_record", "out_path": "out/film.mp4"})).await.unwrap();
    assert_eq!(output.texts().collect::<Vec<_>>(), ["done", "Saved 4 bytes to out/film.mp4."]);
    assert_eq!(host.files.text("out/film.mp4").as_deref(), Some("film"));
}

#[tokio::test]
async fn lists_need_no_plan_and_pairing_is_for_the_user() {
    let (host, _) = host();
    let text = |output: ToolOutput| output.texts().collect::<String>();
    let status = text(call(&host, json!({"action": "status"})).await.unwrap());
    assert_eq!(
        status,
        "laptop (0123456789abcdef): connected\n1 machine asks to be paired: the user decides with `haft node approve CODE`."
    );
    assert_eq!(text(call(&host, json!({"action": "describe"})).await.unwrap()), "laptop (0123456789abcdef): connected");
    assert!(text(call(&host, json!({"action": "pending"})).await.unwrap()).starts_with("phone (77): for 9 s more"));
    assert_eq!(text(call(&host, json!({"action": "reject", "request_id": "77"})).await.unwrap()), "The machine was rejected.");
    let refused = expect_error(call(&host, json!({"action": "approve", "request_id": "77"})).await);
    assert_eq!(refused.0, ErrorKind::PermissionDenied);
}

#[tokio::test]
async fn what_cannot_be_done_is_refused_before_anything_is_sent() {
    let (host, nodes) = host();
    for (arguments, message) in [
        (json!({"action": "run"}), "Missing required parameter: 'command'. Give a shell command, such as 'ls -l'."),
        (json!({"action": "read"}), "Missing required parameter: 'path'. Give a path on the node."),
        (json!({"action": "write", "path": "a"}), "Missing required parameter: 'content'. Give the new content of the file."),
        (json!({"action": "notify"}), "Missing required parameter: 'body'. Give the text of the notification."),
        (json!({"action": "invoke"}), "Missing required parameter: 'invoke_command'. Give a command that the node declares."),
        (json!({"action": "screen_record"}), "Missing required parameter: 'out_path'. Give where to save the film, such as 'screen.mp4'."),
        (json!({"action": "screen_record", "out_path": "a", "duration_ms": 300_001}), "Parameter 'duration_ms' is at most 300000."),
        (json!({"action": "reject"}), "Missing required parameter: 'request_id'. Give the id that 'pending' shows."),
        (json!({"action": "read", "path": "a", "node": "nobody"}), "No such node."),
        (
            json!({"action": "notify", "body": "x", "priority": "loud"}),
            "Parameter 'priority' is 'loud'; use 'passive', 'active' or 'timeSensitive'.",
        ),
    ] {
        assert_eq!(expect_error(call(&host, arguments.clone()).await), (ErrorKind::ValidationError, message.to_owned()), "{arguments}");
    }
    assert_eq!(*nodes.0.lock().unwrap(), []);
    let alone = expect_error(call(&FakeHost::new(), json!({"action": "status"})).await);
    assert!(alone.1.starts_with("There are no nodes here"), "{alone:?}");
}

#[test]
fn rules_can_name_the_node_the_action_and_the_target() {
    let (host, _) = host();
    let prepared = Erased::new(Nodes).prepare(json!({"action": "read", "path": "notes/a.md"}), &PlanContext::new(&*host)).unwrap();
    assert_eq!(prepared.plan().effects()[0].target(), "laptop:read notes/a.md");
}
