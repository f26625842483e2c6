//! The message types of the official SDKs, as validators of requests.

use std::io::Write;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

use super::installed::{folder, source};

/// A request body, and where it comes from.
pub(super) fn entry(protocol: &str, source: &str, body: &Value) -> Value {
    json!({"protocol": protocol, "source": source, "body": body})
}

/// Fails with everything that is wrong with these bodies.
pub(super) fn assert_valid(entries: &[Value]) {
    let output = validate(entries);
    let verdicts = verdicts(&output);
    let faulty: Vec<&Value> = verdicts.iter().filter(|verdict| verdict["faults"] != json!([])).collect();
    assert!(output.status.success() && faulty.is_empty(), "{faulty:#?}\n{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(verdicts.len(), entries.len(), "each body has its verdict");
}

fn verdicts(output: &Output) -> Vec<Value> {
    String::from_utf8_lossy(&output.stdout).lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn validate(entries: &[Value]) -> Output {
    // Without bytecode beside the script, which is in the repository.
    let mut command = Command::new(folder().join("python/bin/python"));
    command.arg("-B").arg(source("validate.py")).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut process = command.spawn().unwrap();
    let lines = entries.iter().fold(String::new(), |lines, entry| lines + &format!("{entry}\n"));
    let mut input = process.stdin.take().unwrap();
    // A validator that stops early says why on its standard error.
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()).ok());
    let output = process.wait_with_output().unwrap();
    writer.join().unwrap();
    output
}

#[test]
fn validator_reports_each_fault_with_its_path() {
    let call = json!({"id": "c", "type": "function", "function": {"name": "f", "arguments": {}}});
    let cases = [
        (
            entry("openai", "a", &json!({"model": "m", "stream": true, "messages": [{"role": "assistant", "tool_calls": [call]}]})),
            "messages[].tool_calls[].function.arguments is {} and not str",
        ),
        (
            entry("openai-responses", "b", &json!({"model": "m", "stream": true, "input": [{"type": "message", "role": "user"}]})),
            "input[].content is missing",
        ),
        (
            entry("anthropic", "c", &json!({"model": "m", "stream": true, "max_tokens": 1, "messages": [], "tool": []})),
            "tool is no key of MessageCreateParamsStreaming",
        ),
        (
            entry("gemini", "d", &json!({"contents": [{"role": "user", "parts": [{"text": "a", "thought_signature": "AAAA"}]}]})),
            "contents[].parts[].thought_signature is no key of Part",
        ),
    ];
    let output = validate(&cases.each_ref().map(|(entry, _)| entry.clone()));
    let found: Vec<Value> = verdicts(&output).into_iter().map(|verdict| verdict["faults"].clone()).collect();
    assert_eq!(found, cases.each_ref().map(|(_, fault)| json!([fault])), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(output.status.code(), Some(1));
}
