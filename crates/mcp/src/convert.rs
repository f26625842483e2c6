//! Our definitions and results in the form of the protocol.

use haft_contract::{Content, Dialect, DocumentBody, EmbeddedDocument, ToolDefinition, ToolError, ToolOutput, ToolResult};
use haft_text::base64;
use rmcp::model::{
    Annotations, CallToolResult, ContentBlock, JsonObject, MetaObject, Resource, ResourceContents, Role, TextContent, Tool, ToolAnnotations,
};
use serde_json::Value;

/// The key of the kind of an error in `_meta`.
const ERROR_TYPE: &str = "haft/error_type";

/// A tool as clients are shown it.
pub(crate) fn tool(definition: &ToolDefinition, dialect: Dialect) -> Tool {
    let form = definition.in_dialect(dialect);
    let parameters = object(form.parameters.into_owned());
    let mut tool = Tool::new(form.name.to_owned(), form.description.to_owned(), parameters)
        .with_title(definition.label.as_ref())
        .with_annotations(annotations(definition));
    if let Some(schema) = output_schema(definition) {
        tool = tool.with_raw_output_schema(object(schema.clone()).into());
    }
    tool
}

/// The schema of structured results. The protocol takes objects alone.
pub(crate) fn output_schema(definition: &ToolDefinition) -> Option<&Value> {
    definition.output.as_deref().filter(|schema| schema["type"] == "object")
}

pub(crate) fn annotations(definition: &ToolDefinition) -> ToolAnnotations {
    let hints = definition.hints;
    ToolAnnotations::with_title(definition.label.as_ref())
        .read_only(hints.read_only)
        .destructive(hints.destructive)
        .idempotent(hints.idempotent)
        .open_world(hints.open_world)
}

fn object(value: Value) -> JsonObject {
    match value {
        Value::Object(object) => object,
        _ => JsonObject::new(),
    }
}

/// Whether a result carries structured content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ResultShape {
    Plain,
    /// Its details are the structured content.
    Structured,
    /// The structured content of another server's result is in its details: its schema describes that alone.
    Foreign,
}

/// The key of the structured content of another server in the details of a result.
pub(crate) const FOREIGN: &str = "structured";

/// The result of a call. Links lead to what was cut from it.
pub(crate) fn call_result(result: ToolResult, shape: ResultShape, links: Vec<Resource>) -> CallToolResult {
    match result.outcome {
        Ok(output) => succeeded(output, shape, links),
        Err(error) => failed(&error),
    }
}

fn succeeded(output: ToolOutput, shape: ResultShape, links: Vec<Resource>) -> CallToolResult {
    let blocks = output.content.into_iter().filter_map(block);
    let mut result = CallToolResult::success(blocks.chain(links.into_iter().map(ContentBlock::resource_link)).collect());
    result.structured_content = match shape {
        ResultShape::Plain => None,
        ResultShape::Structured => output.details,
        ResultShape::Foreign => output.details.and_then(|mut details| details.get_mut(FOREIGN).map(Value::take)),
    };
    result
}

fn failed(error: &ToolError) -> CallToolResult {
    let mut blocks = vec![ContentBlock::text(error.message())];
    let advice = error.details().and_then(|details| details["to_change"].as_str());
    // The model cannot follow it: only the user changes the configuration.
    blocks.extend(advice.map(|advice| {
        let audience = Annotations::default().with_audience(vec![Role::User]);
        ContentBlock::Text(TextContent::new(format!("For the user: {advice}")).with_annotations(audience))
    }));
    let mut result = CallToolResult::error(blocks);
    let kind = Value::from(error.kind().as_str());
    result.meta = Some(MetaObject(JsonObject::from_iter([(ERROR_TYPE.to_owned(), kind)])));
    result
}

/// A block of content; `None` for kinds that the protocol does not have.
pub(crate) fn block(content: Content) -> Option<ContentBlock> {
    Some(match content {
        Content::Text(text) => ContentBlock::text(text),
        Content::Image { mime, data } => ContentBlock::image(base64::encode(&data), mime),
        Content::Audio { mime, data } => ContentBlock::audio(base64::encode(&data), mime),
        Content::Document(document) => ContentBlock::resource(contents(document)),
        _ => return None,
    })
}

/// The contents of a document.
pub(crate) fn contents(document: EmbeddedDocument) -> ResourceContents {
    let contents = match document.body {
        DocumentBody::Text(text) => ResourceContents::text(text, document.uri),
        DocumentBody::Bytes(bytes) => ResourceContents::blob(base64::encode(&bytes), document.uri),
    };
    match document.mime {
        Some(mime) => contents.with_mime_type(mime),
        None => contents,
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use haft_contract::ErrorKind;
    use serde_json::json;

    use super::*;

    fn converted(outcome: Result<ToolOutput, ToolError>, shape: ResultShape) -> Value {
        let result = ToolResult { call_id: "c".into(), tool: "t".into(), outcome, elapsed: Duration::ZERO, stored: None };
        serde_json::to_value(call_result(result, shape, Vec::new())).unwrap()
    }

    #[test]
    fn tool_has_title_hints_and_schemas() {
        let mut definition = ToolDefinition::new("look", "Looks.", json!({"type": "object", "properties": {"at": {"type": "string"}}}));
        definition.label = "Look".into();
        definition.hints.read_only = true;
        definition.output = Some(json!({"type": "object"}).into());
        let expected = json!({
            "name": "look", "title": "Look", "description": "Looks.",
            "inputSchema": {"type": "object", "properties": {"at": {"type": "string"}}},
            "outputSchema": {"type": "object"},
            "annotations": {
                "title": "Look", "readOnlyHint": true, "destructiveHint": false, "idempotentHint": false, "openWorldHint": false,
            },
        });
        assert_eq!(serde_json::to_value(tool(&definition, Dialect::Haft)).unwrap(), expected);
        definition.output = Some(json!({"type": "array"}).into());
        assert_eq!(tool(&definition, Dialect::Haft).output_schema, None);
    }

    #[test]
    fn every_kind_of_content_has_its_block() {
        let output = ToolOutput::text("a")
            .with_image("image/png", vec![1])
            .with(Content::Audio { mime: "audio/wav".into(), data: vec![2] })
            .with(Content::Document(EmbeddedDocument::text("x://y", "text/plain", "z")))
            .with(Content::Document(EmbeddedDocument::bytes("x://b", "application/x", vec![3])))
            .with_details(json!({"n": 1}));
        let blocks = json!([
            {"type": "text", "text": "a"},
            {"type": "image", "data": "AQ==", "mimeType": "image/png"},
            {"type": "audio", "data": "Ag==", "mimeType": "audio/wav"},
            {"type": "resource", "resource": {"uri": "x://y", "mimeType": "text/plain", "text": "z"}},
            {"type": "resource", "resource": {"uri": "x://b", "mimeType": "application/x", "blob": "Aw=="}},
        ]);
        let plain = converted(Ok(output.clone()), ResultShape::Plain);
        assert_eq!((&plain["content"], &plain["isError"], plain.get("structuredContent")), (&blocks, &json!(false), None));
        assert_eq!(converted(Ok(output.clone()), ResultShape::Structured)["structuredContent"], json!({"n": 1}));
        assert_eq!(converted(Ok(output.clone()), ResultShape::Foreign).get("structuredContent"), None);
        let foreign = output.with_details(json!({"server": "hub", FOREIGN: {"n": 2}}));
        assert_eq!(converted(Ok(foreign), ResultShape::Foreign)["structuredContent"], json!({"n": 2}));
    }

    #[test]
    fn error_has_its_kind_and_advice_for_the_user() {
        let error = ToolError::new(ErrorKind::PermissionDenied, "No.").with_details(json!({"to_change": "add a rule"}));
        let failed = converted(Err(error), ResultShape::Structured);
        assert_eq!(failed["isError"], true);
        assert_eq!(failed["_meta"][ERROR_TYPE], "permission_denied");
        assert_eq!(failed["content"][0]["text"], "No.");
        assert_eq!(
            failed["content"][1],
            json!({"type": "text", "text": "For the user: add a rule", "annotations": {"audience": ["user"]}})
        );
    }
}
