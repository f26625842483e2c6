//! The outcome of a call in a few words, from its details or the size of its text.

use haft_contract::{Content, ToolOutput};
use haft_text::display;
use haft_text::numbers::{count, size};
use serde_json::Value;

/// A one-line result up to this length is its own summary.
const SHORT: usize = 48;

/// Facts about the outcome, the most important first.
pub fn facts(output: &ToolOutput) -> Vec<String> {
    let details = output.details.as_ref().unwrap_or(&Value::Null);
    let known = [exit_facts, response_facts, read_facts, write_facts, search_facts].into_iter().find_map(|known| known(details, output));
    known.unwrap_or_else(|| vec![content(output)])
}

fn exit_facts(details: &Value, output: &ToolOutput) -> Option<Vec<String>> {
    let code = details["exit_code"].as_i64()?;
    Some(vec![format!("exit {code}"), content(output)])
}

fn response_facts(details: &Value, _: &ToolOutput) -> Option<Vec<String>> {
    let (status, received) = (details["status"].as_u64()?, details["bytes"].as_u64()?);
    let reason = details["reason"].as_str().map(|reason| format!(" {}", display::shorten(reason, SHORT))).unwrap_or_default();
    Some(vec![format!("{status}{reason}"), size(received)])
}

fn read_facts(details: &Value, _: &ToolOutput) -> Option<Vec<String>> {
    let first = match details.get("first_line")? {
        Value::Null => return Some(vec!["no lines".into()]),
        first => first.as_u64()?,
    };
    let last = details["last_line"].as_u64()?;
    let total = details["total_lines"].as_u64();
    Some(vec![match total {
        Some(total) if first == 1 && last >= total => count(total, "line"),
        Some(total) => format!("lines {first} to {last} of {total}"),
        None => format!("lines {first} to {last}"),
    }])
}

fn write_facts(details: &Value, _: &ToolOutput) -> Option<Vec<String>> {
    let (count, created) = (details["bytes"].as_u64()?, details["created"].as_bool()?);
    let how = match (created, details["mode"].as_str()) {
        (true, _) => Some("new file"),
        (false, Some("append")) => Some("appended"),
        (false, _) => None,
    };
    Some(std::iter::once(size(count)).chain(how.map(str::to_owned)).collect())
}

fn search_facts(details: &Value, _: &ToolOutput) -> Option<Vec<String>> {
    let hits = ["hits", "matches"].iter().find_map(|name| number(&details[*name]));
    let files = number(&details["files"]).map(|files| count(files, "file"));
    match (hits, files) {
        (Some(hits), Some(files)) => Some(vec![format!("{} in {files}", count(hits, "hit"))]),
        (Some(hits), None) => Some(vec![count(hits, "hit")]),
        (None, Some(files)) => Some(vec![files]),
        (None, None) => None,
    }
}

/// A number, or the length of a list.
fn number(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| value.as_array().map(|list| list.len() as u64))
}

/// The size of the content.
fn content(output: &ToolOutput) -> String {
    let pictures = output.content.iter().filter(|block| matches!(block, Content::Image { .. })).count() as u64;
    let texts: Vec<&str> = output.texts().map(str::trim_end).filter(|text| !text.trim().is_empty()).collect();
    match (texts.as_slice(), pictures) {
        ([], 0) => "no output".into(),
        ([], pictures) => count(pictures, "picture"),
        ([text], 0) if text.chars().nth(SHORT).is_none() && !text.contains('\n') => display::escape_line(text.trim()).into_owned(),
        (texts, _) => count(texts.iter().map(|text| text.lines().count()).sum::<usize>(), "line"),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn outcome_facts_come_from_details_or_text() {
        let lines = |first: Value, last: Value, total: Value| json!({"first_line": first, "last_line": last, "total_lines": total});
        for (details, text, expected) in [
            (lines(json!(1), json!(120), json!(120)), "", &["120 lines"][..]),
            (lines(json!(1), json!(1), json!(1)), "", &["1 line"]),
            (lines(json!(101), json!(200), json!(500)), "", &["lines 101 to 200 of 500"]),
            (lines(json!(1), json!(100), Value::Null), "", &["lines 1 to 100"]),
            (lines(Value::Null, Value::Null, json!(0)), "", &["no lines"]),
            (json!({"bytes": 1, "created": true, "mode": "overwrite"}), "", &["1 byte", "new file"]),
            (json!({"bytes": 999, "created": false, "mode": "append"}), "", &["999 bytes", "appended"]),
            (json!({"bytes": 12_345, "created": false, "mode": "overwrite"}), "", &["12.1 KB"]),
            (json!({"status": 200, "reason": "OK", "bytes": 3_000_000}), "", &["200 OK", "2.9 MB"]),
            (json!({"status": 404, "reason": null, "bytes": 0}), "", &["404", "0 bytes"]),
            (json!({"exit_code": 0}), "a\nb\n", &["exit 0", "2 lines"]),
            (json!({"exit_code": 101}), "", &["exit 101", "no output"]),
            (json!({"hits": 3, "files": ["a", "b"]}), "", &["3 hits in 2 files"]),
            (json!({"matches": 1}), "", &["1 hit"]),
            (json!({"files": 7}), "", &["7 files"]),
            (json!({"timezone": "UTC"}), "2026-02-26T01:15:30.000Z", &["2026-02-26T01:15:30.000Z"]),
            (json!({"status": "fine"}), " a\u{1b}b \n", &["a\\u{1b}b"]),
            (Value::Null, &"long ".repeat(20), &["1 line"]),
            (Value::Null, " \n", &["no output"]),
        ] {
            let output = ToolOutput::text(text).with_details(details.clone());
            assert_eq!(facts(&output), expected, "{details} {text:?}");
        }
        assert_eq!(facts(&ToolOutput::default().with_image("image/png", vec![1])), ["1 picture"]);
    }
}
