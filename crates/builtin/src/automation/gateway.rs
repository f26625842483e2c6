use std::time::Duration;

use haft_contract::ports::ConfigPreview;
use haft_contract::{Dialect, Form, FormParameter, GatewayUse, Plan, PlanContext, Tool, ToolContext, ToolError, ToolOutput};
use haft_macros::ToolMeta;
use haft_text::numbers::count;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

/// Settings and keys that one answer shows.
const MOST_SHOWN: usize = 60;
const DEFAULT_WAIT: u64 = 60;
const LONGEST_WAIT: u64 = 3600;
const REASON_CHARACTERS: usize = 200;

/// The server that runs this conversation: its state, its configuration by path, and its restart. 'config.get' and 'config.schema' take a
/// path such as 'network' or 'exec.limits'. 'config.patch' sets keys: what tightens is written at once, everything else asks the user with
/// the difference. Secrets are never shown. 'restart' waits for what runs, and conversations continue afterwards.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "gateway",
    label = "Server",
    section = Automation,
    category = System,
    access = WorkspaceWrite,
    timeout_secs = 60,
    rules = Configure,
    forms = FORMS,
    owner_only
)]
pub(crate) struct GatewayTool;

const FORMS: &[Form] = &[Form::new(Dialect::OpenClaw, "gateway").parameters(&[FormParameter::new("baseHash", "base_hash")])];

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize, JsonSchema)]
enum GatewayAction {
    #[default]
    #[serde(rename = "status")]
    Status,
    #[serde(rename = "config.get")]
    ConfigGet,
    #[serde(rename = "config.schema")]
    ConfigSchema,
    #[serde(rename = "config.patch")]
    ConfigPatch,
    #[serde(rename = "restart")]
    Restart,
}

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The action. Defaults to 'status'.
    #[serde(default)]
    action: GatewayAction,
    /// For 'config.get' and 'config.schema': the key, or a part of it, such as 'network'.
    #[schemars(extend("x-aliases" = ["key"]))]
    path: Option<String>,
    /// For 'config.patch': keys and values, such as {"access": "read-only"}; tables may be nested.
    patch: Option<Map<String, Value>>,
    /// For 'config.patch': the patch as JSON text.
    #[schemars(extend("x-rare" = true))]
    raw: Option<String>,
    /// For 'config.patch': the hash that 'config.get' returned; a file that has changed since is not overwritten.
    #[schemars(extend("x-rare" = true))]
    base_hash: Option<String>,
    /// For 'restart': why, at most 200 characters.
    #[schemars(extend("x-aliases" = ["note"]))]
    reason: Option<String>,
    /// For 'restart': how many seconds what runs may take before it is handed over. Defaults to 60.
    #[schemars(extend("x-rare" = true))]
    wait_seconds: Option<u64>,
}

impl Params {
    fn path(&self) -> Result<&str, ToolError> {
        let path = self.path.as_deref().map(str::trim).filter(|path| !path.trim_matches(['.', '*']).is_empty());
        path.ok_or_else(|| {
            ToolError::validation("Missing required parameter: 'path' (a part of the configuration, such as 'network'; never the whole)")
        })
    }

    fn patch(&self) -> Result<Value, ToolError> {
        let patch = match (&self.patch, &self.raw) {
            (Some(patch), _) => patch.clone(),
            (None, Some(raw)) => serde_json::from_str(raw)
                .map_err(|error| ToolError::validation(format!("Parameter 'raw' is not a JSON object: {error}.")))?,
            (None, None) => Map::new(),
        };
        if patch.is_empty() {
            return Err(ToolError::validation(
                "Missing required parameter: 'patch' (keys and values, such as {\"access\": \"read-only\"})",
            ));
        }
        Ok(Value::Object(patch))
    }

    fn reason(&self) -> String {
        self.reason.as_deref().unwrap_or("no reason was given").chars().take(REASON_CHARACTERS).collect()
    }
}

impl Tool for GatewayTool {
    type Params = Params;
    type Output = ToolOutput;

    fn plan(&self, params: &Params, cx: &PlanContext<'_>) -> Result<Plan, ToolError> {
        let gateway = cx.gateway()?;
        match params.action {
            GatewayAction::Status => Ok(Plan::nothing()),
            GatewayAction::ConfigGet | GatewayAction::ConfigSchema => params.path().map(|_| Plan::nothing()),
            GatewayAction::Restart => {
                let why = format!("It restarts the server: {}", params.reason());
                Ok(Plan::nothing().configure(GatewayUse::RESTART).require_approval(why))
            }
            GatewayAction::ConfigPatch => {
                let preview = gateway.preview(&params.patch()?, params.base_hash.as_deref())?;
                let plan = preview.keys.iter().fold(Plan::nothing(), |plan, key| plan.configure(key.key.as_str()));
                Ok(if preview.widens() { plan.require_approval(question(&preview)) } else { plan })
            }
        }
    }

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<ToolOutput, ToolError> {
        let gateway = cx.gateway();
        match params.action {
            GatewayAction::Status => {
                let status = gateway.status().await?;
                Ok(ToolOutput::text(serde_json::to_string_pretty(&status).unwrap_or_default()).with_details(status))
            }
            GatewayAction::ConfigGet => {
                let part = gateway.config(params.path()?)?;
                let mut lines: Vec<String> =
                    part.settings.iter().take(MOST_SHOWN).map(|row| format!("{} = {} ({})", row.key, row.value, row.source)).collect();
                let left = part.settings.len().saturating_sub(MOST_SHOWN);
                if left > 0 {
                    lines.push(format!("({} more: name a longer path)", count(left, "setting")));
                }
                lines.push(format!("base_hash: {}", part.hash));
                Ok(ToolOutput::text(lines.join("\n")).with_details(json!({ "hash": part.hash, "total": part.settings.len() })))
            }
            GatewayAction::ConfigSchema => {
                let schema = gateway.schema(params.path()?)?;
                Ok(ToolOutput::text(serde_json::to_string(&schema).unwrap_or_default()).with_details(schema))
            }
            GatewayAction::ConfigPatch => Ok(report_change(&gateway.patch(&params.patch()?, params.base_hash.as_deref()).await?)),
            GatewayAction::Restart => {
                let wait = Duration::from_secs(params.wait_seconds.unwrap_or(DEFAULT_WAIT).min(LONGEST_WAIT));
                Ok(ToolOutput::text(gateway.restart(&params.reason(), wait).await?))
            }
        }
    }
}

/// What the user is asked: which keys allow more, and the whole difference.
fn question(preview: &ConfigPreview) -> String {
    let wider: Vec<&str> = preview.keys.iter().filter(|key| key.authority.as_str() == "wider").map(|key| key.key.as_str()).collect();
    format!("It changes what is allowed ({}) in {}:\n{}", wider.join(", "), preview.file, preview.difference)
}

fn report_change(preview: &ConfigPreview) -> ToolOutput {
    let keys: Vec<String> = preview.keys.iter().map(|key| format!("{} ({})", key.key, key.authority.as_str())).collect();
    let text = format!(
        "Changed in {}: {}. Conversations use it from their next message on; `haft undo` takes it back.\n{}",
        preview.file,
        keys.join(", "),
        preview.difference
    );
    let rows: Vec<Value> = preview.keys.iter().map(|key| json!({ "key": key.key, "authority": key.authority.as_str() })).collect();
    ToolOutput::text(text.trim_end()).with_details(json!({ "keys": rows, "file": preview.file, "diff": preview.difference }))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::ports::{AuthorityChange, ConfigPart, GatewayControl, Journal, KeyChange, Services};
    use haft_contract::{BoxFuture, DynTool, Erased};
    use haft_testkit::{FakeHost, expect_error, run_tool};

    use super::*;

    struct Server;

    impl GatewayControl for Server {
        fn status(&self) -> BoxFuture<'_, Result<Value, ToolError>> {
            Box::pin(async { Ok(json!({"sessions": 1})) })
        }
        fn config(&self, _: &str) -> Result<ConfigPart, ToolError> {
            Ok(ConfigPart { settings: Vec::new(), hash: "abc".into() })
        }
        fn schema(&self, path: &str) -> Result<Value, ToolError> {
            Ok(json!({"path": path}))
        }
        fn preview(&self, patch: &Value, base_hash: Option<&str>) -> Result<ConfigPreview, ToolError> {
            if base_hash.is_some_and(|hash| hash != "abc") {
                return Err(ToolError::validation("the file has changed"));
            }
            let authority = if patch["access"] == "read-only" { AuthorityChange::Tighter } else { AuthorityChange::Wider };
            let keys = vec![KeyChange { key: "access".into(), authority }];
            Ok(ConfigPreview { keys, difference: "+access\n".into(), file: "/c.toml".into(), hash: "abc".into() })
        }
        fn apply<'a>(&'a self, _: &'a Value, _: &'a ConfigPreview, _: &'a dyn Journal) -> BoxFuture<'a, Result<(), ToolError>> {
            Box::pin(async { Ok(()) })
        }
        fn restart<'a>(&'a self, _: &'a str, reason: &'a str, wait: Duration) -> BoxFuture<'a, Result<String, ToolError>> {
            Box::pin(async move { Ok(format!("{reason} {wait:?}")) })
        }
    }

    fn host() -> Arc<FakeHost> {
        let (host, mut services) = (FakeHost::new(), Services::default());
        services.gateway = Some(Arc::new(Server));
        assert!(host.services.set(services).is_ok());
        host
    }

    #[test]
    fn only_a_change_that_widens_and_a_restart_need_approval() {
        let host = host();
        for (arguments, effects, approval) in [
            (json!({}), json!([]), None),
            (json!({"action": "config.get", "path": "access"}), json!([]), None),
            (json!({"action": "config.patch", "patch": {"access": "read-only"}}), json!([{"effect": "configure", "key": "access"}]), None),
            (
                json!({"action": "config.patch", "raw": "{\"access\": \"full-access\"}"}),
                json!([{"effect": "configure", "key": "access"}]),
                Some("It changes what is allowed (access) in /c.toml:\n+access\n"),
            ),
            (
                json!({"action": "restart", "reason": "update"}),
                json!([{"effect": "configure", "key": "gateway.restart"}]),
                Some("It restarts the server: update"),
            ),
        ] {
            let prepared = Erased::new(GatewayTool).prepare(arguments.clone(), &PlanContext::new(&*host)).unwrap();
            assert_eq!(serde_json::to_value(prepared.plan().effects()).unwrap(), effects, "{arguments}");
            assert_eq!(prepared.plan().required_approval(), approval, "{arguments}");
        }
    }

    #[tokio::test]
    async fn wrong_calls_are_refused_with_what_to_do() {
        for (arguments, words) in [
            (json!({"action": "config.get"}), "'path'"),
            (json!({"action": "config.schema", "path": "*"}), "never the whole"),
            (json!({"action": "config.schema", "path": " . "}), "never the whole"),
            (json!({"action": "config.patch"}), "'patch'"),
            (json!({"action": "config.patch", "patch": {}}), "'patch'"),
            (json!({"action": "config.patch", "raw": "access = 1"}), "is not a JSON object"),
            (json!({"action": "config.patch", "raw": "{\"access\":\"read-only\"}", "base_hash": "old"}), "the file has changed"),
        ] {
            let error = expect_error(run_tool(&Erased::new(GatewayTool), arguments.clone(), host()).await);
            assert!(error.1.contains(words), "{arguments}: {error:?}");
        }
        let absent = expect_error(run_tool(&Erased::new(GatewayTool), json!({}), FakeHost::new()).await);
        assert!(absent.1.contains("No server runs this conversation."), "{absent:?}");
    }
}
