//! Questions to the user at the terminal: those of MCP servers, labelled with the server's name, and those of tools.

use haft_contract::ports::{UserQuestion, UserQuestions, UserReply};
use haft_contract::{BoxFuture, CallInfo, ToolError};
use haft_mcp::client::Elicitor;
use haft_text::display;
use inquire::{Confirm, MultiSelect, Select, Text};
use serde_json::{Map, Value, json};

use crate::output::note;
use crate::terminal::{reading_keys, stop_waiting};

/// Fields of one question.
const MAX_FIELDS: usize = 20;

/// Asks at the terminal; one question at a time.
pub(super) struct TerminalElicitor;

static ASKING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

impl Elicitor for TerminalElicitor {
    fn ask<'a>(&'a self, server: &'a str, message: &'a str, schema: &'a Value) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move {
            let heading = format!("The MCP server '{server}' asks: {}", display::shorten(message, 1_000));
            let note = "What you answer is sent to the server. Never give it a password.";
            ask(heading, Some(note), schema.clone()).await.map(Value::Object)
        })
    }
}

impl UserQuestions for TerminalElicitor {
    fn ask<'a>(&'a self, call: &'a CallInfo, question: &'a UserQuestion) -> BoxFuture<'a, Result<UserReply, ToolError>> {
        Box::pin(async move {
            let heading = format!("The tool {} asks: {}", call.tool, display::shorten(&question.message, 1_000));
            let answer = ask(heading, None, question.schema.clone()).await;
            Ok(answer.map_or(UserReply::Declined, UserReply::Answer))
        })
    }
}

async fn ask(heading: String, caution: Option<&'static str>, schema: Value) -> Option<Map<String, Value>> {
    let _turn = ASKING.lock().await;
    tokio::task::spawn_blocking(move || reading_keys(|| answers(&heading, caution, &schema))).await.ok().flatten()
}

/// The answers of the user; `None` as soon as they do not want to answer.
fn answers(heading: &str, caution: Option<&str>, schema: &Value) -> Option<Map<String, Value>> {
    stop_waiting();
    note(heading);
    if let Some(caution) = caution {
        note(caution);
    }
    if !Confirm::new("Answer it?").with_default(false).prompt().ok()? {
        return None;
    }
    let properties = schema["properties"].as_object()?;
    let answers = properties.iter().take(MAX_FIELDS).map(|(name, property)| Some((name.clone(), answer(name, property)?)));
    answers.collect()
}

/// A value that may be chosen, under the name that the user sees.
struct ChoiceLabel {
    value: Value,
    label: String,
}

impl std::fmt::Display for ChoiceLabel {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.label)
    }
}

fn choices(property: &Value) -> Option<Vec<ChoiceLabel>> {
    let labelled = |value: &Value, title: Option<&str>| ChoiceLabel {
        label: display::shorten(title.or_else(|| value.as_str()).unwrap_or_default(), 100).into_owned(),
        value: value.clone(),
    };
    if let Some(values) = property["enum"].as_array() {
        let titles = &property["enumNames"];
        return Some(values.iter().enumerate().map(|(at, value)| labelled(value, titles[at].as_str())).collect());
    }
    let titled = property["oneOf"].as_array().or_else(|| property["anyOf"].as_array())?;
    Some(titled.iter().map(|choice| labelled(&choice["const"], choice["title"].as_str())).collect())
}

fn answer(name: &str, property: &Value) -> Option<Value> {
    let about = property["description"].as_str().or_else(|| property["title"].as_str()).unwrap_or(name);
    let question = format!("{}:", display::shorten(about, 200));
    if let Some(choices) = choices(property) {
        return Some(Select::new(&question, choices).prompt().ok()?.value);
    }
    if property["type"] == "array" {
        let chosen = MultiSelect::new(&question, choices(&property["items"]).unwrap_or_default()).prompt().ok()?;
        return Some(chosen.into_iter().map(|choice| choice.value).collect());
    }
    if property["type"] == "boolean" {
        return Some(json!(Confirm::new(&question).with_default(property["default"].as_bool().unwrap_or(false)).prompt().ok()?));
    }
    let proposed = match &property["default"] {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let text = Text::new(&question).with_initial_value(&proposed).prompt().ok()?;
    match property["type"].as_str() {
        Some("integer") => text.trim().parse::<i64>().ok().map(|number| json!(number)),
        Some("number") => text.trim().parse::<f64>().ok().map(|number| json!(number)),
        _ => Some(json!(text)),
    }
}
