//! Recorded effects as text.

use std::path::Path;

use serde_json::Value;

/// The kind of an effect and what it touches; paths in the workspace are shown relative to it.
pub fn describe(effect: &Value, workspace: &Path) -> (String, String) {
    let kind = field(effect, "effect");
    let target = match kind.as_str() {
        "read" | "write" | "delete" => path(effect, workspace),
        "exec" => command_words(effect).join(" "),
        "connect" => format!("{} {}:{}", field(effect, "method"), field(effect, "host"), field(effect, "port")),
        "send" => format!("{} to {}", field(effect, "channel"), field(effect, "to")),
        "node" => format!("{}:{} {}", field(effect, "node"), field(effect, "action"), field(effect, "target")).trim_end().to_owned(),
        "read_job" | "write_job" | "end_job" => format!("{} ({})", field(effect, "job"), field(effect, "command")),
        _ => ["agent", "key", "user", "why"].map(|name| field(effect, name)).concat(),
    };
    (kind, target)
}

/// All effects of a plan.
pub fn all(effects: &Value) -> &[Value] {
    effects.as_array().map_or(&[], Vec::as_slice)
}

fn path(effect: &Value, workspace: &Path) -> String {
    let path = field(effect, "path");
    let inside = Path::new(&path).strip_prefix(workspace).ok().filter(|rest| !rest.as_os_str().is_empty());
    let mut text = inside.map_or_else(|| path.clone(), |rest| rest.display().to_string());
    if effect["tree"] == true {
        text += "/**";
    }
    if effect["outside"] == true {
        text += " (outside the workspace)";
    }
    text
}

/// The words of a program that is run, each quoted for a shell.
pub fn command_words(effect: &Value) -> Vec<String> {
    let arguments = effect["arguments"].as_array().map_or(&[][..], Vec::as_slice);
    std::iter::once(field(effect, "program")).chain(arguments.iter().filter_map(|word| word.as_str().map(quote_word))).collect()
}

/// Quotes a word for a shell.
pub fn quote_word(word: &str) -> String {
    let plain = |ch: char| ch.is_alphanumeric() || "-_./:=@%+,".contains(ch);
    if !word.is_empty() && word.chars().all(plain) { word.to_owned() } else { format!("'{}'", word.replace('\'', "'\\''")) }
}

fn field(effect: &Value, name: &str) -> String {
    match &effect[name] {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_effect_is_described_by_its_target() {
        for (effect, kind, target) in [
            (json!({"effect": "read", "path": "/w/src/a.rs"}), "read", "src/a.rs"),
            (json!({"effect": "read", "path": "/w", "tree": true}), "read", "/w/**"),
            (json!({"effect": "write", "path": "/x", "outside": true}), "write", "/x (outside the workspace)"),
            (
                json!({"effect": "exec", "program": "/bin/echo", "arguments": ["a b", "c'd", "-n"], "directory": "/w"}),
                "exec",
                "/bin/echo 'a b' 'c'\\''d' -n",
            ),
            (json!({"effect": "connect", "host": "example.org", "port": 443, "method": "GET"}), "connect", "GET example.org:443"),
            (json!({"effect": "send", "channel": "desktop", "to": "me"}), "send", "desktop to me"),
            (json!({"effect": "unknown", "why": "no plan"}), "unknown", "no plan"),
            (json!({"effect": "write_job", "job": "job-1", "command": "cat"}), "write_job", "job-1 (cat)"),
            (json!({}), "", ""),
        ] {
            assert_eq!(describe(&effect, Path::new("/w")), (kind.to_owned(), target.to_owned()), "{effect}");
        }
    }
}
