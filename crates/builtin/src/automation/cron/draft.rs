//! The job that a call describes: flat, or in the nested objects that other systems taught models to write.

use std::fmt::Display;
use std::str::FromStr;
use std::time::Duration;

use haft_contract::ToolError;
use haft_contract::ports::{JobDraft, ScheduleText};
use serde_json::{Map, Value, json};

use super::Params;

/// Other names of fields, in lower case without separators.
const ALIASES: &[(&str, &str)] = &[
    ("expr", "cron"),
    ("expression", "cron"),
    ("cronexpression", "cron"),
    ("tz", "zone"),
    ("timezone", "zone"),
    ("text", "message"),
    ("task", "message"),
    ("prompt", "message"),
    ("sessiontarget", "session"),
    ("agentid", "agent"),
    ("timeoutseconds", "timeout_seconds"),
    ("timeout", "timeout_seconds"),
    ("deleteafterrun", "delete_after_run"),
    ("url", "to"),
    ("interval", "every"),
    ("everyms", "every_ms"),
    ("atms", "at_ms"),
    ("anchorms", "anchor_ms"),
    ("jobid", "id"),
];

/// The job of a call. What is said twice counts as it is written outermost.
pub(super) fn read(params: &Params) -> Result<JobDraft, ToolError> {
    let fields = fields(params)?;
    let text = |name: &str| text_of(&fields, name);
    let schedule = ScheduleText {
        at: match milliseconds(&fields, "at_ms")? {
            Some(at) => Some(moment(at)),
            None => text("at")?,
        },
        every: match milliseconds(&fields, "every_ms")? {
            Some(every) => Some(format!("{every}ms")),
            None => text("every")?,
        },
        anchor: milliseconds(&fields, "anchor_ms")?.map(moment),
        cron: text("cron")?,
        zone: text("zone")?,
    };
    Ok(JobDraft {
        name: text("name")?,
        schedule,
        task: text("message")?,
        target: parse_field(&fields, "session")?,
        session: None,
        agent: text("agent")?,
        model: text("model")?,
        timeout: seconds(&fields)?,
        delivery: parse_field(&fields, "delivery")?,
        channel: text("channel")?,
        to: text("to")?,
        missed: parse_field(&fields, "missed")?,
        overlap: parse_field(&fields, "overlap")?,
        enabled: flag(&fields, "enabled")?,
        delete_after_run: flag(&fields, "delete_after_run")?,
    })
}

/// The id of a job that is in the object.
pub(super) fn has_id(params: &Params) -> Option<&str> {
    let objects = [&params.patch, &params.job];
    objects.into_iter().flatten().find_map(|object| object.get("id").or_else(|| object.get("jobId"))?.as_str())
}

/// Every field under its own name.
fn fields(params: &Params) -> Result<Map<String, Value>, ToolError> {
    let mut fields = Map::new();
    for object in [&params.job, &params.patch, &params.schedule, &params.payload].into_iter().flatten() {
        gather(object, &mut fields)?;
    }
    let Value::Object(flat) = json!(params) else { return Ok(fields) };
    let nested = ["job", "patch", "schedule", "payload", "action", "mode", "limit", "include_disabled", "id"];
    for (name, value) in flat.into_iter().filter(|(name, value)| !value.is_null() && !nested.contains(&name.as_str())) {
        fields.insert(name, value);
    }
    Ok(fields)
}

fn gather(object: &Map<String, Value>, fields: &mut Map<String, Value>) -> Result<(), ToolError> {
    for (name, value) in object {
        let plain: String = name.chars().filter(char::is_ascii_alphanumeric).collect::<String>().to_lowercase();
        match (plain.as_str(), value) {
            (_, Value::Null) | ("kind", _) => {}
            ("schedule", Value::String(text)) => {
                let (name, text) = schedule_text(text);
                fields.insert(name.into(), json!(text));
            }
            ("schedule" | "payload", Value::Object(nested)) => gather(nested, fields)?,
            ("delivery", Value::Object(nested)) => {
                gather(nested, fields)?;
                if let Some(mode) = fields.remove("mode") {
                    fields.insert("delivery".into(), mode);
                }
            }
            ("schedule" | "payload", _) => return Err(ToolError::validation(format!("Parameter '{name}' must be an object."))),
            (plain, value) => {
                let known = ALIASES.iter().find(|(alias, _)| *alias == plain).map(|(_, name)| (*name).to_owned());
                fields.insert(known.unwrap_or_else(|| name.to_lowercase()), value.clone());
            }
        }
    }
    Ok(())
}

/// A schedule in one text: an expression has five fields or more, an interval begins with 'every'.
fn schedule_text(text: &str) -> (&'static str, &str) {
    let trimmed = text.trim();
    if trimmed.starts_with('@') || trimmed.split_whitespace().count() >= 5 {
        ("cron", trimmed)
    } else if trimmed.to_lowercase().starts_with("every") {
        ("every", trimmed)
    } else {
        ("at", trimmed)
    }
}

/// Milliseconds since 1970 as a text that is read again.
fn moment(milliseconds: i64) -> String {
    jiff::Timestamp::from_millisecond(milliseconds).map_or_else(|_| milliseconds.to_string(), |at| at.to_string())
}

fn text_of(fields: &Map<String, Value>, name: &str) -> Result<Option<String>, ToolError> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(Value::Number(number)) => Ok(Some(number.to_string())),
        Some(other) => Err(wrong(name, "text", other)),
    }
}

/// A number, also as text.
fn milliseconds(fields: &Map<String, Value>, name: &str) -> Result<Option<i64>, ToolError> {
    let Some(value) = fields.get(name) else { return Ok(None) };
    let number = value.as_i64().or_else(|| value.as_str()?.trim().parse().ok());
    number.map(Some).ok_or_else(|| wrong(name, "a number of milliseconds", value))
}

fn flag(fields: &Map<String, Value>, name: &str) -> Result<Option<bool>, ToolError> {
    match fields.get(name) {
        None => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(Value::String(text)) if ["true", "false"].contains(&text.as_str()) => Ok(Some(text == "true")),
        Some(other) => Err(wrong(name, "true or false", other)),
    }
}

fn seconds(fields: &Map<String, Value>) -> Result<Option<Duration>, ToolError> {
    let Some(value) = fields.get("timeout_seconds") else { return Ok(None) };
    let seconds = value.as_u64().or_else(|| value.as_str()?.trim().parse().ok());
    seconds.map(|seconds| Some(Duration::from_secs(seconds))).ok_or_else(|| wrong("timeout_seconds", "a number of seconds", value))
}

fn parse_field<T: FromStr>(fields: &Map<String, Value>, name: &str) -> Result<Option<T>, ToolError>
where
    T::Err: Display,
{
    let Some(text) = text_of(fields, name)? else { return Ok(None) };
    let read = text.trim().to_lowercase().parse();
    read.map(Some).map_err(|error: T::Err| ToolError::validation(format!("Parameter '{name}': {error}.")))
}

fn wrong(name: &str, expected: &str, value: &Value) -> ToolError {
    let shown: String = value.to_string().chars().take(60).collect();
    ToolError::validation(format!("Parameter '{name}' must be {expected}; {shown} is not that."))
}
