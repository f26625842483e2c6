//! Port for the browser of a session: pages that tools open, read and act on.

use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::EgressGate;
use crate::settings::named_enum;
use crate::{BoxFuture, ToolError};

named_enum! {
    /// How a snapshot of a page is written.
    SnapshotFormat {
        /// A tree of roles and names, with a ref for every element that can be acted on.
        Ai = "ai",
        /// The whole accessibility tree, with a ref for every element.
        Aria = "aria",
    }
}

named_enum! {
    /// The type of a picture.
    PictureType {
        /// PNG.
        Png = "png",
        /// JPEG.
        Jpeg = "jpeg" | "jpg",
    }
}

named_enum! {
    /// How far a page must have been loaded.
    LoadState {
        /// Its document is complete.
        DomContentLoaded = "domcontentloaded",
        /// So are its pictures, styles and scripts.
        Load = "load",
        /// It has asked for nothing during half a second.
        NetworkIdle = "networkidle",
    }
}

named_enum! {
    /// A button of the mouse.
    MouseButton {
        /// The first.
        Left = "left",
        /// The one in between.
        Middle = "middle",
        /// The one that opens menus.
        Right = "right",
    }
}

/// What a snapshot shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SnapshotOptions {
    /// How it is written.
    pub format: SnapshotFormat,
    /// Only elements that can be acted on.
    pub interactive: bool,
    /// Without structure that has no name.
    pub compact: bool,
    /// Levels of the tree.
    pub depth: Option<usize>,
    /// Only what lies beneath this element, as a CSS selector.
    pub selector: Option<String>,
    /// Only this frame: its ref, or a CSS selector of it.
    pub frame: Option<String>,
    /// Also a picture of the page with the refs on it.
    pub labels: bool,
    /// Elements.
    pub limit: Option<usize>,
    /// Characters.
    pub max_chars: usize,
}

/// What a picture shows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct PictureOptions {
    /// The whole page, and not only what a window shows of it.
    pub full_page: bool,
    /// One element, by its ref.
    pub element: Option<String>,
    /// One element, by a CSS selector.
    pub selector: Option<String>,
    /// JPEG instead of PNG.
    pub jpeg: bool,
}

/// A field of a form and its new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldValue {
    /// The field, by its ref.
    pub element: String,
    /// Its text; for a box to check `true` or `false`.
    pub value: String,
}

/// What a page is waited for. The first that is given is waited for, then the next.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct WaitCondition {
    /// Time that passes.
    pub time: Option<Duration>,
    /// Text that is on the page.
    pub text: Option<String>,
    /// Text that is not.
    pub text_gone: Option<String>,
    /// An element that is visible, as a CSS selector.
    pub selector: Option<String>,
    /// A part of the address, or a pattern of the whole with `*`.
    pub url: Option<String>,
    /// How far it is loaded.
    pub load: Option<LoadState>,
}

/// What is done on a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PageAct {
    /// Clicks an element.
    Click {
        /// Its ref.
        element: String,
        /// The button.
        button: MouseButton,
        /// Twice.
        double: bool,
        /// Keys that are held: Alt, Control, Meta, Shift.
        modifiers: Vec<String>,
    },
    /// Types into an element.
    Type {
        /// Its ref.
        element: String,
        /// What.
        text: String,
        /// Presses Enter afterwards.
        submit: bool,
        /// One key after the other.
        slowly: bool,
    },
    /// Presses a key, such as `Enter` or `Control+a`, in an element or where the focus is.
    Press {
        /// The key.
        key: String,
        /// The ref of the element.
        element: Option<String>,
    },
    /// Moves the mouse over an element.
    Hover {
        /// Its ref.
        element: String,
    },
    /// Drags an element onto another.
    Drag {
        /// The ref of the first.
        from: String,
        /// The ref of the other.
        to: String,
    },
    /// Selects options, by their values or texts.
    Select {
        /// The ref of the list.
        element: String,
        /// The options.
        values: Vec<String>,
    },
    /// Fills several fields.
    Fill(Vec<FieldValue>),
    /// Waits for a condition.
    Wait(WaitCondition),
    /// Sets the size of the window.
    Resize {
        /// Pixels.
        width: u32,
        /// Pixels.
        height: u32,
    },
    /// Runs a function of JavaScript in the page.
    Evaluate {
        /// Its source, such as `() => document.title`.
        function: String,
        /// The ref of the element that it gets.
        element: Option<String>,
    },
    /// Closes the tab.
    Close,
}

/// A file for a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PageFile {
    /// Its name, without a folder.
    pub name: String,
    /// What is in it.
    pub content: Vec<u8>,
}

/// What a browser is asked to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BrowserAction {
    /// Whether it runs, and its tabs.
    Status,
    /// Starts it.
    Start,
    /// Ends it.
    Stop,
    /// Its tabs.
    Tabs,
    /// Opens a tab.
    Open(String),
    /// Makes a tab the current one.
    Focus,
    /// Closes a tab.
    Close,
    /// Leads a tab to another address.
    Navigate(String),
    /// Describes the page.
    Snapshot(SnapshotOptions),
    /// Takes a picture of it.
    Screenshot(PictureOptions),
    /// Acts on it.
    Act(PageAct),
    /// What its scripts have printed, of this level and above.
    Console {
        /// `error`, `warning`, `info` or `debug`.
        level: String,
        /// The newest.
        limit: usize,
    },
    /// What it has requested.
    Requests {
        /// The newest.
        limit: usize,
    },
    /// How its next question is answered.
    Dialog {
        /// With yes.
        accept: bool,
        /// With this text.
        text: Option<String>,
    },
    /// Gives files to a field.
    Upload {
        /// The field, or the button that asks for files, by its ref.
        element: Option<String>,
        /// The field, by a CSS selector.
        selector: Option<String>,
        /// The files.
        files: Vec<PageFile>,
    },
    /// Takes the file that a click brings.
    Download {
        /// What is clicked, by its ref.
        element: String,
    },
    /// The page as a PDF document.
    Pdf,
}

/// A call for the browser of a session.
pub struct BrowserRequest {
    /// The session.
    pub session: String,
    /// The id of the call.
    pub call: String,
    /// The tab; the current one, if absent.
    pub tab: Option<String>,
    /// What to do.
    pub action: BrowserAction,
    /// How long it may take.
    pub timeout: Duration,
    /// Hosts and ports that the plan of the call names.
    pub hosts: Vec<(String, u16)>,
    /// Decides on all others, until the next call.
    pub gate: Option<Arc<dyn EgressGate>>,
}

crate::opaque_debug!(BrowserRequest: session = session, tab = tab, action = action);

/// What came of it.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct BrowserReply {
    /// In words of this program.
    pub text: String,
    /// In words of the page, which are untrusted.
    pub page: Option<String>,
    /// A picture, and its media type.
    pub picture: Option<(String, Vec<u8>)>,
    /// A file.
    pub file: Option<PageFile>,
    /// What else happened: questions that were answered, connections that were refused, tabs that opened.
    pub notes: Vec<String>,
    /// For people and programs.
    pub details: Value,
}

/// The browsers of the sessions of a host, one for each.
pub trait BrowserControl: Send + Sync {
    /// The address of a tab, or of the current one; `None` where there is no page yet.
    fn address(&self, session: &str, tab: Option<&str>) -> Option<String>;
    /// Whether scripts of the model may run in pages.
    fn allows_scripts(&self) -> bool;
    /// Does what is asked, and starts a browser where that needs one.
    fn perform(&self, request: BrowserRequest) -> BoxFuture<'_, Result<BrowserReply, ToolError>>;
    /// Ends the browser of a session.
    fn end_session(&self, session: &str);
}
