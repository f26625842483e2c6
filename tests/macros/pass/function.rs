//! `#[tool]` on functions that touch nothing.

use haft::{Erased, Json, ParameterHints, ToolContext, ToolDefinition, ToolError, ToolOutput, tool};
use haft_testkit::{FakeHost, context_for, run_tool};
use serde_json::json;

/// Adds two numbers.
#[haft::tool(section = System, timeout_secs = 5)]
async fn add(
    /// The first number.
    a: i64,
    /// The second number.
    #[tool(default = 1)]
    b: i64,
    cx: &ToolContext,
) -> Result<String, ToolError> {
    Ok(format!("{} for {}", a + b, cx.call().agent))
}

/// Says
/// everything.
#[tool(name = "speak", access = FullAccess, profiles = ["messaging"])]
pub(crate) async fn say_it(
    /// #channel to say
    /// it in.
    channel: Option<String>,
    /// What to say.
    #[tool(verbatim, aliases = ["message", "body"])]
    mut text: String,
    #[tool(default = "calm")] mood: String,
    #[tool(default = vec![2, 3])] times: Vec<u8>,
    /// A word that is reserved here and there.
    #[serde(rename = "kind")]
    #[schemars(length(max = 9))]
    r#type: Option<String>,
) -> haft_result::Result<Json<Vec<String>>> {
    text.insert_str(0, &mood);
    let all = [channel.unwrap_or_default(), text, format!("{times:?}"), r#type.unwrap_or_default()];
    Ok(Json(all.to_vec()))
}

mod haft_result {
    pub(crate) type Result<T> = std::result::Result<T, haft::ToolError>;
}

/// Takes nothing.
#[tool]
async fn nothing() -> Result<(), ToolError> {
    Ok(())
}

#[test]
fn a_function_becomes_a_definition() {
    assert_eq!(
        serde_json::to_value(ToolDefinition::for_tool::<Add>()).unwrap(),
        json!({
            "name": "add",
            "label": "Add",
            "description": "Adds two numbers.",
            "parameters": {
                "type": "object",
                "properties": {
                    "a": {"description": "The first number.", "type": "integer"},
                    "b": {"description": "The second number.", "type": "integer", "default": 1}
                },
                "required": ["a"]
            },
            "section": "system",
            "category": "system",
            "access": "read-only",
            "permissions": [],
            "timeout_seconds": 5,
            "profiles": [],
            "aliases": [],
            "owner_only": false,
            "hints": {"read_only": false, "destructive": false, "idempotent": false, "open_world": false}
        })
    );
}

#[test]
fn parameters_carry_all_that_was_said_of_them() {
    let definition = ToolDefinition::for_tool::<SayIt>();
    assert_eq!((&*definition.name, &*definition.label, &*definition.description), ("speak", "Speak", "Says everything."));
    assert_eq!(
        definition.parameters,
        json!({
            "type": "object",
            "properties": {
                "channel": {"description": "#channel to say it in.", "type": "string"},
                "text": {"description": "What to say.", "type": "string"},
                "mood": {"type": "string", "default": "calm"},
                "times": {"type": "array", "items": {"type": "integer", "minimum": 0, "maximum": 255}, "default": [2, 3]},
                "kind": {"description": "A word that is reserved here and there.", "type": "string", "maxLength": 9}
            },
            "required": ["text"]
        })
    );
    assert_eq!(
        *definition.parameters.hints(),
        ParameterHints {
            aliases: vec![("message".into(), "text".into()), ("body".into(), "text".into())],
            verbatim: vec!["text".into()],
            ..ParameterHints::default()
        }
    );
    assert_eq!(definition.output.as_deref(), Some(&json!({"type": "array", "items": {"type": "string"}, "properties": {}})));
    assert_eq!(ToolDefinition::for_tool::<Nothing>().parameters, json!({"type": "object", "properties": {}}));
}

#[tokio::test]
async fn a_tool_runs_its_function() {
    let host = FakeHost::new();
    let adder = Erased::new(Add);
    let sum = |arguments| run_tool(&adder, arguments, host.clone());
    assert_eq!(sum(json!({"a": 2})).await.unwrap(), ToolOutput::text("3 for main"));
    assert_eq!(sum(json!({"a": 2, "b": 40})).await.unwrap(), ToolOutput::text("42 for main"));
    let said = run_tool(&Erased::new(SayIt), json!({"text": "!", "kind": "k", "channel": "c"}), host.clone()).await.unwrap();
    assert_eq!(said.details, Some(json!(["c", "calm!", "[2, 3]", "k"])));
    assert_eq!(run_tool(&Erased::new(Nothing), json!({}), host).await.unwrap(), ToolOutput::text("done"));
}

#[tokio::test]
async fn the_function_itself_stays() {
    let cx = context_for(haft::Plan::nothing(), FakeHost::new());
    assert_eq!(add(1, 2, &cx).await.unwrap(), "3 for main");
}
