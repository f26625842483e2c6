//! The tools of the conformance suite that ask the user.

use std::time::Duration;

use haft_contract::ports::{UserQuestion, UserReply};
use haft_contract::{Plan, ToolContext, ToolError, ToolOutput, UserCapability};
use haft_testkit::ScriptedTool;
use serde_json::{Value, json};

/// A tool that asks these questions, one after the other, and returns the replies.
fn asking(name: &str, questions: Vec<UserQuestion>, ending: &'static str) -> ScriptedTool {
    ScriptedTool::new(name)
        .timeout(Duration::from_mins(5))
        .plan(|_, _| Ok(Plan::nothing().send(UserCapability::CHANNEL, UserCapability::RECIPIENT, false)))
        .body(move |_: Value, cx: ToolContext| {
            let questions = questions.clone();
            async move {
                let mut text = String::new();
                for question in &questions {
                    text += &reply(&cx, question).await?;
                }
                Ok::<_, ToolError>(ToolOutput::text(text + ending))
            }
        })
}

async fn reply(cx: &ToolContext, question: &UserQuestion) -> Result<String, ToolError> {
    Ok(match cx.user().ask(question).await? {
        UserReply::Answer(answer) => format!("Elicitation completed: action=accept, content={}. ", Value::Object(answer)),
        UserReply::Declined => "Elicitation completed: action=decline. ".to_owned(),
        UserReply::Cancelled => "Elicitation completed: action=cancel. ".to_owned(),
    })
}

fn question(name: &str, message: &str, properties: &Value) -> UserQuestion {
    let required: Vec<String> = properties.as_object().into_iter().flatten().map(|(name, _)| name.clone()).take(1).collect();
    let schema = json!({"type": "object", "properties": properties, "required": required});
    UserQuestion { name: name.to_owned(), message: message.to_owned(), schema }
}

fn defaults() -> Value {
    json!({
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
        "verified": {"type": "boolean", "default": true},
    })
}

fn choices() -> Value {
    let options = json!(["option1", "option2", "option3"]);
    let titled = |titles: [&str; 3]| {
        let choice = |(number, title): (usize, &str)| json!({"const": format!("value{}", number + 1), "title": title});
        titles.into_iter().enumerate().map(choice).collect::<Vec<Value>>()
    };
    json!({
        "untitledSingle": {"type": "string", "enum": options},
        "titledSingle": {"type": "string", "oneOf": titled(["First Option", "Second Option", "Third Option"])},
        "legacyEnum": {"type": "string", "enum": ["opt1", "opt2", "opt3"], "enumNames": ["Option One", "Option Two", "Option Three"]},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": options}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled(["First Choice", "Second Choice", "Third Choice"])}},
    })
}

/// Every one of them.
pub(crate) fn tools() -> Vec<ScriptedTool> {
    let text = || json!({"name": {"type": "string"}});
    let confirm = || vec![question("confirm", "Please confirm", &json!({"ok": {"type": "boolean"}}))];
    vec![
        asking("test_elicitation_sep1034_defaults", vec![question("defaults", "Please check", &defaults())], ""),
        asking("test_elicitation_sep1330_enums", vec![question("choices", "Please choose", &choices())], ""),
        asking("test_input_required_result_elicitation", vec![question("user_name", "What is your name?", &text())], "Hello!"),
        asking("test_input_required_result_request_state", confirm(), "state-ok"),
        asking("test_input_required_result_tampered_state", confirm(), ""),
        asking(
            "test_input_required_result_multi_round",
            vec![
                question("step1", "Step 1: What is your name?", &text()),
                question("step2", "Step 2: What is your favorite color?", &json!({"color": {"type": "string"}})),
            ],
            "",
        ),
    ]
}
