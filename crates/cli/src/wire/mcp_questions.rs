//! Questions of MCP servers, asked at the terminal and labelled with the server's name.

use haft_contract::BoxFuture;
use haft_mcp::client::Elicitor;
use haft_text::display;
use inquire::{Confirm, Select, Text};
use serde_json::{Map, Value, json};

use crate::output::note;
use crate::terminal::stop_waiting;

/// Fields of one question.
const MAX_FIELDS: usize = 20;

/// Asks at the terminal; one question at a time.
pub(super) struct TerminalElicitor;

static ASKING: tokio::sync::Mutex<()> = tokio::sync::Mutex::const_new(());

impl Elicitor for TerminalElicitor {
    fn ask<'a>(&'a self, server: &'a str, message: &'a str, schema: &'a Value) -> BoxFuture<'a, Option<Value>> {
        Box::pin(async move {
            let _turn = ASKING.lock().await;
            let (server, message, schema) = (server.to_owned(), message.to_owned(), schema.clone());
            tokio::task::spawn_blocking(move || answers(&server, &message, &schema)).await.ok().flatten()
        })
    }
}

/// The answers of the user; `None` as soon as they do not want to answer.
fn answers(server: &str, message: &str, schema: &Value) -> Option<Value> {
    stop_waiting();
    note(&format!("The MCP server '{server}' asks: {}", display::shorten(message, 1_000)));
    note("What you answer is sent to the server. Never give it a password.");
    if !Confirm::new("Answer it?").with_default(false).prompt().ok()? {
        return None;
    }
    let properties = schema["properties"].as_object()?;
    let answers = properties.iter().take(MAX_FIELDS).map(|(name, property)| Some((name.clone(), answer(name, property)?)));
    answers.collect::<Option<Map<String, Value>>>().map(Value::Object)
}

fn answer(name: &str, property: &Value) -> Option<Value> {
    let about = property["description"].as_str().or_else(|| property["title"].as_str()).unwrap_or(name);
    let question = format!("{}:", display::shorten(about, 200));
    if let Some(choices) = property["enum"].as_array() {
        let choices: Vec<String> = choices.iter().filter_map(|choice| choice.as_str().map(str::to_owned)).collect();
        return Some(json!(Select::new(&question, choices).prompt().ok()?));
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
