//! The arguments of a call as history keeps them: shortened, and without secrets.

use std::borrow::Cow;

use haft_contract::Arguments;
use haft_redact::{may_hold_secret, redact};
use haft_text::secrets::names_secret;
use haft_text::truncate::first_bytes;
use serde_json::{Map, Value, json};

/// How many bytes of one string history keeps.
const STRING_BYTES: usize = 1024;
/// How many items of a list or keys of an object it keeps.
const MAX_ITEMS: usize = 100;
/// What stands between the head of a string and its whole length.
const MORE: &str = "… (";

/// The arguments of a call after its tool has taken them. Text is parsed again only when someone looks: after the call,
/// mostly.
#[derive(Debug, Clone)]
pub(crate) enum RecordedArguments {
    /// As they came, whatever they are.
    Text(String),
    /// As they came: one JSON object.
    Checked(String),
    Whole(Value),
    Excerpt(Value),
}

/// How much of the arguments must be there later.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Retention {
    /// All: a user may be asked, or a hook told.
    Whole,
    /// What history keeps.
    Excerpt,
}

impl Default for RecordedArguments {
    fn default() -> Self {
        Self::Excerpt(Value::Null)
    }
}

impl From<Arguments> for RecordedArguments {
    fn from(arguments: Arguments) -> Self {
        match arguments {
            Arguments::Text(text) => Self::Text(text),
            Arguments::Json(value) => Self::Whole(value),
        }
    }
}

impl RecordedArguments {
    /// Keeps the text that they came as where it says the same; else a copy, with long strings cut where they are not needed,
    /// so that a huge call is not copied.
    pub(crate) fn new(text: Option<String>, value: &Value, retention: Retention) -> Self {
        match text {
            Some(text) if retention == Retention::Whole || text.len() <= STRING_BYTES => Self::Checked(text),
            _ if retention == Retention::Whole => Self::Whole(value.clone()),
            _ => Self::Excerpt(excerpt(value)),
        }
    }
    pub(crate) fn into_value(self) -> Value {
        match self {
            Self::Text(text) | Self::Checked(text) if text.trim().is_empty() => Value::Object(Map::new()),
            Self::Text(text) | Self::Checked(text) => serde_json::from_str(&text).unwrap_or(Value::String(text)),
            Self::Whole(value) | Self::Excerpt(value) => value,
        }
    }
    /// As history keeps them.
    pub(super) fn into_json(self) -> String {
        match self {
            Self::Checked(text) if !text.trim().is_empty() && is_plain(&text) => text,
            Self::Excerpt(value) => redacted(value).to_string(),
            whole => redacted(excerpt(&whole.into_value())).to_string(),
        }
    }
}

/// JSON as history keeps it. Nearly always that is the text itself, which is seen without reading it.
pub(super) fn redacted_json(written: serde_json::Result<String>) -> String {
    match written {
        Ok(text) if is_plain(&text) => text,
        Ok(text) => redacted(serde_json::from_str(&text).unwrap_or_default()).to_string(),
        Err(_) => Value::Null.to_string(),
    }
}

/// Whether nothing in a JSON text is cut or redacted: it is short, nothing in it begins like a secret or names one, and no escape hides
/// what its strings are.
fn is_plain(json: &str) -> bool {
    let items = || json.bytes().filter(|byte| *byte == b',').count();
    json.len() <= STRING_BYTES && !json.contains('\\') && items() < MAX_ITEMS && !names_secret(json) && !may_hold_secret(json)
}

/// A copy with long strings cut.
pub(super) fn excerpt(value: &Value) -> Value {
    match value {
        // Twice as much as is kept: a secret across the border must be seen whole before it is cut.
        Value::String(text) if text.len() > 2 * STRING_BYTES => {
            Value::String(format!("{}{MORE}{} bytes)", first_bytes(text, 2 * STRING_BYTES), text.len()))
        }
        Value::Array(items) => {
            let more = (items.len() > MAX_ITEMS).then(|| json!(format!("… ({} items)", items.len())));
            items.iter().take(MAX_ITEMS).map(excerpt).chain(more).collect()
        }
        Value::Object(map) => {
            let more = (map.len() > MAX_ITEMS).then(|| ("…".to_owned(), json!(format!("({} keys)", map.len()))));
            Value::Object(map.iter().take(MAX_ITEMS).map(|(key, value)| (key.clone(), excerpt(value))).chain(more).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}

/// The value without secrets in any of its strings.
pub(crate) fn redacted(mut value: Value) -> Value {
    match &mut value {
        Value::String(text) => {
            if let Cow::Owned(clean) = redact(text) {
                *text = clean;
            }
            if let Some(short) = clipped(text) {
                *text = short;
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| *item = redacted(item.take())),
        Value::Object(map) => map.iter_mut().for_each(|(key, item)| {
            let secret = item.is_string() && names_secret(key);
            *item = if secret { json!("[redacted:credential]") } else { redacted(item.take()) };
        }),
        _ => {}
    }
    value
}

/// The head that history keeps of a string, after redaction.
fn clipped(text: &str) -> Option<String> {
    if text.len() <= STRING_BYTES {
        return None;
    }
    let (body, whole) = text.rsplit_once(MORE).map_or((text, None), |(body, whole)| (body, Some(whole)));
    let whole = || whole.map_or_else(|| format!("{} bytes)", text.len()), str::to_owned);
    (body.len() > STRING_BYTES).then(|| format!("{}{MORE}{}", first_bytes(body, STRING_BYTES), whole()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_across_the_cut_is_not_kept_in_part() {
        let token = "ghp_0123456789abcdefghijklmnopqrstuvwxyz";
        for before in [1000, 1010, 1020, 2040] {
            let text = format!("{} {token} {}", "x".repeat(before), "y ".repeat(3000));
            let kept = redacted(excerpt(&json!(text)));
            assert!(!kept.as_str().unwrap().contains("ghp_"), "{before}");
        }
    }

    #[test]
    fn text_is_kept_as_it_is_where_reading_it_would_change_nothing() {
        let long = format!(r#"{{"a":"{}"}}"#, "x".repeat(1100));
        let many = serde_json::to_string(&vec![1; 101]).unwrap();
        for (text, is_same) in [
            (r#"{"path": "src/main.rs", "limit":5}"#, true),
            ("{}", true),
            (r#"{"key":"ghp_0123456789abcdefghijklmnopqrstuvwxyz"}"#, false),
            (r#"{"key":"\u0067hp_0123456789abcdefghijklmnopqrstuvwxyz"}"#, false),
            (r#"{"password":"short"}"#, false),
            (&long, false),
            (&many, false),
        ] {
            let slow = redacted(excerpt(&serde_json::from_str(text).unwrap())).to_string();
            let kept = RecordedArguments::Checked(text.to_owned()).into_json();
            assert_eq!((kept == text, serde_json::from_str::<Value>(&kept).unwrap().to_string()), (is_same, slow), "{text}");
        }
        assert_eq!(RecordedArguments::Checked(" ".into()).into_json(), "{}");
        assert_eq!(RecordedArguments::Text("{oops".into()).into_json(), r#""{oops""#);
    }

    #[test]
    fn history_keeps_heads_and_no_secrets() {
        let value = json!({
            "key": "sk-ant-api03-abcdefghijklmnop", "content": "x".repeat(5000), "n": 5, "max_tokens": 7,
            "headers": {"Authorization": "Basic dXNlcjpwYXNz", "X-Api-Key": "short", "Accept": "text/html"}
        });
        let kept = redacted(excerpt(&value));
        assert_eq!(kept["key"], "[redacted:anthropic_key]");
        assert_eq!((&kept["n"], &kept["max_tokens"]), (&json!(5), &json!(7)));
        let hidden = "[redacted:credential]";
        assert_eq!(kept["headers"], json!({"Authorization": hidden, "X-Api-Key": hidden, "Accept": "text/html"}));
        assert_eq!(kept["content"].as_str().unwrap(), format!("{}… (5000 bytes)", "x".repeat(1024)));
    }
}
