use haft_contract::{Json, SystemFacts, Tool, ToolContext, ToolError};
use haft_macros::ToolMeta;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Get information about this machine: operating system, memory and uptime. Returns JSON; unknown values are left out.
#[derive(Debug, ToolMeta)]
#[tool(
    name = "system_info",
    label = "System information",
    section = System,
    category = System,
    access = ReadOnly,
    timeout_secs = 5,
    profiles = ["coding"],
    read_only,
    idempotent
)]
pub(crate) struct SystemInfoTool;

#[derive(Debug, Deserialize, JsonSchema)]
pub(crate) struct Params {
    /// The part to return. Defaults to 'all'.
    #[serde(default)]
    section: SystemSection,
}

#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
enum SystemSection {
    #[default]
    All,
    Os,
    Memory,
    Uptime,
}

#[derive(Debug, Serialize, JsonSchema)]
pub(crate) struct SystemReport {
    #[serde(skip_serializing_if = "Option::is_none")]
    os: Option<OsInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    memory: Option<MemoryInfo>,
    #[serde(skip_serializing_if = "Option::is_none")]
    uptime: Option<UptimeInfo>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct OsInfo {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<String>,
    architecture: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    hostname: Option<String>,
    processors: usize,
}

#[derive(Debug, Serialize, JsonSchema)]
struct MemoryInfo {
    #[serde(skip_serializing_if = "Option::is_none")]
    total_bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    available_bytes: Option<u64>,
}

#[derive(Debug, Serialize, JsonSchema)]
struct UptimeInfo {
    #[serde(skip_serializing_if = "Option::is_none")]
    seconds: Option<u64>,
}

impl Tool for SystemInfoTool {
    type Params = Params;
    type Output = Json<SystemReport>;

    async fn execute(&self, params: Params, cx: &ToolContext) -> Result<Json<SystemReport>, ToolError> {
        Ok(Json(report(cx.clock().system().await, params.section)))
    }
}

fn report(facts: SystemFacts, part: SystemSection) -> SystemReport {
    let wanted = |this| part == SystemSection::All || part == this;
    let SystemFacts { os, version, kernel, architecture, hostname, processors, memory_total, memory_available, uptime_seconds } = facts;
    SystemReport {
        os: wanted(SystemSection::Os).then_some(OsInfo { name: os, version, kernel, architecture, hostname, processors }),
        memory: wanted(SystemSection::Memory).then_some(MemoryInfo { total_bytes: memory_total, available_bytes: memory_available }),
        uptime: wanted(SystemSection::Uptime).then_some(UptimeInfo { seconds: uptime_seconds }),
    }
}

#[cfg(test)]
mod tests {
    use haft_contract::{Erased, ErrorKind};
    use haft_testkit::{FakeHost, expect_error, run_tool};
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn each_part_can_be_had_alone() {
        let os = json!({
            "name": "linux", "version": "Fake Linux 1", "kernel": "6.1.0", "architecture": "x86_64", "hostname": "fake", "processors": 4
        });
        let memory = json!({"total_bytes": 8_589_934_592_u64, "available_bytes": 2_147_483_648_u64});
        let uptime = json!({"seconds": 93_784});
        for (arguments, expected) in [
            (json!({}), json!({"os": os, "memory": memory, "uptime": uptime})),
            (json!({"section": "all"}), json!({"os": os, "memory": memory, "uptime": uptime})),
            (json!({"section": "os"}), json!({"os": os})),
            (json!({"section": "memory"}), json!({"memory": memory})),
            (json!({"section": "uptime"}), json!({"uptime": uptime})),
        ] {
            let output = run_tool(&Erased::new(SystemInfoTool), arguments, FakeHost::new()).await.unwrap();
            let text: Value = serde_json::from_str(output.texts().next().unwrap()).unwrap();
            assert_eq!((text, output.details.unwrap()), (expected.clone(), expected));
        }
    }

    #[tokio::test]
    async fn what_is_not_known_is_left_out() {
        let host = FakeHost::new();
        host.system.set(SystemFacts { os: "plan9".into(), architecture: "mips".into(), processors: 1, ..SystemFacts::default() });
        let output = run_tool(&Erased::new(SystemInfoTool), json!({}), host).await.unwrap();
        let expected = json!({"os": {"name": "plan9", "architecture": "mips", "processors": 1}, "memory": {}, "uptime": {}});
        assert_eq!(output.details.unwrap(), expected);
    }

    #[tokio::test]
    async fn an_unknown_part_is_refused_with_those_there_are() {
        let (kind, message) = expect_error(run_tool(&Erased::new(SystemInfoTool), json!({"section": "disk"}), FakeHost::new()).await);
        assert!(kind == ErrorKind::ValidationError && message.contains("`uptime`"), "{message}");
    }
}
