//! `#[derive(ToolMeta)]`, with every key and with none.

use haft::{Dialect, Form, FormParameter, Tool, ToolContext, ToolDefinition, ToolError, ToolMeta};
use serde_json::json;

/// Reads a text file
/// from the workspace.
///
/// Not for directories.
#[derive(ToolMeta)]
#[tool(name = "read_file", label = "Read a file", section = Files, category = Io, access = WorkspaceWrite, timeout_secs = 10)]
#[tool(permissions = ["storage", "camera"], profiles = ["coding"], aliases = ["read", "ReadFile"], owner_only, deferred)]
#[tool(forms = FORMS)]
#[tool(read_only, destructive, idempotent, open_world)]
struct EveryKey;

const FORMS: &[Form] = &[Form::new(Dialect::Claw, "Read").parameters(&[FormParameter::new("file_path", "path")])];

/// Does little.
#[derive(ToolMeta)]
struct HTTPNothing2Do<T>(T);

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Params {
    /// Where.
    path: String,
}

impl Tool for EveryKey {
    type Params = Params;
    type Output = String;
    async fn execute(&self, params: Params, _cx: &ToolContext) -> Result<String, ToolError> {
        Ok(params.path)
    }
}

impl Tool for HTTPNothing2Do<u8> {
    type Params = Params;
    type Output = String;
    async fn execute(&self, params: Params, _cx: &ToolContext) -> Result<String, ToolError> {
        Ok(format!("{} {}", self.0, params.path))
    }
}

#[test]
fn every_key_reaches_the_definition() {
    let definition = ToolDefinition::for_tool::<EveryKey>();
    assert_eq!(
        serde_json::to_value(&definition).unwrap(),
        json!({
            "name": "read_file",
            "label": "Read a file",
            "description": "Reads a text file from the workspace.\n\nNot for directories.",
            "parameters": {"type": "object", "properties": {"path": {"description": "Where.", "type": "string"}}, "required": ["path"]},
            "section": "files",
            "category": "io",
            "access": "workspace-write",
            "permissions": ["storage", "camera"],
            "timeout_seconds": 10,
            "profiles": ["coding"],
            "aliases": ["read", "ReadFile"],
            "owner_only": true,
            "hints": {"read_only": true, "destructive": true, "idempotent": true, "open_world": true}
        })
    );
    assert!(definition.deferred);
    assert_eq!(&*definition.forms, FORMS);
}

#[test]
fn without_keys_the_name_of_the_struct_decides() {
    let definition = ToolDefinition::for_tool::<HTTPNothing2Do<u8>>();
    assert_eq!(
        serde_json::to_value(&definition).unwrap(),
        json!({
            "name": "http_nothing2_do",
            "label": "Http nothing2 do",
            "description": "Does little.",
            "parameters": {"type": "object", "properties": {"path": {"description": "Where.", "type": "string"}}, "required": ["path"]},
            "section": "system",
            "category": "system",
            "access": "read-only",
            "permissions": [],
            "timeout_seconds": 30,
            "profiles": [],
            "aliases": [],
            "owner_only": false,
            "hints": {"read_only": false, "destructive": false, "idempotent": false, "open_world": false}
        })
    );
    assert!(!definition.deferred && definition.forms.is_empty());
}
