//! A model, its protocol and the tools it is offered.

use std::sync::Arc;

use haft_contract::ThinkingLevel;
use serde::Deserialize;
use serde_json::Value;

use crate::{Adapter, Anthropic, Gemini, IdForm, OpenAiChat, OpenAiResponses};

haft_contract::named_enum! {
    /// Protocol of a provider.
    #[derive(Deserialize)]
    #[serde(rename_all = "kebab-case")]
    #[non_exhaustive]
    Protocol {
        /// Chat Completions.
        #[serde(rename = "openai")]
        OpenAi = "openai",
        /// Responses.
        #[serde(rename = "openai-responses")]
        OpenAiResponses = "openai-responses",
        /// Messages.
        Anthropic = "anthropic",
        /// generateContent.
        Gemini = "gemini",
    }
}

impl Protocol {
    /// The adapter for this protocol.
    pub fn adapter(self) -> &'static dyn Adapter {
        match self {
            Self::OpenAi => &OpenAiChat,
            Self::OpenAiResponses => &OpenAiResponses,
            Self::Anthropic => &Anthropic,
            Self::Gemini => &Gemini,
        }
    }
}

/// A model of a provider, with its limits and quirks.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Model {
    /// Name of the provider in the configuration; opaque data goes back to this one only.
    pub provider: String,
    /// Protocol of the provider.
    pub protocol: Protocol,
    /// Name of the model on the wire.
    pub name: String,
    /// Tokens of a request and its answer together.
    pub context_window: u64,
    /// Tokens of one answer.
    pub max_output: u32,
    /// Largest number of tools.
    pub max_tools: usize,
    /// Gemini: use the older form of schemas and of the role of results.
    pub legacy_schema: bool,
    /// Schema keywords that the model refuses.
    pub dropped_keywords: Vec<String>,
    /// Value of the version header, if the protocol has one.
    pub version: Option<String>,
    /// Chat Completions: format of call ids.
    pub id_form: IdForm,
    /// Chat Completions: whether the model requires reasoning with every replayed call, also with those of other models. For its
    /// own answers the conversation shows it.
    pub needs_reasoning: bool,
    /// Whether it takes pictures.
    pub accepts_pictures: bool,
    /// How much it thinks before it answers; as the provider decides, if absent.
    pub thinking: Option<ThinkingLevel>,
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
            accepts_pictures: true,
            thinking: None,
        }
    }

    /// Tokens that it may think, for protocols that count them; they come on top of those of the answer.
    pub(crate) fn thinking_tokens(&self) -> Option<u32> {
        self.thinking.map(|level| match level {
            ThinkingLevel::Off => 0,
            ThinkingLevel::Minimal => 1_024,
            ThinkingLevel::Low => 2_048,
            ThinkingLevel::Medium => 8_192,
            ThinkingLevel::High => 16_384,
            ThinkingLevel::Max => 32_768,
        })
    }

    /// The effort that it is asked for, for protocols that name it.
    pub(crate) fn thinking_effort(&self) -> Option<&'static str> {
        self.thinking.map(|level| if level == ThinkingLevel::Off { "none" } else { level.as_str() })
    }
}

/// A tool as offered to the model.
#[derive(Debug, Clone, PartialEq)]
pub struct OfferedTool {
    /// Name in the session's dialect.
    pub name: String,
    /// Description for the model.
    pub description: String,
    /// A flat JSON Schema object, shared by all that show the tool.
    pub parameters: Arc<Value>,
}
