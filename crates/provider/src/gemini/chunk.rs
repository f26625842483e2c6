//! One event of a stream: a whole GenerateContentResponse, with what is new in it.

use serde::Deserialize;
use serde::de::IgnoredAny;
use serde_json::Value;

use super::refusal::Said;
use crate::Usage;

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Chunk {
    pub(super) candidates: Option<Vec<Candidate>>,
    pub(super) prompt_feedback: Option<Feedback>,
    pub(super) usage_metadata: Option<Counts>,
    pub(super) error: Option<Said>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Candidate {
    pub(super) content: Option<Content>,
    pub(super) finish_reason: Option<String>,
    pub(super) finish_message: Option<String>,
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Content {
    pub(super) parts: Option<Vec<Part>>,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Part {
    pub(super) text: Option<String>,
    pub(super) thought: Option<bool>,
    pub(super) thought_signature: Option<String>,
    pub(super) function_call: Option<FunctionCall>,
    /// Media and code that we did not ask for: nothing of such a part is kept.
    pub(super) inline_data: Option<IgnoredAny>,
    pub(super) executable_code: Option<IgnoredAny>,
    pub(super) code_execution_result: Option<IgnoredAny>,
}

impl Part {
    pub(super) fn is_foreign(&self) -> bool {
        self.inline_data.is_some() || self.executable_code.is_some() || self.code_execution_result.is_some()
    }
}

#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct FunctionCall {
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) args: Value,
}

impl FunctionCall {
    /// The protocol promises an object, and none where there are no arguments.
    pub(super) fn arguments(&self) -> String {
        match &self.args {
            Value::Null => "{}".to_owned(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", default)]
pub(super) struct Feedback {
    pub(super) block_reason: Option<String>,
}

/// Token counts of the answer so far; one that is absent has not changed.
#[derive(Deserialize, Default)]
#[serde(default)]
pub(super) struct Counts {
    #[serde(rename = "promptTokenCount")]
    prompt: Option<u64>,
    #[serde(rename = "toolUsePromptTokenCount")]
    tool_use: Option<u64>,
    #[serde(rename = "cachedContentTokenCount")]
    cached: Option<u64>,
    #[serde(rename = "candidatesTokenCount")]
    candidates: Option<u64>,
    #[serde(rename = "thoughtsTokenCount")]
    thoughts: Option<u64>,
}

impl Counts {
    pub(super) fn update(&mut self, new: &Self) {
        self.prompt = new.prompt.or(self.prompt);
        self.tool_use = new.tool_use.or(self.tool_use);
        self.cached = new.cached.or(self.cached);
        self.candidates = new.candidates.or(self.candidates);
        self.thoughts = new.thoughts.or(self.thoughts);
    }

    /// What was read from a cache is part of the prompt; thoughts are counted beside the answer.
    pub(super) fn usage(&self) -> Usage {
        let reasoning = self.thoughts.unwrap_or(0);
        Usage {
            input: self.prompt.unwrap_or(0).saturating_add(self.tool_use.unwrap_or(0)),
            output: self.candidates.unwrap_or(0).saturating_add(reasoning),
            cached: self.cached.unwrap_or(0),
            cache_writes: 0,
            reasoning,
        }
    }
}
