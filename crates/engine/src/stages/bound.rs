//! bound: no output larger than its cap, no secret in it; what is cut is kept in full and can be paged.

use haft_contract::{Content, Journal, ToolError, ToolOutput};

use crate::redact::redact;

/// Room for the notes that tools and the engine add to a text that is just within its cap.
const SLACK: usize = 4096;

/// Redacts and caps an output. The cap counts all text blocks together.
pub(crate) async fn bound(mut output: ToolOutput, cap: usize, journal: &dyn Journal) -> Result<ToolOutput, ToolError> {
    let mut left = cap + SLACK;
    for block in &mut output.content {
        let Content::Text(text) = block else { continue };
        if text.len() > left {
            // The spill redacts on its way to the disk; only the head is left to do here.
            *text = cut(std::mem::take(text), left.min(cap), journal).await?;
        }
        if let std::borrow::Cow::Owned(clean) = redact(text) {
            *text = clean;
        }
        left = left.saturating_sub(text.len());
    }
    Ok(output)
}

/// Keeps the whole in a spill and the head in the result, with a note that says how to go on.
async fn cut(text: String, cap: usize, journal: &dyn Journal) -> Result<String, ToolError> {
    let mut spill = journal.spill("txt").await?;
    spill.write(text.as_bytes()).await?;
    let file = spill.finish().await?;
    let mut end = cap.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    if let Some(line) = text[..end].rfind('\n').filter(|line| *line > end / 2) {
        end = line + 1;
    }
    let next = text[..end].bytes().filter(|byte| *byte == b'\n').count() + 1;
    Ok(format!(
        "{}\n\n(Output truncated. Showing the first {} of {} bytes. All of it is in '{}': read_file with that path and offset={next} goes on.)",
        &text[..end],
        end,
        text.len(),
        file.path.display()
    ))
}

/// An error's message is bounded and redacted like any output.
pub(crate) fn bound_error(error: ToolError, cap: usize) -> ToolError {
    let clean = redact(error.message());
    if matches!(clean, std::borrow::Cow::Borrowed(_)) && clean.len() <= cap {
        return error;
    }
    let mut end = cap.min(clean.len());
    while !clean.is_char_boundary(end) {
        end -= 1;
    }
    let message = if end < clean.len() { format!("{}… (message cut)", &clean[..end]) } else { clean.into_owned() };
    error.with_message(message)
}
