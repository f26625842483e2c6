//! Token counts of a Messages stream.

use crate::Usage;
use crate::json::EventJson;

/// Token counts; each is cumulative, an absent one has not changed.
#[derive(Default)]
pub(super) struct AnthropicUsage {
    input: u64,
    cached: u64,
    cache_writes: u64,
    output: u64,
    reasoning: u64,
}

impl AnthropicUsage {
    pub(super) fn update(&mut self, counts: EventJson<'_>) {
        let thinking = counts.at("output_tokens_details").at("thinking_tokens");
        for (count, new) in [
            (&mut self.input, counts.at("input_tokens")),
            (&mut self.cached, counts.at("cache_read_input_tokens")),
            (&mut self.cache_writes, counts.at("cache_creation_input_tokens")),
            (&mut self.output, counts.at("output_tokens")),
            (&mut self.reasoning, thinking),
        ] {
            *count = new.as_u64().unwrap_or(*count);
        }
    }

    /// Anthropic counts cache reads and cache writes separately from the rest of the input.
    pub(super) fn usage(&self) -> Usage {
        let Self { input, cached, cache_writes, output, reasoning } = *self;
        Usage { input: input.saturating_add(cached).saturating_add(cache_writes), output, cached, cache_writes, reasoning }
    }
}
