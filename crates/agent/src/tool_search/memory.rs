//! Which tools a conversation has found, as its messages remember it: calls, results of `tool_search`, and the line that a summary has.

use haft_provider::{Block, ResultPart};
use serde_json::Value;

use super::NAME;

/// The beginning of the line in a summary.
const HEADING: &str = "[Tools that tool_search has found: ";

/// The line that names these tools.
pub(super) fn line(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!("\n\n{HEADING}{}]", names.join(", ")) }
}

/// The tools that a block names.
pub(super) fn names_in(block: &Block) -> Vec<String> {
    match block {
        Block::Call { name, .. } => vec![name.clone()],
        Block::Result { name, content, is_error: false, .. } if name == NAME => content.iter().flat_map(read_matches).collect(),
        Block::Text { text, .. } => {
            text.lines().filter_map(|line| line.strip_prefix(HEADING)?.strip_suffix(']')).flat_map(listed).collect()
        }
        _ => Vec::new(),
    }
}

fn listed(names: &str) -> Vec<String> {
    names.split(", ").map(str::to_owned).collect()
}

fn read_matches(part: &ResultPart) -> Vec<String> {
    let ResultPart::Text { text } = part else { return Vec::new() };
    let Ok(value) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    // The report itself, or in its envelope, as data or as text.
    let inner = value["result"].as_str().and_then(|text| serde_json::from_str::<Value>(text).ok());
    let reports = [Some(&value), value.get("result"), inner.as_ref()];
    let matches = reports.into_iter().flatten().find_map(|report| report["matches"].as_array());
    matches.into_iter().flatten().filter_map(|name| name.as_str().map(str::to_owned)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn found_tools_are_read_back_from_results_and_summaries() {
        let result = |text: &str| Block::Result {
            id: "1".into(),
            name: NAME.into(),
            content: vec![ResultPart::Text { text: text.into() }],
            is_error: false,
        };
        let report = r#"{"matches":["a","b"],"query":"x"}"#;
        let envelope = serde_json::json!({"status": "success", "result": report}).to_string();
        for text in [report, r#"{"status":"success","result":{"matches":["a","b"]}}"#, envelope.as_str()] {
            assert_eq!(names_in(&result(text)), ["a", "b"], "{text}");
        }
        let summary = format!("It was done.{}", line(&["a".into(), "b".into()]));
        assert_eq!(names_in(&Block::text(summary)), ["a", "b"]);
        assert_eq!((names_in(&Block::text("hi")), line(&[])), (Vec::<String>::new(), String::new()));
    }
}
