//! What the model gets of a page: its words between markers, ours around them.

use haft_contract::ToolOutput;
use haft_contract::ports::BrowserReply;
use haft_text::untrusted;
use serde_json::json;

/// A reply as it is shown.
pub(super) struct Shown {
    reply: BrowserReply,
    before: Vec<String>,
}

impl Shown {
    pub(super) fn new(reply: BrowserReply) -> Self {
        Self { reply, before: Vec::new() }
    }

    /// With what happened in the step before.
    pub(super) fn after(mut self, earlier: BrowserReply) -> Self {
        self.before.push(earlier.text);
        self.before.extend(earlier.notes);
        self
    }

    /// The result, and the file that it brings.
    pub(super) fn into_output(self) -> (ToolOutput, Option<Vec<u8>>) {
        let BrowserReply { text, page, picture, file, notes, mut details } = self.reply;
        let mut parts = self.before;
        parts.push(text);
        parts.extend(notes);
        let mut shown = parts.iter().map(|part| untrusted::neutralize(part)).collect::<Vec<_>>().join("\n");
        if let Some(page) = &page {
            shown.push('\n');
            shown.push_str(&untrusted::wrap("content of a web page", page));
            if let Some(details) = details.as_object_mut() {
                details.insert("untrusted".into(), json!(true));
            }
        }
        let mut output = ToolOutput::text(shown).with_details(details);
        let mut content = file.map(|file| file.content);
        if let Some((mime, data)) = picture {
            content = content.or_else(|| Some(data.clone()));
            output = output.with_image(mime, data);
        }
        (output, content)
    }
}
