//! Models over HTTP, and the forms of their protocols as data.
//!
//! ```no_run
//! # fn main() -> Result<(), haft::providers::ProviderError> {
//! use haft::providers::{self, Protocol};
//!
//! // The key is in ANTHROPIC_API_KEY.
//! let model = providers::anthropic("claude-sonnet-4-5")?;
//! // A server that speaks a protocol of the others.
//! let local = providers::at(Protocol::OpenAi, "http://127.0.0.1:11434/v1", "qwen3");
//! # Ok(())
//! # }
//! ```
//!
//! A program that sends its requests itself takes the definitions and results as data:
//!
//! ```
//! use haft::providers::{self, Protocol};
//!
//! let gemini = providers::at(Protocol::Gemini, "https://generativelanguage.googleapis.com/v1beta", "gemini-2.5-pro");
//! let definition = haft::ToolDefinition::new("noop", "Does nothing.", serde_json::json!({"type": "object", "properties": {}}));
//! let tools = gemini.definitions([&definition]).tools;
//! assert_eq!(tools[0]["functionDeclarations"][0]["name"], "noop");
//! ```

use haft_contract::{ToolDefinition, ToolResult};
pub use haft_provider::{
    ApiKey, Block, Completion, Delta, EncodedTools, Endpoint, Message, Model, ModelReply, ModelTurn, OfferedTool, Protocol, ProviderError,
    ProviderErrorKind, ResultPart, Role, StopReason, Timeouts, Usage, known,
};
use haft_provider::{ModelClient, Options, tool_definitions, tool_results};
use tokio_util::sync::CancellationToken;

/// A model of Anthropic. Its key is read from `ANTHROPIC_API_KEY`.
pub fn anthropic(model: impl Into<String>) -> Result<HttpModel, ProviderError> {
    known_model("anthropic", model.into())
}

/// A model of OpenAI. Its key is read from `OPENAI_API_KEY`.
pub fn openai(model: impl Into<String>) -> Result<HttpModel, ProviderError> {
    known_model("openai", model.into())
}

/// A model of Google. Its key is read from `GEMINI_API_KEY`.
pub fn gemini(model: impl Into<String>) -> Result<HttpModel, ProviderError> {
    known_model("gemini", model.into())
}

/// A model of a server that speaks this protocol, without a key.
pub fn at(protocol: Protocol, base_url: impl Into<String>, model: impl Into<String>) -> HttpModel {
    HttpModel::new("custom", protocol, base_url.into(), model.into())
}

fn known_model(name: &'static str, model: String) -> Result<HttpModel, ProviderError> {
    let lookup = |name: &str| std::env::var(name).ok();
    let missing = || ProviderError::new(ProviderErrorKind::BadRequest, format!("There is no provider '{name}'."));
    let provider = known::provider(name).ok_or_else(missing)?;
    let key = ApiKey::from_env(provider.key, lookup)?;
    let mut http = HttpModel::new(name, provider.protocol, provider.base_url.to_owned(), model);
    http.endpoint.key = Some(key);
    http.options = Options::from_env(lookup)?;
    Ok(http)
}

/// A model over HTTP.
#[derive(Debug, Clone)]
#[must_use]
pub struct HttpModel {
    model: Model,
    endpoint: Endpoint,
    options: Options,
}

impl HttpModel {
    fn new(provider: &str, protocol: Protocol, base_url: String, name: String) -> Self {
        let mut model = Model::new(provider, protocol, name);
        if let Some((window, output)) = known::limits(&model.name) {
            (model.context_window, model.max_output) = (window, output);
        }
        Self { model, endpoint: Endpoint::new(base_url), options: Options::default() }
    }

    /// Sets the API key.
    pub fn key(mut self, secret: impl Into<String>) -> Self {
        self.endpoint.key = Some(ApiKey::new(secret));
        self
    }
    /// Names the provider, for rules and history.
    pub fn provider(mut self, provider: impl Into<String>) -> Self {
        self.model.provider = provider.into();
        self
    }
    /// Changes the limits and quirks of the model.
    pub fn model(mut self, change: impl FnOnce(&mut Model)) -> Self {
        change(&mut self.model);
        self
    }
    /// Changes the address: headers, timeouts.
    pub fn endpoint(mut self, change: impl FnOnce(&mut Endpoint)) -> Self {
        change(&mut self.endpoint);
        self
    }
    /// Sets how often a request is sent again.
    pub fn retries(mut self, retries: u32) -> Self {
        self.options.retries = retries;
        self
    }

    /// The definitions of tools as a request to this model has them.
    pub fn definitions<'a>(&self, definitions: impl IntoIterator<Item = &'a ToolDefinition>) -> EncodedTools {
        tool_definitions(&self.model, definitions)
    }
    /// The messages that carry results of calls to this model.
    pub fn results(&self, results: &[ToolResult]) -> Vec<serde_json::Value> {
        tool_results(&self.model, results)
    }

    /// Sends one request, without the agent loop, and streams the answer to `each`.
    pub async fn stream(
        &self,
        system: &str,
        messages: &[Message],
        tools: &[OfferedTool],
        cancel: &CancellationToken,
        each: &mut (dyn FnMut(Delta) + Send),
    ) -> Result<Completion, ProviderError> {
        let turn = ModelTurn { model: &self.model, system, messages, tools };
        let client = ModelClient::new(self.options.clone());
        client.stream(&self.endpoint, self.model.protocol.adapter(), &turn, cancel, each).await
    }
}

#[cfg(feature = "agent")]
impl From<HttpModel> for std::sync::Arc<dyn haft_agent::Provider> {
    fn from(http: HttpModel) -> Self {
        Self::from(Box::new(haft_agent::HttpProvider::new(http.model, http.endpoint, ModelClient::new(http.options)))
            as Box<dyn haft_agent::Provider>)
    }
}
