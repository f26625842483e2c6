//! A protocol of plain text: `text` says something, `usage` counts, `error` fails, `end` ends.

use std::time::Duration;

use haft_provider::{
    Adapter, Block, Delta, EncodedRequest, ModelReply, ModelTurn, ProviderError, ProviderErrorKind, StopReason, StreamDecoder, Usage,
};
use serde_json::json;

pub(crate) struct Plain;

impl Adapter for Plain {
    fn encode(&self, turn: &ModelTurn<'_>) -> EncodedRequest {
        let mut encoded = EncodedRequest::new("/say?alt=sse", json!({ "model": turn.model.name, "system": turn.system }));
        encoded.headers = vec![("x-protocol", "plain".to_owned()), ("x-version", "1".to_owned())];
        encoded.warnings = vec!["one tool was left out".to_owned()];
        encoded
    }
    fn decoder(&self, _: &ModelTurn<'_>) -> Box<dyn StreamDecoder> {
        Box::new(Reader::default())
    }
    fn key_header(&self) -> (&'static str, &'static str) {
        ("X-Plain-Key", "Key ")
    }
    fn refusal(&self, status: u16, body: &[u8]) -> ProviderError {
        let kind = match status {
            401 => ProviderErrorKind::Key,
            429 => ProviderErrorKind::RateLimited,
            500.. => ProviderErrorKind::Server,
            _ => ProviderErrorKind::BadRequest,
        };
        // Truncated, as real ones are, and with a delay in the body.
        let said: String = String::from_utf8_lossy(body).chars().take(1005).collect();
        let wait = said.strip_prefix("wait ").map(|wait| Duration::from_millis(wait.parse().unwrap()));
        ProviderError::new(kind, format!("refused with {status}: {said}")).with_retry_after(wait)
    }
}

#[derive(Default)]
struct Reader {
    said: String,
    output: u64,
    ended: bool,
}

impl StreamDecoder for Reader {
    fn event(&mut self, name: &str, data: &str, out: &mut Vec<Delta>) -> Result<(), ProviderError> {
        match name {
            "text" => {
                self.said.push_str(data);
                out.push(text(data));
            }
            "usage" => {
                self.output = data.parse().unwrap();
                out.push(usage(self.output));
            }
            "error" => return Err(ProviderError::new(ProviderErrorKind::Server, format!("failed inside: {data}"))),
            "garbled" => return Err(ProviderError::new(ProviderErrorKind::Garbled, format!("garbled inside: {data}"))),
            "refused" => return Err(ProviderError::new(ProviderErrorKind::BadRequest, format!("refused inside: {data}"))),
            "end" => self.ended = true,
            _ => {}
        }
        Ok(())
    }
    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<ModelReply, ProviderError> {
        out.push(usage(self.output + 1));
        if self.ended { Ok(reply(&self.said, self.output)) } else { Err(ProviderError::new(ProviderErrorKind::Network, "it did not end.")) }
    }
}

pub(crate) fn text(said: &str) -> Delta {
    Delta::Text(said.to_owned())
}

pub(crate) fn usage(output: u64) -> Delta {
    Delta::Usage(counted(output))
}

pub(crate) fn reply(said: &str, output: u64) -> ModelReply {
    ModelReply::new(vec![Block::text(said)], StopReason::EndTurn, counted(output))
}

fn counted(output: u64) -> Usage {
    let mut usage = Usage::default();
    usage.output = output;
    usage
}
