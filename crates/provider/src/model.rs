//! What is known of a model and the tools that it is shown.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::IdForm;

/// A protocol that providers speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[non_exhaustive]
pub enum Protocol {
    /// Chat Completions.
    #[serde(rename = "openai")]
    OpenAi,
    /// Responses.
    #[serde(rename = "openai-responses")]
    OpenAiResponses,
    /// Messages.
    Anthropic,
    /// generateContent.
    Gemini,
}

impl Protocol {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::OpenAi, Self::OpenAiResponses, Self::Anthropic, Self::Gemini];
    /// The name in configuration.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::OpenAiResponses => "openai-responses",
            Self::Anthropic => "anthropic",
            Self::Gemini => "gemini",
        }
    }
}

impl fmt::Display for Protocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for Protocol {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let known = Self::ALL.into_iter().find(|protocol| protocol.as_str() == text);
        known.ok_or_else(|| format!("unknown protocol '{text}': use openai, openai-responses, anthropic or gemini"))
    }
}

/// A model of a provider, and what has to be known to talk to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Model {
    /// The provider's name in the configuration; opaque parts are sent back to this one alone.
    pub provider: String,
    /// What it speaks.
    pub protocol: Protocol,
    /// The model's name on the wire.
    pub name: String,
    /// How many tokens fit into a request and its answer.
    pub context_window: u64,
    /// How many tokens one answer may have.
    pub max_output: u32,
    /// How many tools it takes at most.
    pub max_tools: usize,
    /// Gemini: the older form of schemas and of the role of results.
    pub legacy_schema: bool,
    /// Keywords that it refuses in schemas.
    pub dropped_keywords: Vec<String>,
    /// The value of a version header, where the protocol has one.
    pub version: Option<String>,
    /// Chat Completions: what the ids of calls must look like.
    pub id_form: IdForm,
    /// Chat Completions: whether calls are refused that are sent back without the thoughts before them, also those of another
    /// model. That it is so for a session's own answers is seen from them.
    pub needs_reasoning: bool,
}

impl Model {
    /// A model with the usual limits of its protocol.
    pub fn new(provider: impl Into<String>, protocol: Protocol, name: impl Into<String>) -> Self {
        Self {
            provider: provider.into(),
            protocol,
            name: name.into(),
            context_window: 128_000,
            max_output: 8_192,
            max_tools: 128,
            legacy_schema: false,
            dropped_keywords: Vec::new(),
            version: None,
            id_form: IdForm::Any,
            needs_reasoning: false,
        }
    }
}

/// A tool, as the model is shown it.
#[derive(Debug, Clone, PartialEq)]
pub struct ToolSpec {
    /// The name in the session's dialect.
    pub name: String,
    /// What the model reads.
    pub description: String,
    /// A flat JSON Schema object.
    pub parameters: Value,
}
