//! Port for models that look at pictures.

use crate::{BoxFuture, Connect, ToolError};

/// A model that looks at pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisionModel {
    /// As `provider/model`.
    pub name: String,
    /// Where its provider is, for the plan.
    pub address: Connect,
}

/// A question about pictures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VisionQuestion {
    /// The question.
    pub prompt: String,
    /// The pictures, ready for a model.
    pub pictures: Vec<QuestionPicture>,
    /// The most tokens of the answer; a model may have less.
    pub max_tokens: u32,
}

/// A picture of a question.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QuestionPicture {
    /// Its media type.
    pub mime: String,
    /// The encoded picture.
    pub data: Vec<u8>,
}

/// The models of the configuration that look at pictures, each without tools and without the conversation. What one answers is as
/// trustworthy as the pictures.
pub trait VisionModels: Send + Sync {
    /// All of them, in the order in which they are tried.
    fn models(&self) -> Vec<VisionModel>;
    /// Answers a question. The cost counts for the session. Dropping the answer ends the request.
    fn ask<'a>(&'a self, model: &'a str, question: &'a VisionQuestion) -> BoxFuture<'a, Result<String, ToolError>>;
}
