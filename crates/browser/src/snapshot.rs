//! Snapshots: the accessibility tree of a page as text, with a ref for each element that can be acted on.

use std::collections::HashMap;
use std::fmt::Write as _;

use haft_contract::ToolError;
use haft_contract::ports::{BrowserReply, SnapshotFormat, SnapshotOptions};
use haft_text::{display, numbers};
use serde::Deserialize;
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::failure::PageError;
use crate::page::{ElementHandle, TabHandle};

/// How deep closed shadow roots are opened in each other.
const MOST_ROUNDS: usize = 4;
/// Frames in one snapshot, and how deep they may lie in each other.
const MOST_FRAMES: usize = 30;
const DEEPEST_FRAME: usize = 5;
/// Elements that an error about a stale ref lists.
const MOST_CANDIDATES: usize = 8;
const NO_LIMIT: usize = 1_000_000;

/// The snapshot of one frame.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct FrameSnapshot {
    lines: Vec<String>,
    frames: Vec<InnerFrame>,
    count: usize,
    /// Lines and branches that were left out.
    left: usize,
    truncated: bool,
    /// Characters that are never seen.
    unseen: usize,
    /// Elements that may have a closed shadow root.
    hosts: usize,
    next: u64,
    title: String,
    url: String,
}

/// A frame in a snapshot.
#[derive(Debug, Deserialize)]
struct InnerFrame {
    /// The line that it is described on, from 1.
    line: usize,
    indent: usize,
    number: u64,
}

/// What was gathered from all frames.
#[derive(Debug, Default)]
struct SnapshotText {
    lines: Vec<String>,
    count: usize,
    characters: usize,
    is_cut: bool,
    unseen: usize,
    frames: usize,
}

impl Browser {
    /// Describes the page of a tab.
    pub(crate) async fn snapshot(&self, tab: &TabHandle, options: &SnapshotOptions) -> Result<BrowserReply, ToolError> {
        let root = match &options.frame {
            Some(frame) => self.find_frame(tab, frame).await?,
            None => tab.target.clone(),
        };
        let mut text = SnapshotText::default();
        let head = self.gather(tab, &root, options, 0, 0, &mut text).await?;
        self.remember_elements(tab, &text.lines);
        let picture = if options.labels { Some(self.labelled_picture(tab, &root).await?) } else { None };
        let mut page = format!("URL: {}\nTitle: {}\n{}", head.url, json!(head.title), text.lines.join("\n"));
        if text.lines.is_empty() {
            page.push_str("(nothing that can be read: the page may be empty, or a picture; action=screenshot shows it)");
        }
        let mut notes = Vec::new();
        if text.is_cut {
            notes.push("The page has more: use selector, interactive=true, compact=true, or a larger maxChars to see it.".to_owned());
        }
        if text.unseen > 0 {
            notes.push(format!("{} removed from the text.", numbers::count(text.unseen, "invisible character")));
        }
        Ok(BrowserReply {
            text: format!("Snapshot of tab {} ({}).", tab.id, numbers::count(text.count, "line")),
            page: Some(page),
            picture,
            notes,
            details: json!({"tab": tab.id, "url": head.url, "lines": text.count, "frames": text.frames, "truncated": text.is_cut}),
            ..BrowserReply::default()
        })
    }

    /// Adds the lines of a frame and of those in it.
    async fn gather(
        &self,
        tab: &TabHandle,
        frame: &str,
        options: &SnapshotOptions,
        indent: usize,
        depth: usize,
        text: &mut SnapshotText,
    ) -> Result<FrameSnapshot, PageError> {
        text.frames += 1;
        let mut found = self.frame_snapshot(tab, frame, options, indent, text).await?;
        (text.unseen, text.count) = (text.unseen + found.unseen, text.count + found.count);
        text.is_cut |= found.left > 0 || found.truncated;
        let frames = std::mem::take(&mut found.frames);
        let mut inner = frames.iter().peekable();
        for (at, line) in std::mem::take(&mut found.lines).into_iter().enumerate() {
            text.characters += line.chars().count() + indent * 2 + 1;
            text.lines.push(if indent == 0 { line } else { format!("{}{line}", "  ".repeat(indent)) });
            let Some(owner) = inner.next_if(|owner| owner.line == at + 1) else { continue };
            if depth >= DEEPEST_FRAME || text.frames >= MOST_FRAMES || text.characters >= options.max_chars {
                text.is_cut = true;
                continue;
            }
            // A frame that disappears meanwhile is not worth an error.
            if let Ok(id) = self.frame_of_owner(tab, frame, owner.number).await {
                let whole = SnapshotOptions { selector: None, frame: None, ..options.clone() };
                Box::pin(self.gather(tab, &id, &whole, indent + owner.indent, depth + 1, text)).await.ok();
            }
        }
        Ok(found)
    }

    async fn frame_snapshot(
        &self,
        tab: &TabHandle,
        frame: &str,
        options: &SnapshotOptions,
        indent: usize,
        text: &SnapshotText,
    ) -> Result<FrameSnapshot, PageError> {
        let (base, number) = {
            let mut state = self.state.lock();
            let tab = state.tab_mut(&tab.target).ok_or(PageError::Gone)?;
            (tab.next_element, tab.frame(frame).number)
        };
        let limit = options.limit.unwrap_or(NO_LIMIT).saturating_sub(text.count);
        let settings = json!({
            "base": base,
            "prefix": if number == 0 { String::new() } else { format!("f{number}") },
            "all": options.format == SnapshotFormat::Aria,
            "interactive": options.interactive,
            "compact": options.compact,
            "links": !options.compact,
            "depth": options.depth.unwrap_or(NO_LIMIT).saturating_sub(indent),
            "selector": options.selector,
            "limit": limit,
            "chars": options.max_chars.saturating_sub(text.characters),
        });
        let mut rounds = 0;
        let found = loop {
            let found = self.script(tab, frame, &format!("snapshot({settings})")).await?;
            let found: FrameSnapshot = serde_json::from_value(found).map_err(|error| PageError::Refused(error.to_string()))?;
            rounds += 1;
            if rounds > MOST_ROUNDS || !self.open_roots(tab, frame, found.hosts).await? {
                break found;
            }
        };
        if let Some(tab) = self.state.lock().tab_mut(&tab.target) {
            tab.next_element = tab.next_element.max(found.next);
        }
        Ok(found)
    }

    /// The frame that an element shows.
    async fn frame_of_owner(&self, tab: &TabHandle, frame: &str, number: u64) -> Result<String, PageError> {
        let element = ElementHandle { frame: frame.to_owned(), number, reference: String::new() };
        let object = self.object(tab, &element).await?;
        let session = self.context(tab, frame).await?.session;
        let described = self.devtools.call(Some(&session), "DOM.describeNode", json!({"objectId": object})).await?;
        let id = described["node"]["frameId"].as_str().ok_or(PageError::Gone)?.to_owned();
        if let Some(tab) = self.state.lock().tab_mut(&tab.target) {
            tab.frame(&id).parent = Some(frame.to_owned());
        }
        Ok(id)
    }

    /// The frame that a model names: by its ref, by the prefix of the refs in it, or by a selector.
    async fn find_frame(&self, tab: &TabHandle, wanted: &str) -> Result<String, ToolError> {
        let numbered = wanted.trim().strip_prefix('f').and_then(|number| number.parse::<u32>().ok());
        if let Some(number) = numbered {
            let state = self.state.lock();
            let known = state.tab(&tab.target).and_then(|tab| tab.frame_numbered(number));
            return known.map(str::to_owned).ok_or_else(|| PageError::Stale.about(wanted));
        }
        if crate::page::parse_reference(wanted).is_some() {
            let element = self.element(tab, wanted)?;
            return self.frame_of_owner(tab, &element.frame, element.number).await.map_err(|error| error.about(wanted));
        }
        let number = self.script(tab, &tab.target, &format!("numberOf({})", json!(wanted))).await?;
        let number = number.as_u64().unwrap_or_default();
        let not_frame = |_| ToolError::validation(format!("'{}' is not a frame.", display::shorten(wanted, 60)));
        self.frame_of_owner(tab, &tab.target, number).await.map_err(not_frame)
    }

    /// Remembers what the refs of a snapshot were.
    fn remember_elements(&self, tab: &TabHandle, lines: &[String]) {
        let elements: HashMap<String, String> = lines.iter().filter_map(|line| described_element(line)).collect();
        if let Some(tab) = self.state.lock().tab_mut(&tab.target) {
            tab.last_elements = elements;
        }
    }

    /// The error of an action on an element; of one that is gone it says what is there now.
    pub(crate) async fn element_error(&self, tab: &TabHandle, element: &str, error: PageError) -> ToolError {
        if error != PageError::Stale {
            return error.about(element);
        }
        let was = self.state.lock().tab(&tab.target).and_then(|tab| tab.last_elements.get(element).cloned());
        let now = self.similar_elements(tab, was.as_deref()).await;
        let mut message = format!("There is no element {} on the page any more", display::shorten(element, 40));
        if let Some(was) = &was {
            write!(message, " (it was {was})").ok();
        }
        let advice = if now.is_empty() { ". Take a snapshot.".to_owned() } else { format!(". Now there is: {}.", now.join("; ")) };
        message.push_str(&advice);
        ToolError::execution(message)
    }

    /// Elements with the name or the role of one that is gone, the most alike first.
    async fn similar_elements(&self, tab: &TabHandle, was: Option<&str>) -> Vec<String> {
        let options = SnapshotOptions {
            format: SnapshotFormat::Ai,
            interactive: true,
            compact: true,
            depth: None,
            selector: None,
            frame: None,
            labels: false,
            limit: Some(500),
            max_chars: 20_000,
        };
        let mut text = SnapshotText::default();
        if self.gather(tab, &tab.target, &options, 0, 0, &mut text).await.is_err() {
            return Vec::new();
        }
        self.remember_elements(tab, &text.lines);
        let (role, name) = was.map(split_words).unwrap_or_default();
        let likeness = |line: &&String| {
            let found = described_element(line).map(|(_, words)| words).unwrap_or_default();
            let (other_role, other_name) = split_words(&found);
            2 * usize::from(!name.is_empty() && name == other_name) + usize::from(role == other_role)
        };
        let mut lines: Vec<&String> = text.lines.iter().filter(|line| described_element(line).is_some()).collect();
        lines.sort_by_key(|line| std::cmp::Reverse(likeness(line)));
        let shown = |line: &String| display::shorten(line.trim().trim_start_matches("- "), 120).into_owned();
        lines.into_iter().take(MOST_CANDIDATES).map(shown).collect()
    }
}

/// The ref of a line, and the role and name before it.
fn described_element(line: &str) -> Option<(String, String)> {
    let (words, rest) = line.trim().trim_start_matches("- ").split_once(" [ref=")?;
    let (reference, _) = rest.split_once(']')?;
    Some((reference.to_owned(), display::shorten(words, 120).into_owned()))
}

fn split_words(words: &str) -> (&str, &str) {
    words.split_once(' ').unwrap_or((words, ""))
}

/// A number of the page script.
pub(crate) fn number(value: &Value, key: &str) -> f64 {
    value[key].as_f64().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refs_and_words_of_lines_are_found() {
        for (line, expected) in [
            ("  - button \"Save\" [ref=e3] [disabled]", Some(("e3", "button \"Save\""))),
            ("- link \"a [ref=x] b\" [ref=f1e2]", Some(("x", "link \"a"))),
            ("- heading \"Hi\" [level=1]", None),
            ("- text: [ref=", None),
        ] {
            assert_eq!(described_element(line), expected.map(|(one, other)| (one.to_owned(), other.to_owned())), "{line}");
        }
    }
}
