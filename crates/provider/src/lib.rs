//! Model providers. A conversation is neutral ([`Message`], [`Block`]); an [`Adapter`] encodes it as a request of one protocol and
//! decodes a stream of that protocol into blocks. Adapters are pure, so their tests are golden files; `ModelClient` has HTTP,
//! retries and timeouts.
#![warn(missing_docs)]

mod adapter;
mod anthropic;
#[cfg(feature = "http")]
mod client;
mod error;
mod gemini;
mod ids;
mod json;
pub mod known;
mod message;
mod model;
mod names;
mod offer;
mod openai_chat;
mod openai_responses;
mod openai_shared;
mod refused;
mod replay;
mod reply;
pub mod schema;
#[cfg(feature = "http")]
mod sight;
pub mod sse;
mod tool_forms;
pub mod transcript;

pub use adapter::{Adapter, EncodedRequest, ModelTurn, StreamDecoder};
pub use anthropic::Anthropic;
#[cfg(feature = "http")]
pub use client::{ApiKey, Endpoint, ModelClient, Options, Proxies, Recording, SpokenRequest, Timeouts};
pub use error::{ProviderError, ProviderErrorKind};
pub use gemini::Gemini;
pub use ids::{IdForm, wire_id};
pub use message::{Block, Message, Opaque, ResultPart, Role};
pub use model::{Model, OfferedTool, Protocol};
pub use names::NameMap;
pub use openai_chat::OpenAiChat;
pub use openai_responses::OpenAiResponses;
pub use reply::{Completion, Delta, ModelReply, Retry, StopReason, Usage};
pub use tool_forms::{EncodedTools, tool_definitions, tool_results};
