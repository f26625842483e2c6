//! What a tool gives back: content for the model, details for people.

use schemars::JsonSchema;
use serde::Serialize;
use serde_json::Value;

use crate::SharedSchema;

/// One block of a result, as the model sees it.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(String),
    /// A picture.
    Image {
        /// The media type, such as `image/png`.
        mime: String,
        /// The encoded picture.
        data: Vec<u8>,
    },
    /// A sound.
    Audio {
        /// The media type, such as `audio/wav`.
        mime: String,
        /// The encoded sound.
        data: Vec<u8>,
    },
    /// A document with an address of its own.
    Document(EmbeddedDocument),
}

/// A document inside a result.
#[derive(Debug, Clone, PartialEq)]
pub struct EmbeddedDocument {
    /// Its address.
    pub uri: String,
    /// The media type, if it is known.
    pub mime: Option<String>,
    /// What is in it.
    pub body: DocumentBody,
}

/// What is in a document.
#[derive(Debug, Clone, PartialEq)]
pub enum DocumentBody {
    /// Text.
    Text(String),
    /// Anything else.
    Bytes(Vec<u8>),
}

impl EmbeddedDocument {
    /// A document of text.
    pub fn text(uri: impl Into<String>, mime: impl Into<String>, text: impl Into<String>) -> Self {
        Self { uri: uri.into(), mime: Some(mime.into()), body: DocumentBody::Text(text.into()) }
    }
    /// A document of bytes.
    pub fn bytes(uri: impl Into<String>, mime: impl Into<String>, bytes: Vec<u8>) -> Self {
        Self { uri: uri.into(), mime: Some(mime.into()), body: DocumentBody::Bytes(bytes) }
    }
}

impl Content {
    /// The text of the block, of a document too.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) | Self::Document(EmbeddedDocument { body: DocumentBody::Text(text), .. }) => Some(text),
            _ => None,
        }
    }
    /// The same, to be changed.
    pub fn as_text_mut(&mut self) -> Option<&mut String> {
        match self {
            Self::Text(text) | Self::Document(EmbeddedDocument { body: DocumentBody::Text(text), .. }) => Some(text),
            _ => None,
        }
    }
}

/// The outcome of a call that worked.
#[derive(Debug, Clone, PartialEq, Default)]
#[non_exhaustive]
pub struct ToolOutput {
    /// For the model.
    pub content: Vec<Content>,
    /// For people and programs; never reaches the model.
    pub details: Option<Value>,
}

impl ToolOutput {
    /// One block of text.
    pub fn text(text: impl Into<String>) -> Self {
        Self { content: vec![Content::Text(text.into())], details: None }
    }
    /// Adds details.
    pub fn with_details(mut self, details: Value) -> Self {
        self.details = Some(details);
        self
    }
    /// Adds a picture.
    pub fn with_image(mut self, mime: impl Into<String>, data: Vec<u8>) -> Self {
        self.content.push(Content::Image { mime: mime.into(), data });
        self
    }
    /// Adds a block.
    pub fn with(mut self, block: Content) -> Self {
        self.content.push(block);
        self
    }
    /// All text, as borrowed pieces.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        self.content.iter().filter_map(Content::as_text)
    }
}

/// Types a tool may return.
pub trait IntoToolOutput: Send + 'static {
    /// The output for the model and for people.
    fn into_output(self) -> ToolOutput;
    /// The schema of a structured output, if it has one.
    fn schema() -> Option<SharedSchema> {
        None
    }
}

impl IntoToolOutput for ToolOutput {
    fn into_output(self) -> ToolOutput {
        self
    }
}
impl IntoToolOutput for String {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}
impl IntoToolOutput for &'static str {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text(self)
    }
}
impl IntoToolOutput for () {
    fn into_output(self) -> ToolOutput {
        ToolOutput::text("done")
    }
}

/// A structured result: pretty JSON for the model, the same value as details, and an output schema.
#[derive(Debug, Clone, Copy)]
pub struct Json<T>(pub T);

impl<T: Serialize + JsonSchema + Send + 'static> IntoToolOutput for Json<T> {
    fn into_output(self) -> ToolOutput {
        // A value that cannot be JSON (a map with odd keys) is a bug of the tool; the model is told which.
        match serde_json::to_value(&self.0) {
            Ok(value) => ToolOutput::text(format!("{value:#}")).with_details(value),
            Err(error) => ToolOutput::text(format!("The result could not be written as JSON: {error}")),
        }
    }
    fn schema() -> Option<SharedSchema> {
        Some(SharedSchema::for_type::<T>())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn structured_output_is_pretty_json_with_the_value_as_details() {
        #[derive(Serialize, JsonSchema)]
        struct Found {
            count: u32,
        }
        let output = Json(Found { count: 2 }).into_output();
        assert_eq!(output.content, [Content::Text("{\n  \"count\": 2\n}".into())]);
        assert_eq!(output.details, Some(json!({"count": 2})));
        assert_eq!(<Json<Found> as IntoToolOutput>::schema().unwrap()["properties"]["count"]["type"], "integer");
    }

    #[test]
    fn image_output_has_its_label_its_image_and_details() {
        let output = ToolOutput::text("a.png, 1 x 1").with_image("image/png", vec![1, 2]).with_details(json!({"path": "a.png"}));
        let image = Content::Image { mime: "image/png".into(), data: vec![1, 2] };
        assert_eq!(output.content, [Content::Text("a.png, 1 x 1".into()), image]);
        assert_eq!(output.details, Some(json!({"path": "a.png"})));
    }
}
