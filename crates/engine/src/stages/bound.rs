//! bound: no output larger than its cap, no secret in it. Output that is cut is spilled in full and can be paged.

use std::borrow::Cow;

use haft_contract::{Content, SpillFile, ToolError, ToolOutput, ports::Journal};
use haft_redact::redact;
use haft_text::truncate::first_bytes;

/// Space for the notes that tools and the engine add to a text that is just within its cap.
const SLACK: usize = 4096;
/// How many bytes behind a cut are searched, so that a secret across it is seen whole.
const BEYOND: usize = 4096;

/// What stands before the path of a spill in a text that was cut.
pub const WHOLE_IN: &str = "All of it is in '";

/// Tells the model, in its dialect, how to read a file from some line on.
pub(crate) type ReadOn<'a> = &'a (dyn Fn(usize) -> String + Sync);

/// Redacts and caps an outcome, whatever stage it came from. A text to be stored in its place is what a spill gets.
pub(crate) async fn bound(
    outcome: Result<ToolOutput, ToolError>,
    cap: usize,
    journal: &dyn Journal,
    read_on: ReadOn<'_>,
    stored: Option<&str>,
) -> Result<ToolOutput, ToolError> {
    match outcome {
        Ok(output) if is_too_long(&output, cap) => Ok(Box::pin(cut_output(output, cap, journal, read_on, stored)).await),
        Ok(mut output) => {
            redact_texts(&mut output);
            Ok(output)
        }
        Err(error) => Err(bound_error(error, cap)),
    }
}

/// The cap counts all text blocks together.
fn is_too_long(output: &ToolOutput, cap: usize) -> bool {
    output.texts().map(str::len).sum::<usize>() > cap + SLACK
}

/// The texts become one, and the rest of it one spill.
async fn cut_output(mut output: ToolOutput, cap: usize, journal: &dyn Journal, read_on: ReadOn<'_>, stored: Option<&str>) -> ToolOutput {
    let whole = joined(&mut output.content);
    let shown = cut(&whole, cap, journal, read_on, stored).await;
    output.content.insert(0, Content::Text(shown));
    output
}

/// Removes known secrets, and cuts nothing.
pub(crate) fn redact_outcome(outcome: &mut Result<ToolOutput, ToolError>) {
    match outcome {
        Ok(output) => redact_texts(output),
        Err(error) => {
            if let Cow::Owned(clean) = redact(error.message()) {
                let old = std::mem::replace(error, ToolError::execution(""));
                *error = old.with_message(clean);
            }
        }
    }
}

fn redact_texts(output: &mut ToolOutput) {
    for text in output.content.iter_mut().filter_map(Content::as_text_mut) {
        if let Cow::Owned(clean) = redact(text) {
            *text = clean;
        }
    }
}

/// Takes the text out of the blocks, also out of documents; pictures stay.
fn joined(content: &mut Vec<Content>) -> String {
    let mut texts = Vec::new();
    content.retain_mut(|block| match block.as_text_mut() {
        Some(text) => {
            texts.push(std::mem::take(text));
            false
        }
        None => true,
    });
    if texts.len() == 1 { texts.swap_remove(0) } else { texts.join("\n") }
}

/// Keeps the whole in a spill and the head in the result, with a note that says how to continue.
async fn cut(text: &str, cap: usize, journal: &dyn Journal, read_on: ReadOn<'_>, stored: Option<&str>) -> String {
    let mut end = text.floor_char_boundary(cap);
    if let Some(line) = text[..end].rfind('\n').filter(|line| *line > end / 2) {
        end = line + 1;
    }
    let window = first_bytes(text, end + BEYOND);
    let clean = redact(window);
    // Only what came from before the cut: the far end of the window may hold the beginning of another secret.
    let shown = first_bytes(&clean, end.min(clean.len().saturating_sub(window.len() - end)));
    let next = shown.bytes().filter(|byte| *byte == b'\n').count() + 1;
    let note = match spill(stored.unwrap_or(text), journal).await {
        Ok(file) if stored.is_some() => format!("What is stored of it, as a hook rewrote it, is in '{}'.", file.path.display()),
        Ok(file) => format!("{WHOLE_IN}{}': {} continues.", file.path.display(), read_on(next)),
        // The tool has run: a full disk must not turn it into a failure that the model repeats.
        Err(error) => error.message().to_owned(),
    };
    format!("{shown}\n\n(Output truncated. Showing the first {end} of {} bytes. {note})", text.len())
}

/// Writes a text to a spill.
pub(crate) async fn spill(text: &str, journal: &dyn Journal) -> Result<SpillFile, ToolError> {
    let mut writer = journal.spill("txt").await?;
    writer.write(text.as_bytes()).await?;
    writer.finish().await
}

/// An error's message is bounded and redacted like any output.
fn bound_error(error: ToolError, cap: usize) -> ToolError {
    let clean = redact(error.message());
    if matches!(clean, Cow::Borrowed(_)) && clean.len() <= cap {
        return error;
    }
    let head = first_bytes(&clean, cap);
    let message = if head.len() < clean.len() { format!("{head}… (message cut)") } else { clean.into_owned() };
    error.with_message(message)
}
