//! A call, its one result, and the JSON envelope in which the model gets it.

use std::borrow::Cow;
use std::time::Duration;

use serde::ser::SerializeMap;
use serde::{Serialize, Serializer};
use serde_json::Value;

use crate::{Content, ToolError, ToolOutput};

/// Arguments as they arrived: some providers send text, some a value. Parsed once, in the arguments stage.
#[derive(Debug, Clone, PartialEq)]
pub enum Arguments {
    /// Text that should hold a JSON object; empty means none.
    Text(String),
    /// A value that was parsed already.
    Json(Value),
}

impl From<Value> for Arguments {
    fn from(value: Value) -> Self {
        Self::Json(value)
    }
}
impl From<&str> for Arguments {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}
impl From<String> for Arguments {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

/// The model asks for a tool.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolCall {
    /// The provider's id of this call; results carry it back.
    pub id: String,
    /// The tool, as the model spelled it.
    pub name: String,
    /// The arguments, as they came.
    pub arguments: Arguments,
}

impl ToolCall {
    /// A call.
    pub fn new(id: impl Into<String>, name: impl Into<String>, arguments: impl Into<Arguments>) -> Self {
        Self { id: id.into(), name: name.into(), arguments: arguments.into() }
    }
}

/// The one result of one call.
#[derive(Debug)]
pub struct ToolResult {
    /// The id of the call.
    pub call_id: String,
    /// The canonical name of the tool, or the model's spelling when there is no such tool.
    pub tool: Cow<'static, str>,
    /// What came of it.
    pub outcome: Result<ToolOutput, ToolError>,
    /// How long it took, from the first stage to the last.
    pub elapsed: Duration,
    /// The text that is stored in place of the outcome's, if a hook rewrote or withheld it.
    pub stored: Option<String>,
}

impl ToolResult {
    /// Whether the call worked.
    pub fn is_success(&self) -> bool {
        self.outcome.is_ok()
    }
    /// The details for people, of a success or a failure.
    pub fn details(&self) -> Option<&Value> {
        match &self.outcome {
            Ok(output) => output.details.as_ref(),
            Err(error) => error.details(),
        }
    }
    /// What the model gets: `{"status":"success","result":…}` or `{"status":"error","error_type":…,"message":…}`.
    pub fn envelope(&self) -> Envelope<'_> {
        Envelope(self)
    }
    /// The envelope as text.
    pub fn to_json(&self) -> String {
        encode_envelope(&self.envelope())
    }
    /// The envelope as a transcript stores it: with the text of a hook, where a hook rewrote it.
    pub fn stored_json(&self) -> String {
        let Some(stored) = &self.stored else { return self.to_json() };
        match &self.outcome {
            Ok(_) => encode_envelope(&serde_json::json!({"status": "success", "result": stored})),
            Err(error) => encode_envelope(&serde_json::json!({"status": "error", "error_type": error.kind().as_str(), "message": stored})),
        }
    }
}

fn encode_envelope(envelope: &impl Serialize) -> String {
    // Strings and fixed keys only: this cannot fail, and the fallback is still a well-formed answer.
    serde_json::to_string(envelope)
        .unwrap_or_else(|_| r#"{"status":"error","error_type":"execution_error","message":"The result could not be written."}"#.into())
}

/// The envelope of a result; borrows, so that large results are not copied before they are written.
#[derive(Debug, Clone, Copy)]
pub struct Envelope<'a>(&'a ToolResult);

impl Serialize for Envelope<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0.outcome {
            Ok(output) => {
                let mut map = serializer.serialize_map(Some(2))?;
                map.serialize_entry("status", "success")?;
                map.serialize_entry("result", &joined(output))?;
                map.end()
            }
            Err(error) => {
                let mut map = serializer.serialize_map(Some(3))?;
                map.serialize_entry("status", "error")?;
                map.serialize_entry("error_type", error.kind().as_str())?;
                map.serialize_entry("message", error.message())?;
                map.end()
            }
        }
    }
}

/// The text of an output; borrowed when there is one block, which is nearly always.
fn joined(output: &ToolOutput) -> Cow<'_, str> {
    match output.content.as_slice() {
        [] => Cow::Borrowed(""),
        [Content::Text(text)] => Cow::Borrowed(text),
        _ => Cow::Owned(output.texts().collect::<Vec<_>>().join("\n")),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::ErrorKind;

    fn result(outcome: Result<ToolOutput, ToolError>) -> ToolResult {
        ToolResult { call_id: "1".into(), tool: "t".into(), outcome, elapsed: Duration::ZERO, stored: None }
    }

    #[test]
    fn success_and_error_have_the_seeds_shape() {
        let success = result(Ok(ToolOutput::text("hi").with_details(json!({"secret": 1}))));
        assert_eq!(success.to_json(), r#"{"status":"success","result":"hi"}"#);
        let failure = result(Err(ToolError::new(ErrorKind::Timeout, "late").with_details(json!(1))));
        assert_eq!(failure.to_json(), r#"{"status":"error","error_type":"timeout","message":"late"}"#);
    }

    #[test]
    fn several_blocks_are_joined_and_pictures_left_to_the_provider() {
        let mut output = ToolOutput::text("a").with_image("image/png", vec![1]);
        output.content.push(Content::Text("b".into()));
        assert_eq!(result(Ok(output)).to_json(), r#"{"status":"success","result":"a\nb"}"#);
        assert_eq!(result(Ok(ToolOutput::default())).to_json(), r#"{"status":"success","result":""}"#);
    }
}
