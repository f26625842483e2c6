//! Token counts of a generateContent stream.

use crate::Usage;
use crate::json::EventJson;

/// Token counts so far; an absent one has not changed.
#[derive(Default)]
pub(super) struct GeminiUsage {
    prompt: u64,
    tool_use: u64,
    cached: u64,
    candidates: u64,
    thoughts: u64,
}

impl GeminiUsage {
    pub(super) fn update(&mut self, counts: EventJson<'_>) {
        for (name, value) in counts.fields() {
            let count = match name {
                "promptTokenCount" => &mut self.prompt,
                "toolUsePromptTokenCount" => &mut self.tool_use,
                "cachedContentTokenCount" => &mut self.cached,
                "candidatesTokenCount" => &mut self.candidates,
                "thoughtsTokenCount" => &mut self.thoughts,
                _ => continue,
            };
            *count = value.as_u64().unwrap_or(*count);
        }
    }

    /// Cache reads are part of the prompt; thoughts are counted separately from the candidates.
    pub(super) fn usage(&self) -> Usage {
        Usage {
            input: self.prompt.saturating_add(self.tool_use),
            output: self.candidates.saturating_add(self.thoughts),
            cached: self.cached,
            cache_writes: 0,
            reasoning: self.thoughts,
        }
    }
}
