//! Answers of the configured model to MCP servers that ask for some.

use std::sync::Arc;

use haft_agent::Provider;
use haft_contract::BoxFuture;
use haft_mcp::client::{SampleAnswer, SampleMessage, SampleRequest, Sampler};
use haft_provider::{Block, Message, ModelTurn};
use haft_text::display;
use inquire::Confirm;
use tokio::sync::OnceCell;
use tokio_util::sync::CancellationToken;

use super::{Settings, models};
use crate::output::note;
use crate::terminal::{Terminal, reading_keys, stop_waiting};

/// How much of a request the user is shown.
const SHOWN_CHARS: usize = 2_000;

/// Asks the configured model. Its provider is found when the first request comes: most servers have none.
pub(super) struct ModelSampler {
    settings: Settings,
    found: OnceCell<Arc<dyn Provider>>,
}

impl ModelSampler {
    pub(super) fn new(settings: &Settings) -> Self {
        Self { settings: settings.clone(), found: OnceCell::new() }
    }
}

impl Sampler for ModelSampler {
    fn can_ask(&self) -> bool {
        Terminal::is_there()
    }

    fn approve<'a>(&'a self, request: &'a SampleRequest) -> BoxFuture<'a, bool> {
        let last = request.messages.last().map(|message| message.text.as_str()).unwrap_or_default();
        let heading =
            format!("The MCP server '{}' wants an answer of your model to: {}", request.server, display::shorten(last, SHOWN_CHARS));
        let asking = tokio::task::spawn_blocking(move || {
            stop_waiting();
            note(&heading);
            reading_keys(|| Confirm::new("Let it have one?").with_default(false).prompt()).unwrap_or(false)
        });
        Box::pin(async move { asking.await.unwrap_or(false) })
    }

    fn answer<'a>(&'a self, request: &'a SampleRequest) -> BoxFuture<'a, Result<SampleAnswer, String>> {
        Box::pin(async move {
            let found = self.found.get_or_try_init(|| models::provider(&self.settings, None)).await;
            let provider = found.map_err(|failure| format!("no model can be used: {}", failure.message))?;
            let message = |message: &SampleMessage| {
                if message.is_answer { Message::assistant(vec![Block::text(&message.text)]) } else { Message::user(&message.text) }
            };
            let messages: Vec<Message> = request.messages.iter().map(message).collect();
            let mut model = provider.model().clone();
            model.max_output = model.max_output.min(request.max_tokens.max(1));
            let turn = ModelTurn { model: &model, system: &request.system, messages: &messages, tools: &[] };
            let stop = CancellationToken::new();
            let _stopped = stop.clone().drop_guard();
            let reply = provider.answer(turn, &stop, &mut |_| {}).await.map_err(|error| error.to_string())?.reply;
            let texts =
                reply.blocks.iter().filter_map(|block| if let Block::Text { text, .. } = block { Some(text.as_str()) } else { None });
            let text = texts.collect::<Vec<_>>().join("\n");
            let tokens = reply.usage.input.saturating_add(reply.usage.output);
            Ok(SampleAnswer { model: model.name, text, tokens })
        })
    }
}
