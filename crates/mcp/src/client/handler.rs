//! What a server may ask and tell us. Whatever is not configured is declined.
#![expect(deprecated, reason = "later protocol versions drop sampling; servers of the earlier ones ask this way")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::BoxFuture;
use rmcp::ClientHandler;
use rmcp::model::{
    ClientCapabilities, ClientConfig, CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult,
    ElicitationAction, ElicitationCapability, ErrorData, FormElicitationCapability, Implementation, ProgressNotificationParam,
    ProgressToken, ProtocolVersion, SamplingCapability,
};
use rmcp::service::{NotificationContext, RequestContext, RoleClient};
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use super::sampling::ServerSampling;
use super::settings::{Elicitation, ServerRequests};

/// Questions that a server may ask while it is connected: each takes the user's attention.
const MAX_QUESTIONS: u32 = 20;

/// Answers the questions that servers ask the user.
pub trait Elicitor: Send + Sync {
    /// The user's answers by name; `None` declines. The message is the server's own text, and not escaped.
    fn ask<'a>(&'a self, server: &'a str, message: &'a str, schema: &'a Value) -> BoxFuture<'a, Option<Value>>;
}

/// Receives a line for each progress of one call.
pub(crate) type ProgressLine = Arc<dyn Fn(String) + Send + Sync>;

/// What a connection and its handler share.
pub(crate) struct HandlerState {
    server: String,
    requests: ServerRequests,
    elicitor: Option<Arc<dyn Elicitor>>,
    sampling: ServerSampling,
    questions: AtomicU32,
    progress: Mutex<HashMap<ProgressToken, ProgressLine>>,
    /// Notified when the server says that its tools have changed.
    pub(crate) tools_changed: Notify,
    /// Cancelled when the connection has ended.
    pub(crate) ended: CancellationToken,
}

impl HandlerState {
    pub(crate) fn new(server: &str, requests: ServerRequests, elicitor: Option<Arc<dyn Elicitor>>, sampling: ServerSampling) -> Self {
        let (questions, progress, tools_changed) = (AtomicU32::new(0), Mutex::default(), Notify::new());
        let ended = CancellationToken::new();
        Self { server: server.to_owned(), requests, elicitor, sampling, questions, progress, tools_changed, ended }
    }

    pub(crate) fn watch(&self, token: ProgressToken, line: ProgressLine) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).insert(token, line);
    }

    pub(crate) fn unwatch(&self, token: &ProgressToken) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }

    /// The answers to a question: the server's own proposals, or the user's, if it has not asked too often.
    async fn answers(&self, message: &str, schema: &Value) -> Option<Value> {
        if self.questions.fetch_add(1, Ordering::Relaxed) >= MAX_QUESTIONS {
            return None;
        }
        match (self.requests.elicitation, &self.elicitor) {
            (Elicitation::Defaults, _) => defaults(schema),
            (Elicitation::Ask, Some(elicitor)) => elicitor.ask(&self.server, message, schema).await,
            _ => None,
        }
    }

    fn may_ask(&self) -> bool {
        match self.requests.elicitation {
            Elicitation::Off => false,
            Elicitation::Defaults => true,
            Elicitation::Ask => self.elicitor.is_some(),
        }
    }

    /// Answers with the user's model, or says why not.
    pub(crate) async fn sample(&self, request: CreateMessageRequestParams) -> Result<CreateMessageResult, ErrorData> {
        self.sampling.answer(&self.server, request).await
    }

    /// Asks the user, or declines. An address to open is always declined: the server could send the user anywhere.
    pub(crate) async fn elicit(&self, request: ElicitRequestParams) -> ElicitResult {
        let ElicitRequestParams::FormElicitationParams { message, requested_schema, .. } = request else {
            return ElicitResult::new(ElicitationAction::Decline);
        };
        let schema = serde_json::to_value(&requested_schema).unwrap_or_default();
        match self.answers(&message, &schema).await {
            Some(content) => ElicitResult::new(ElicitationAction::Accept).with_content(content),
            None => ElicitResult::new(ElicitationAction::Decline),
        }
    }
}

/// Our side of a connection.
#[derive(Clone)]
pub(crate) struct ConnectionHandler(pub(crate) Arc<HandlerState>);

impl ClientHandler for ConnectionHandler {
    fn get_info(&self) -> ClientConfig {
        let mut capabilities = ClientCapabilities::default();
        if self.0.may_ask() {
            capabilities.elicitation = Some(ElicitationCapability::new().with_form(FormElicitationCapability::new()));
        }
        if self.0.sampling.is_offered() {
            capabilities.sampling = Some(SamplingCapability::default());
        }
        let mut config = ClientConfig::new(capabilities, Implementation::new("haft", env!("CARGO_PKG_VERSION")));
        // The newest that a handshake can name: the SDK's own default has none.
        config.protocol_version = ProtocolVersion::LATEST_WITH_INITIALIZE;
        config
    }

    async fn create_elicitation(&self, request: ElicitRequestParams, _: RequestContext<RoleClient>) -> Result<ElicitResult, ErrorData> {
        Ok(self.0.elicit(request).await)
    }

    async fn create_message(
        &self,
        request: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        self.0.sample(request).await
    }

    async fn on_progress(&self, params: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        let line = self.0.progress.lock().unwrap_or_else(PoisonError::into_inner).get(&params.progress_token).cloned();
        if let Some(line) = line {
            line(progress_text(&params));
        }
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.0.tools_changed.notify_one();
    }
}

/// The values that a schema proposes; `None` if it wants one that it does not propose.
fn defaults(schema: &Value) -> Option<Value> {
    let properties = schema["properties"].as_object()?;
    let proposed = properties.iter().filter_map(|(name, property)| Some((name.clone(), property.get("default")?.clone())));
    let proposed: serde_json::Map<String, Value> = proposed.collect();
    let mut required = schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    required.all(|name| proposed.contains_key(name)).then_some(Value::Object(proposed))
}

fn progress_text(params: &ProgressNotificationParam) -> String {
    let total = params.total.map(|total| format!(" of {total}")).unwrap_or_default();
    let message = params.message.as_deref().map(|text| format!(": {}", haft_text::display::shorten(text, 200))).unwrap_or_default();
    format!("{}{total}{message}", params.progress)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[tokio::test]
    async fn questions_are_declined_unless_they_are_configured_and_never_without_end() {
        let question = || -> ElicitRequestParams {
            let schema = json!({"type": "object", "properties": {"a": {"type": "integer", "default": 3}, "b": {"type": "string"}}});
            serde_json::from_value(json!({"mode": "form", "message": "?", "requestedSchema": schema})).unwrap()
        };
        let state = |elicitation| {
            HandlerState::new("hub", ServerRequests { elicitation, ..ServerRequests::default() }, None, ServerSampling::default())
        };
        assert_eq!(state(Elicitation::Off).elicit(question()).await.action, ElicitationAction::Decline);
        assert_eq!(state(Elicitation::Ask).elicit(question()).await.action, ElicitationAction::Decline, "nobody can be asked");
        let proposing = state(Elicitation::Defaults);
        for _ in 0..MAX_QUESTIONS {
            assert_eq!(proposing.elicit(question()).await.content, Some(json!({"a": 3})));
        }
        assert_eq!(proposing.elicit(question()).await.action, ElicitationAction::Decline);
        let url = json!({"mode": "url", "message": "?", "url": "file:///etc/passwd", "elicitationId": "1"});
        let url = serde_json::from_value(url).unwrap();
        assert_eq!(state(Elicitation::Defaults).elicit(url).await.action, ElicitationAction::Decline);
        assert_eq!(defaults(&json!({"properties": {"a": {}}, "required": ["a"]})), None);
    }
}
