//! Answers of the user's model to servers that ask for some (sampling): off unless it is configured, bounded in number and tokens.
#![expect(deprecated, reason = "later protocol versions drop sampling; servers of the earlier ones ask this way")]

use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::BoxFuture;
use rmcp::model::{CreateMessageRequestParams, CreateMessageResult, ErrorData, Role, SamplingMessage};

/// Messages of one request, and characters of all of them.
const MAX_MESSAGES: usize = 100;
const MAX_CHARS: usize = 200_000;
/// A cautious measure before the model has counted.
const CHARS_PER_TOKEN: usize = 3;

/// What becomes of requests of a server for answers of the user's model.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Sampling {
    /// They are refused.
    #[default]
    Off,
    /// The user is asked about each.
    Ask,
    /// They are answered.
    Allow,
}

/// How much of the model a server gets in a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SamplingLimits {
    /// Requests.
    pub requests: u32,
    /// Tokens, of requests and answers.
    pub tokens: u64,
}

impl Default for SamplingLimits {
    fn default() -> Self {
        Self { requests: 10, tokens: 20_000 }
    }
}

/// A request of a server for an answer of the user's model. Its texts are the server's own, and not escaped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleRequest {
    /// The server.
    pub server: String,
    /// Its instructions.
    pub system: String,
    /// Its conversation, oldest first.
    pub messages: Vec<SampleMessage>,
    /// The tokens of the answer.
    pub max_tokens: u32,
}

/// A message of such a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleMessage {
    /// Whether it is an earlier answer of the model.
    pub is_answer: bool,
    /// Its text.
    pub text: String,
}

/// An answer of the user's model.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SampleAnswer {
    /// The model.
    pub model: String,
    /// The text.
    pub text: String,
    /// The tokens of request and answer.
    pub tokens: u64,
}

/// Answers requests with the user's model.
pub trait Sampler: Send + Sync {
    /// Whether the user may be asked.
    fn can_ask(&self) -> bool;
    /// Asks the user whether the server gets an answer.
    fn approve<'a>(&'a self, request: &'a SampleRequest) -> BoxFuture<'a, bool>;
    /// The answer; the error says why there is none.
    fn answer<'a>(&'a self, request: &'a SampleRequest) -> BoxFuture<'a, Result<SampleAnswer, String>>;
}

/// What a server has used. Outlasts its connections, so that one that crashes does not begin anew.
#[derive(Debug, Default)]
pub(crate) struct SamplingUse {
    used: Mutex<(u32, u64)>,
}

impl SamplingUse {
    /// Takes a request out of the budget.
    fn take(&self, limits: SamplingLimits, tokens: u64) -> Result<(), String> {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        if used.0 >= limits.requests {
            return Err(format!("the server has had its {} answers of this session (sampling_requests)", limits.requests));
        }
        if used.1.saturating_add(tokens) > limits.tokens {
            return Err(format!("the server has used its {} tokens of this session (sampling_tokens)", limits.tokens));
        }
        (used.0, used.1) = (used.0 + 1, used.1 + tokens);
        Ok(())
    }

    /// Corrects an estimate by what the model counted.
    fn settle(&self, estimate: u64, counted: u64) {
        let mut used = self.used.lock().unwrap_or_else(PoisonError::into_inner);
        used.1 = used.1.saturating_sub(estimate).saturating_add(counted);
    }
}

/// Sampling for one server.
#[derive(Clone, Default)]
pub(crate) struct ServerSampling {
    pub(crate) mode: Sampling,
    pub(crate) limits: SamplingLimits,
    pub(crate) sampler: Option<Arc<dyn Sampler>>,
    pub(crate) used: Arc<SamplingUse>,
}

impl ServerSampling {
    /// Whether requests are answered at all.
    pub(crate) fn is_offered(&self) -> bool {
        match (self.mode, &self.sampler) {
            (Sampling::Off, _) | (_, None) => false,
            (Sampling::Ask, Some(sampler)) => sampler.can_ask(),
            (Sampling::Allow, Some(_)) => true,
        }
    }

    /// Answers a request, or says why not.
    pub(crate) async fn answer(&self, server: &str, params: CreateMessageRequestParams) -> Result<CreateMessageResult, ErrorData> {
        let refused = |why: String| ErrorData::invalid_request(format!("No answer of a model: {why}."), None);
        let Some(sampler) = self.sampler.as_ref().filter(|_| self.is_offered()) else {
            return Err(refused("the user has not allowed it".to_owned()));
        };
        let request = request(server, params).map_err(refused)?;
        let chars = request.system.len() + request.messages.iter().map(|message| message.text.len()).sum::<usize>();
        let estimate = (chars / CHARS_PER_TOKEN) as u64 + u64::from(request.max_tokens);
        self.used.take(self.limits, estimate).map_err(refused)?;
        if self.mode == Sampling::Ask && !sampler.approve(&request).await {
            self.used.settle(estimate, 0);
            return Err(refused("the user declined".to_owned()));
        }
        let answer = sampler.answer(&request).await.map_err(|why| {
            self.used.settle(estimate, 0);
            refused(why)
        })?;
        self.used.settle(estimate, answer.tokens);
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text(answer.text), answer.model))
    }
}

/// The request without what is not text: tools of a server are not called for it.
fn request(server: &str, params: CreateMessageRequestParams) -> Result<SampleRequest, String> {
    if params.messages.is_empty() || params.messages.len() > MAX_MESSAGES {
        return Err(format!("a request has 1 to {MAX_MESSAGES} messages"));
    }
    let mut messages = Vec::new();
    for message in params.messages {
        let texts: Vec<&str> = message.content.iter().filter_map(|block| block.as_text()).map(|text| text.text.as_str()).collect();
        if texts.is_empty() {
            return Err("its messages are not text".to_owned());
        }
        messages.push(SampleMessage { is_answer: message.role == Role::Assistant, text: texts.join("\n") });
    }
    let system = params.system_prompt.unwrap_or_default();
    if system.len() + messages.iter().map(|message| message.text.len()).sum::<usize>() > MAX_CHARS {
        return Err(format!("a request has at most {MAX_CHARS} characters"));
    }
    Ok(SampleRequest { server: server.to_owned(), system, messages, max_tokens: params.max_tokens })
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use serde_json::json;

    use super::*;

    /// Answers with 100 tokens each; the user agrees once.
    #[derive(Default)]
    struct TestSampler {
        asked: AtomicU32,
        answered: AtomicU32,
    }

    impl Sampler for TestSampler {
        fn can_ask(&self) -> bool {
            true
        }
        fn approve<'a>(&'a self, request: &'a SampleRequest) -> BoxFuture<'a, bool> {
            assert_eq!(request.server, "hub", "the user learns who asks");
            Box::pin(std::future::ready(self.asked.fetch_add(1, Ordering::Relaxed) == 0))
        }
        fn answer<'a>(&'a self, request: &'a SampleRequest) -> BoxFuture<'a, Result<SampleAnswer, String>> {
            self.answered.fetch_add(1, Ordering::Relaxed);
            let text = format!("{} messages", request.messages.len());
            Box::pin(std::future::ready(Ok(SampleAnswer { model: "m".into(), text, tokens: 100 })))
        }
    }

    fn params(max_tokens: u32) -> CreateMessageRequestParams {
        let message = json!({"role": "user", "content": {"type": "text", "text": "hello"}});
        serde_json::from_value(json!({"messages": [message], "maxTokens": max_tokens})).unwrap()
    }

    fn sampling(mode: Sampling, limits: SamplingLimits) -> (ServerSampling, Arc<TestSampler>) {
        let sampler = Arc::new(TestSampler::default());
        (ServerSampling { mode, limits, sampler: Some(Arc::clone(&sampler) as _), used: Arc::default() }, sampler)
    }

    #[tokio::test]
    async fn model_answers_only_where_it_is_allowed() {
        let (off, sampler) = sampling(Sampling::Off, SamplingLimits::default());
        assert!(!off.is_offered() && off.answer("hub", params(10)).await.is_err());
        assert_eq!(sampler.answered.load(Ordering::Relaxed), 0);
        let nobody = ServerSampling { mode: Sampling::Allow, ..ServerSampling::default() };
        assert!(!nobody.is_offered() && nobody.answer("hub", params(10)).await.is_err());
        let (ask, sampler) = sampling(Sampling::Ask, SamplingLimits::default());
        assert_eq!(ask.answer("hub", params(10)).await.unwrap().model, "m");
        assert!(ask.answer("hub", params(10)).await.is_err_and(|error| error.message.contains("declined")));
        assert_eq!(sampler.answered.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn requests_and_tokens_are_bounded_across_connections() {
        let (few, sampler) = sampling(Sampling::Allow, SamplingLimits { requests: 2, tokens: 10_000 });
        assert!(few.answer("hub", params(10)).await.is_ok());
        // Another connection of the same server shares what was used.
        let again = few.clone();
        assert!(again.answer("hub", params(10)).await.is_ok());
        assert!(again.answer("hub", params(10)).await.is_err_and(|error| error.message.contains("sampling_requests")));
        assert_eq!(sampler.answered.load(Ordering::Relaxed), 2);
        let (short, sampler) = sampling(Sampling::Allow, SamplingLimits { requests: 100, tokens: 150 });
        assert!(short.answer("hub", params(1_000)).await.is_err_and(|error| error.message.contains("sampling_tokens")));
        assert!(short.answer("hub", params(10)).await.is_ok());
        assert!(short.answer("hub", params(100)).await.is_err(), "what the model counted is used");
        assert_eq!(sampler.answered.load(Ordering::Relaxed), 1);
    }

    #[tokio::test]
    async fn requests_that_are_not_text_or_too_large_are_refused() {
        let (allow, sampler) = sampling(Sampling::Allow, SamplingLimits { requests: 9, tokens: 10_000_000 });
        let image = json!({"role": "user", "content": {"type": "image", "data": "AAAA", "mimeType": "image/png"}});
        let large = json!({"role": "user", "content": {"type": "text", "text": "x".repeat(MAX_CHARS + 1)}});
        for messages in [json!([]), json!([image]), json!([large])] {
            let params = serde_json::from_value(json!({"messages": messages, "maxTokens": 1})).unwrap();
            assert!(allow.answer("hub", params).await.is_err());
        }
        assert_eq!(sampler.answered.load(Ordering::Relaxed), 0);
    }
}
