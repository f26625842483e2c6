//! The parameters of the browser tool.

use std::time::Duration;

use haft_contract::ToolError;
use haft_contract::ports::{PictureType, SnapshotFormat, SnapshotOptions};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Map, Value};

use super::DEFAULT_TIMEOUT;

/// Characters of a snapshot, and of an efficient one, which also has this depth.
const SNAPSHOT_CHARS: usize = 80_000;
const EFFICIENT_CHARS: usize = 10_000;
const EFFICIENT_DEPTH: usize = 6;
const MOST_CHARS: usize = 400_000;
const LONGEST_TIMEOUT: u64 = 180_000;

#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(default)]
pub(crate) struct Params {
    /// What to do. 'open', 'navigate' need target_url; 'act' needs kind; 'upload' needs paths and ref; 'download' needs ref and path. 'network' lists requests; 'dialog' says how the next dialog is answered, before the step that opens it.
    pub(super) action: Action,
    /// The address: http or https. For 'snapshot' it is opened first; for kind 'wait' a part of the address to wait for.
    #[schemars(extend("x-aliases" = ["url"]))]
    target_url: Option<String>,
    /// The tab, such as t1; the current one, if absent.
    #[schemars(extend("x-aliases" = ["tab"]))]
    target_id: Option<String>,
    /// For 'act': what to do on the page.
    pub(super) kind: Option<ActKind>,
    /// The element, by its ref from a snapshot, such as e12.
    #[serde(rename = "ref")]
    pub(super) reference: Option<String>,
    /// For kind 'drag': the ref of the element to drag.
    pub(super) start_ref: Option<String>,
    /// For kind 'drag': the ref of the element to drop it on.
    pub(super) end_ref: Option<String>,
    /// For kind 'type': the text, which replaces what is in the field. For kind 'wait': text to wait for.
    #[schemars(extend("x-verbatim" = true))]
    pub(super) text: Option<String>,
    /// For kind 'type': press Enter afterwards.
    pub(super) submit: Option<bool>,
    /// For kind 'type': press one key after the other.
    pub(super) slowly: Option<bool>,
    /// For kind 'click': click twice.
    pub(super) double_click: Option<bool>,
    /// For kind 'click': left, middle or right. Defaults to left.
    pub(super) button: Option<String>,
    /// For kind 'click': keys to hold: Alt, Control, Meta, Shift.
    pub(super) modifiers: Option<Vec<String>>,
    /// For kind 'press': the key, such as Enter, Escape, ArrowDown or Control+a.
    pub(super) key: Option<String>,
    /// For kind 'select': the options, by value or text.
    pub(super) values: Option<Vec<String>>,
    /// For kind 'fill': fields with their new values; true or false for a box to check.
    pub(super) fields: Option<Vec<Field>>,
    /// For kind 'resize': pixels.
    pub(super) width: Option<u32>,
    /// For kind 'resize': pixels.
    pub(super) height: Option<u32>,
    /// For kind 'wait': milliseconds; better wait for text, selector or target_url.
    pub(super) time_ms: Option<u64>,
    /// For kind 'wait': text that must disappear.
    pub(super) text_gone: Option<String>,
    /// For 'snapshot': only what lies beneath this CSS selector. For kind 'wait': an element that must become visible.
    pub(super) selector: Option<String>,
    /// For kind 'wait': domcontentloaded, load or networkidle.
    pub(super) load_state: Option<String>,
    /// For kind 'evaluate': a JavaScript function, such as '() => document.title'; only where the user allows scripts.
    #[serde(rename = "fn")]
    #[schemars(extend("x-verbatim" = true))]
    pub(super) function: Option<String>,
    /// All of an act in one object, with kind and its parameters; the flat parameters do the same.
    pub(super) request: Option<Map<String, Value>>,
    /// For 'snapshot': ai (default), or aria for the whole tree with a ref on every line.
    snapshot_format: Option<Format>,
    /// For 'snapshot': efficient gives at most 10000 characters and 6 levels.
    mode: Option<SnapshotMode>,
    /// For 'snapshot': only elements that can be acted on.
    interactive: Option<bool>,
    /// For 'snapshot': leave out structure without names, and links' addresses.
    compact: Option<bool>,
    /// For 'snapshot': levels of the tree.
    depth: Option<usize>,
    /// For 'snapshot': only this frame, by the ref of its iframe or by a CSS selector.
    frame: Option<String>,
    /// For 'snapshot': add a picture with the refs on it.
    labels: Option<bool>,
    /// How many lines, messages or requests at most.
    limit: Option<usize>,
    /// For 'snapshot': how many characters at most. Defaults to 80000.
    max_chars: Option<usize>,
    /// For 'screenshot': the whole page.
    pub(super) full_page: Option<bool>,
    /// For 'screenshot' and 'upload': the element by a CSS selector, instead of ref.
    element: Option<String>,
    /// For 'screenshot': png (default) or jpeg.
    #[serde(rename = "type")]
    picture: Option<String>,
    /// For 'console': error, warning, info or debug: this level and worse. Defaults to info.
    level: Option<String>,
    /// For 'upload': files of the workspace.
    paths: Option<Vec<String>>,
    /// For 'upload': the ref of the field, instead of ref.
    input_ref: Option<String>,
    /// For 'dialog': whether to accept the next dialog.
    pub(super) accept: Option<bool>,
    /// For 'dialog': the answer to a prompt.
    pub(super) prompt_text: Option<String>,
    /// For 'download' and 'pdf' (default page.pdf), and for 'screenshot' if it is to be kept: where to save it in the workspace.
    path: Option<String>,
    /// How long a step may take. Defaults to 30000.
    timeout_ms: Option<u64>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Action {
    #[default]
    Status,
    Start,
    Stop,
    Profiles,
    Tabs,
    Open,
    Focus,
    Close,
    Navigate,
    Snapshot,
    Screenshot,
    Act,
    Console,
    Network,
    Dialog,
    Upload,
    Download,
    Pdf,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum ActKind {
    Click,
    Type,
    Press,
    Hover,
    Drag,
    Select,
    Fill,
    Wait,
    Resize,
    Evaluate,
    Close,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Format {
    Ai,
    Aria,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum SnapshotMode {
    Efficient,
}

/// A field of a form.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
pub(crate) struct Field {
    /// Its ref.
    #[serde(rename = "ref")]
    pub(super) reference: String,
    /// Its new value.
    #[serde(alias = "text")]
    pub(super) value: String,
}

impl Action {
    /// Whether it reads the page that is open, or acts on it.
    pub(super) fn touches_page(self) -> bool {
        matches!(
            self,
            Self::Snapshot | Self::Screenshot | Self::Act | Self::Console | Self::Network | Self::Upload | Self::Download | Self::Pdf
        )
    }
}

pub(super) fn non_blank(text: Option<&String>) -> Option<&str> {
    text.map(|text| text.trim()).filter(|text| !text.is_empty())
}

pub(super) fn missing(parameter: &str, what: &str) -> ToolError {
    ToolError::validation(format!("Missing required parameter: '{parameter}'. Give {what}."))
}

impl Params {
    /// Refuses calls that lack what their action needs.
    pub(super) fn check(&self) -> Result<(), ToolError> {
        match self.action {
            Action::Open | Action::Navigate if non_blank(self.target_url.as_ref()).is_none() => {
                Err(missing("target_url", "the address to open, such as 'https://example.org'"))
            }
            Action::Act => self.act().map(drop),
            Action::Download => {
                self.required_ref()?;
                non_blank(self.path.as_ref()).map(drop).ok_or_else(|| missing("path", "where to save the file in the workspace"))
            }
            Action::Upload if self.uploads().is_empty() => Err(missing("paths", "the files of the workspace")),
            Action::Upload if self.upload_ref().is_none() && self.element.is_none() => {
                Err(missing("ref", "the ref of the field for files"))
            }
            _ => Ok(()),
        }
    }

    /// The address that is opened.
    pub(super) fn address(&self) -> Option<String> {
        let opens = matches!(self.action, Action::Open | Action::Navigate | Action::Snapshot);
        let url = non_blank(self.target_url.as_ref()).filter(|_| opens)?;
        // A host alone means its page.
        let is_complete = url.contains("://") || url.starts_with("about:") || url.starts_with("data:") || url.starts_with("javascript:");
        Some(if is_complete { url.to_owned() } else { format!("https://{url}") })
    }
    pub(super) fn awaited_address(&self) -> Option<String> {
        non_blank(self.target_url.as_ref()).map(str::to_owned)
    }
    pub(super) fn tab(&self) -> Option<&str> {
        non_blank(self.target_id.as_ref())
    }
    pub(super) fn timeout(&self) -> Duration {
        self.timeout_ms.map_or(DEFAULT_TIMEOUT, |time| Duration::from_millis(time.clamp(500, LONGEST_TIMEOUT)))
    }
    pub(super) fn required_ref(&self) -> Result<&str, ToolError> {
        non_blank(self.reference.as_ref()).ok_or_else(|| missing("ref", "the ref of an element from a snapshot, such as 'e12'"))
    }
    pub(super) fn upload_ref(&self) -> Option<String> {
        non_blank(self.input_ref.as_ref()).or(non_blank(self.reference.as_ref())).map(str::to_owned)
    }
    pub(super) fn selector_of_element(&self) -> Option<String> {
        non_blank(self.element.as_ref()).map(str::to_owned)
    }
    pub(super) fn uploads(&self) -> &[String] {
        self.paths.as_deref().filter(|_| self.action == Action::Upload).unwrap_or_default()
    }
    /// Where the file of the result goes.
    pub(super) fn saved_path(&self) -> Option<&str> {
        match self.action {
            Action::Pdf => Some(non_blank(self.path.as_ref()).unwrap_or("page.pdf")),
            Action::Download | Action::Screenshot => non_blank(self.path.as_ref()),
            _ => None,
        }
    }
    pub(super) fn picture_type(&self) -> PictureType {
        self.picture.as_deref().and_then(|name| name.to_ascii_lowercase().parse().ok()).unwrap_or(PictureType::Png)
    }
    pub(super) fn level(&self) -> String {
        self.level.clone().unwrap_or_else(|| "info".to_owned())
    }
    pub(super) fn limit_or(&self, usual: usize) -> usize {
        self.limit.unwrap_or(usual)
    }
    pub(super) fn snapshot_options(&self) -> SnapshotOptions {
        let is_efficient = self.mode == Some(SnapshotMode::Efficient);
        let usual = if is_efficient { EFFICIENT_CHARS } else { SNAPSHOT_CHARS };
        SnapshotOptions {
            format: if self.snapshot_format == Some(Format::Aria) { SnapshotFormat::Aria } else { SnapshotFormat::Ai },
            interactive: self.interactive.unwrap_or_default(),
            compact: self.compact.unwrap_or(is_efficient),
            depth: self.depth.or(is_efficient.then_some(EFFICIENT_DEPTH)),
            selector: non_blank(self.selector.as_ref()).map(str::to_owned),
            frame: non_blank(self.frame.as_ref()).map(str::to_owned),
            labels: self.labels.unwrap_or_default(),
            limit: self.limit,
            max_chars: self.max_chars.unwrap_or(usual).clamp(200, MOST_CHARS),
        }
    }
}
