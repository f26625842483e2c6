//! What a plugin answers: one JSON object with `result` or `error`.

use haft_contract::json::parse_strict;
use haft_contract::{ErrorKind, JobEnd, ToolError};
use haft_text::display;
use serde_json::Value;

/// How much of output that is not understood is shown, in characters.
const SHOWN: usize = 200;

/// Reads the answer of a command that has ended.
pub(crate) fn read(plugin: &str, end: &JobEnd, output: &[u8], errors: &str) -> Result<Value, ToolError> {
    let with_errors =
        |message: String| if errors.is_empty() { message } else { format!("{message}\nIts standard error ends with:\n{errors}") };
    if let Some(why) = &end.not_run {
        return Err(ToolError::new(ErrorKind::SandboxUnavailable, format!("The plugin '{plugin}' was not run: {why}.")));
    }
    if end.timed_out {
        let message = format!("The plugin '{plugin}' was ended: it took longer than its manifest allows ('timeout').");
        return Err(ToolError::new(ErrorKind::Timeout, with_errors(message)));
    }
    if end.killed {
        return Err(ToolError::new(ErrorKind::Cancelled, with_errors(format!("The plugin '{plugin}' was ended before it was done."))));
    }
    match (parse(output), end.code) {
        (Ok(PluginReply::Error(message)), _) => Err(ToolError::execution(message)),
        (Ok(PluginReply::Result(value)), Some(0)) => Ok(value),
        (Err(problem), Some(0)) => {
            let shown = display::escape_bytes(output, SHOWN);
            let message = format!(
                "The plugin '{plugin}' {problem}. It must print one JSON object with 'result' or 'error', and nothing else. It printed: \
                 {shown}"
            );
            Err(ToolError::execution(with_errors(message)))
        }
        _ => Err(ToolError::execution(with_errors(format!("The plugin '{plugin}' failed: {end}.")))),
    }
}

#[derive(Debug, PartialEq)]
enum PluginReply {
    Result(Value),
    Error(String),
}

fn parse(output: &[u8]) -> Result<PluginReply, String> {
    let text = std::str::from_utf8(output).map_err(|error| format!("printed what is not JSON ({error})"))?;
    let mut values = serde_json::Deserializer::from_str(text).into_iter::<serde::de::IgnoredAny>();
    match values.next() {
        None => return Err("printed nothing".into()),
        Some(Ok(_)) if values.next().is_some() => return Err("printed more than one JSON value".into()),
        _ => {}
    }
    let value = parse_strict(text).map_err(|error| format!("printed what is not JSON ({error})"))?;
    let Value::Object(mut fields) = value else { return Err("printed JSON that is no object".into()) };
    match (fields.remove("result"), fields.remove("error")) {
        (Some(result), None) => Ok(PluginReply::Result(result)),
        (None, Some(Value::String(message))) if !message.trim().is_empty() => Ok(PluginReply::Error(message)),
        (None, Some(_)) => Err("gave an 'error' that is not a text".into()),
        (Some(_), Some(_)) => Err("gave both 'result' and 'error'".into()),
        (None, None) => Err("gave neither 'result' nor 'error'".into()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use serde_json::json;

    use super::*;

    #[test]
    fn replies_are_one_object_with_result_or_error() {
        for (output, expected) in [
            ("{\"result\": [1]}\n", Ok(PluginReply::Result(json!([1])))),
            ("{\"result\": null, \"more\": 1}", Ok(PluginReply::Result(Value::Null))),
            ("{\"error\": \"no\"}", Ok(PluginReply::Error("no".into()))),
            ("", Err("printed nothing")),
            ("  \n", Err("printed nothing")),
            ("hello", Err("printed what is not JSON (expected value at line 1 column 1)")),
            ("{\"result\": 1}{\"result\": 2}", Err("printed more than one JSON value")),
            ("{\"result\": 1} garbage", Err("printed more than one JSON value")),
            ("{\"result\": 1, \"result\": 2}", Err("printed what is not JSON (the key 'result' is given twice at line 1 column 26)")),
            ("[]", Err("printed JSON that is no object")),
            ("{\"error\": 5}", Err("gave an 'error' that is not a text")),
            ("{\"error\": \"a\", \"result\": 1}", Err("gave both 'result' and 'error'")),
            ("{}", Err("gave neither 'result' nor 'error'")),
        ] {
            assert_eq!(parse(output.as_bytes()), expected.map_err(str::to_owned), "{output}");
        }
        assert!(parse("[".repeat(100_000).as_bytes()).is_err(), "deep JSON is refused, not followed");
    }

    #[test]
    fn ends_have_their_own_kinds() {
        let end = JobEnd::unknown(SystemTime::UNIX_EPOCH);
        let kind = |end: JobEnd, output: &str| read("p", &end, output.as_bytes(), "trace").unwrap_err();
        let failed = kind(JobEnd { code: Some(1), ..end.clone() }, "{\"result\": 1}");
        assert_eq!(failed.message(), "The plugin 'p' failed: exit code 1.\nIts standard error ends with:\ntrace");
        assert_eq!(kind(JobEnd { code: Some(1), ..end.clone() }, "{\"error\": \"no such file\"}").message(), "no such file");
        assert_eq!(kind(JobEnd { timed_out: true, ..end.clone() }, "").kind(), ErrorKind::Timeout);
        assert_eq!(kind(JobEnd { killed: true, ..end.clone() }, "").kind(), ErrorKind::Cancelled);
        assert_eq!(
            kind(JobEnd { not_run: Some("x".into()), code: Some(0), ..end.clone() }, "{\"result\": 1}").kind(),
            ErrorKind::SandboxUnavailable
        );
        assert_eq!(kind(JobEnd { signal: Some(9), ..end.clone() }, "").message().lines().next(), Some("The plugin 'p' failed: signal 9."));
        assert_eq!(read("p", &JobEnd { code: Some(0), ..end }, b"{\"result\": 1}", "").unwrap(), json!(1));
    }
}
