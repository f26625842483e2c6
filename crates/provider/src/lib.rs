//! Model providers. A conversation is neutral ([`Message`], [`Block`]); an [`Adapter`] turns it into one protocol's request
//! and a stream of that protocol back into blocks. Adapters are pure, so their tests are golden files; HTTP, retries and
//! time limits are one component beside them.
#![warn(missing_docs)]

mod adapter;
mod anthropic;
mod client;
mod error;
mod gemini;
mod ids;
mod json;
mod message;
mod model;
mod names;
mod offer;
mod openai_chat;
mod openai_responses;
mod openai_shared;
mod redact;
mod refused;
mod replay;
mod reply;
pub mod schema;
pub mod sse;
pub mod transcript;

pub use adapter::{Adapter, Decoder, Encoded, Turn};
pub use anthropic::Anthropic;
pub use client::{Answer, Client, Endpoint, Key, Options, Proxies, Retry, Timeouts};
pub use error::{ProviderError, Trouble};
pub use gemini::Gemini;
pub use ids::{IdForm, wire_id};
pub use message::{Block, Message, Opaque, Piece, Role};
pub use model::{Model, Protocol, ToolSpec};
pub use names::NameMap;
pub use openai_chat::OpenAiChat;
pub use openai_responses::OpenAiResponses;
pub use reply::{Delta, Reply, StopReason, Usage};
