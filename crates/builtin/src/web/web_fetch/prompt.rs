//! The answer to a prompt about a page: of the small model, or else the passages about it.

use std::time::Duration;

use haft_contract::{ToolContext, ToolError};
use haft_extract::find_passages;

use super::reading::PageText;
use crate::shared::brief;

/// Of the passages that answer a prompt.
const PASSAGE_CHARS: usize = 6_000;
/// Of the page that the small model reads.
const MODEL_CHARS: usize = 100_000;
/// How long the small model has; then the passages do.
const MODEL_TIME: Duration = Duration::from_secs(40);

/// What is shown of a page.
pub(super) struct PromptAnswer {
    /// `None` is the page itself.
    pub(super) text: Option<String>,
    /// How it was made, in words.
    pub(super) how: String,
    /// How it was made, for programs.
    pub(super) by: Option<&'static str>,
    pub(super) model: Option<String>,
    pub(super) note: Option<String>,
}

impl PromptAnswer {
    /// The page itself.
    pub(super) fn of_page(page: &PageText) -> Self {
        Self { text: None, how: page.extractor.describe().into(), by: None, model: None, note: None }
    }
}

/// Answers a prompt.
pub(super) async fn answer(page: &PageText, prompt: &str, cx: &ToolContext) -> PromptAnswer {
    let Some(model) = cx.small_model() else { return passages(page, prompt, None) };
    let text: String = page.text.chars().take(MODEL_CHARS).collect();
    let answer = tokio::time::timeout(MODEL_TIME, model.answer(prompt, &text)).await;
    let late = |_| Err(ToolError::execution(format!("It took longer than {} s.", MODEL_TIME.as_secs())));
    match answer.unwrap_or_else(late) {
        Ok(answer) => {
            let part = if text.len() < page.text.len() { ", which read the beginning of the page" } else { "" };
            let how = format!("the answer of {} to your prompt{part}", model.name());
            PromptAnswer { text: Some(answer), how, by: Some("model"), model: Some(model.name()), note: None }
        }
        Err(error) => passages(page, prompt, Some(format!("{} did not answer your prompt: {}", model.name(), error.message()))),
    }
}

/// The passages about a prompt, or the page where no passage stands out.
fn passages(page: &PageText, prompt: &str, failure: Option<String>) -> PromptAnswer {
    let found = find_passages(&page.text, prompt, PASSAGE_CHARS);
    let parts: Vec<_> = found.iter().map(|passage| passage.text).collect();
    // All of a short page is its own best answer.
    if parts.is_empty() || page.text.len() <= PASSAGE_CHARS {
        let note = match failure {
            Some(failure) => format!("{failure} The page itself is above. Your prompt: {}", brief(prompt)),
            None => format!("No model is configured for prompts of web_fetch, so the page itself is above. Your prompt: {}", brief(prompt)),
        };
        return PromptAnswer { note: Some(note), ..PromptAnswer::of_page(page) };
    }
    let why = if failure.is_some() { "" } else { " (no model is configured for this)" };
    let how = format!("the passages about your prompt, found by their words{why}");
    PromptAnswer { text: Some(parts.join("\n\n[…]\n\n")), how, by: Some("passages"), model: None, note: failure }
}
