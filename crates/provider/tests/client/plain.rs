//! A protocol of plain text: `text` says something, `usage` counts, `error` fails, `end` ends.

use std::time::Duration;

use haft_provider::{Adapter, Block, Decoder, Delta, Encoded, ProviderError, Reply, StopReason, Trouble, Turn, Usage};
use serde_json::{Value, json};

pub(crate) struct Plain;

impl Adapter for Plain {
    fn encode(&self, turn: &Turn<'_>) -> Encoded {
        let mut encoded = Encoded::new("/say?alt=sse", json!({ "model": turn.model.name, "system": turn.system }));
        encoded.headers = vec![("x-protocol", "plain".to_owned()), ("x-version", "1".to_owned())];
        encoded.warnings = vec!["one tool was left out".to_owned()];
        encoded
    }
    fn decoder(&self, _: &Turn<'_>) -> Box<dyn Decoder> {
        Box::new(Reader::default())
    }
    fn key_header(&self) -> (&'static str, &'static str) {
        ("X-Plain-Key", "Key ")
    }
    fn refusal(&self, status: u16, body: &[u8]) -> ProviderError {
        let trouble = match status {
            401 => Trouble::Key,
            429 => Trouble::RateLimited,
            500.. => Trouble::Server,
            _ => Trouble::BadRequest,
        };
        // Shortened, as real ones are, and with a time to wait that stands in the body.
        let said: String = String::from_utf8_lossy(body).chars().take(1005).collect();
        let wait = said.strip_prefix("wait ").map(|wait| Duration::from_millis(wait.parse().unwrap()));
        ProviderError::new(trouble, format!("refused with {status}: {said}")).with_retry_after(wait)
    }
    fn faults(&self, _: &Value) -> Vec<String> {
        Vec::new()
    }
}

#[derive(Default)]
struct Reader {
    said: String,
    output: u64,
    ended: bool,
}

impl Decoder for Reader {
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
            "error" => return Err(ProviderError::new(Trouble::Server, format!("failed inside: {data}"))),
            "garbled" => return Err(ProviderError::new(Trouble::Garbled, format!("garbled inside: {data}"))),
            "refused" => return Err(ProviderError::new(Trouble::BadRequest, format!("refused inside: {data}"))),
            "end" => self.ended = true,
            _ => {}
        }
        Ok(())
    }
    fn finish(&mut self, out: &mut Vec<Delta>) -> Result<Reply, ProviderError> {
        out.push(usage(self.output + 1));
        if self.ended { Ok(reply(&self.said, self.output)) } else { Err(ProviderError::new(Trouble::Network, "it did not end.")) }
    }
}

pub(crate) fn text(said: &str) -> Delta {
    Delta::Text(said.to_owned())
}

pub(crate) fn usage(output: u64) -> Delta {
    Delta::Usage(counted(output))
}

pub(crate) fn reply(said: &str, output: u64) -> Reply {
    Reply::new(vec![Block::text(said)], StopReason::EndTurn, counted(output))
}

fn counted(output: u64) -> Usage {
    let mut usage = Usage::default();
    usage.output = output;
    usage
}
