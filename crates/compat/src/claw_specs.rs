//! The table of tools of that system.

use serde_json::{Map, Value, json};

use crate::claw::{PermissionMode, ToolSpec};

/// A parameter: `!` marks a required one, `#` an integer, `?` a boolean, `*` a required list.
type Parameters = &'static [&'static str];

use PermissionMode::{DangerFullAccess, ReadOnly, WorkspaceWrite};

#[rustfmt::skip] // one tool a line
const TOOLS: &[(&str, PermissionMode, &str, Parameters)] = &[
    ("bash", DangerFullAccess, "Execute a shell command", &["command!", "timeout#", "description", "run_in_background?"]),
    ("read_file", ReadOnly, "Read a text file", &["path!", "offset#", "limit#"]),
    ("write_file", WorkspaceWrite, "Write a text file", &["path!", "content!"]),
    ("edit_file", WorkspaceWrite, "Replace text in a file", &["path!", "old_string!", "new_string!", "replace_all?"]),
    ("glob_search", ReadOnly, "Find files by glob pattern", &["pattern!", "path"]),
    ("grep_search", ReadOnly, "Search file contents with regex", &["pattern!", "path", "glob", "output_mode"]),
    ("WebFetch", ReadOnly, "Fetch a URL and process content", &["url!", "prompt!"]),
    ("WebSearch", ReadOnly, "Search the web for information", &["query!"]),
    ("TodoWrite", WorkspaceWrite, "Update structured task list", &["todos*"]),
    ("Skill", ReadOnly, "Load a local skill definition", &["skill!", "args"]),
    ("Agent", DangerFullAccess, "Spawn a sub-agent conversation", &["description!", "prompt!", "subagent_type", "name", "model"]),
    ("ToolSearch", ReadOnly, "Search for deferred or specialized tools", &["query!", "max_results#"]),
    ("NotebookEdit", WorkspaceWrite, "Edit Jupyter notebook cells", &["notebook_path!", "cell_id", "new_source", "cell_type", "edit_mode"]),
    ("Sleep", ReadOnly, "Wait for a specified duration", &["duration_ms#!"]),
    ("SendUserMessage", ReadOnly, "Send a message to the user", &["message!", "status!"]),
    ("Config", WorkspaceWrite, "Get or set runtime configuration", &["setting!", "value"]),
    ("StructuredOutput", ReadOnly, "Return structured output", &[]),
    ("REPL", DangerFullAccess, "Execute code in a REPL", &["code!", "language!", "timeout_ms#"]),
    ("PowerShell", DangerFullAccess, "Execute PowerShell commands", &["command!", "timeout#", "description"]),
];

/// Every tool of that system, with its permission.
pub fn mvp_tool_specs() -> Vec<ToolSpec> {
    let spec = |(name, required_permission, description, parameters): &(&'static str, PermissionMode, &'static str, Parameters)| ToolSpec {
        name,
        description,
        input_schema: schema(parameters),
        required_permission: *required_permission,
    };
    TOOLS.iter().map(spec).collect()
}

fn schema(parameters: Parameters) -> Value {
    let (mut properties, mut required) = (Map::new(), Vec::new());
    for marked in parameters {
        let name = marked.trim_end_matches(['!', '#', '?', '*']);
        let kind = if marked.contains('#') {
            json!({"type": "integer"})
        } else if marked.contains('?') {
            json!({"type": "boolean"})
        } else if marked.contains('*') {
            json!({"type": "array", "items": {"type": "object"}})
        } else {
            json!({"type": "string"})
        };
        properties.insert(name.to_owned(), kind);
        if marked.contains(['!', '*']) {
            required.push(name);
        }
    }
    json!({"type": "object", "properties": properties, "required": required})
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::claw::{StaticToolExecutor, ToolDefinition, adapt};

    #[test]
    fn table_is_that_of_the_specification_and_every_tool_can_be_adapted() {
        let specs = mvp_tool_specs();
        assert_eq!(specs.len(), 19);
        let of = |mode| specs.iter().filter(|spec| spec.required_permission == mode).count();
        assert_eq!([of(ReadOnly), of(WorkspaceWrite), of(DangerFullAccess)], [10, 5, 4]);
        let definition = ToolDefinition::from(&specs[0]);
        assert_eq!((definition.name.as_str(), &definition.input_schema["required"]), ("bash", &json!(["command"])));
        for tool in adapt(StaticToolExecutor::new(), specs) {
            assert_eq!(tool.definition().parameters.clone().lint(), Ok(()), "{}", tool.definition().name);
        }
    }
}
