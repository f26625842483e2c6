//! What pages show of a turn beside its text, where another process runs it: the canvas, and the browser.

use haft_contract::ToolError;
use haft_contract::ports::{BrowserScreen, CanvasCommand, CanvasDocument, ScreenControl, ScreenInput, ScreenView};
use haft_text::base64;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::browsers::BrowserInputEvent;

/// What the model does with the canvas, as it travels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemoteCanvas {
    /// Shows it.
    Present {
        /// Where the document is from.
        source: Option<String>,
        /// The document.
        html: Option<String>,
    },
    /// Hides it.
    Hide,
    /// Runs a script in it.
    Eval {
        /// The script.
        code: String,
    },
    /// Draws it.
    Snapshot {
        /// Whether as JPEG; else as PNG.
        is_jpeg: bool,
        /// Most pixels of its width.
        max_width: u32,
        /// Quality of a JPEG image in percent.
        quality: u32,
    },
    /// Adds messages of A2UI.
    Push {
        /// The messages.
        messages: Vec<Value>,
    },
    /// Removes what was pushed.
    Reset,
}

impl RemoteCanvas {
    /// `None` if this version cannot send it.
    pub fn new(command: CanvasCommand) -> Option<Self> {
        Some(match command {
            CanvasCommand::Present(document) => {
                let (source, html) = document.map(|document| (document.source, document.html)).unzip();
                Self::Present { source, html }
            }
            CanvasCommand::Hide => Self::Hide,
            CanvasCommand::Eval(code) => Self::Eval { code },
            CanvasCommand::Snapshot { mime, max_width, quality } => Self::Snapshot { is_jpeg: mime == JPEG, max_width, quality },
            CanvasCommand::Push(messages) => Self::Push { messages },
            CanvasCommand::Reset => Self::Reset,
            _ => return None,
        })
    }

    /// Whether it changes what is shown: only that is of use to a server that comes later.
    pub fn changes_display(&self) -> bool {
        !matches!(self, Self::Eval { .. } | Self::Snapshot { .. })
    }
}

const JPEG: &str = "image/jpeg";

impl From<RemoteCanvas> for CanvasCommand {
    fn from(command: RemoteCanvas) -> Self {
        match command {
            RemoteCanvas::Present { source, html } => {
                Self::Present(html.map(|html| CanvasDocument { source: source.unwrap_or_default(), html }))
            }
            RemoteCanvas::Hide => Self::Hide,
            RemoteCanvas::Eval { code } => Self::Eval(code),
            RemoteCanvas::Snapshot { is_jpeg, max_width, quality } => {
                Self::Snapshot { mime: if is_jpeg { JPEG } else { "image/png" }, max_width, quality }
            }
            RemoteCanvas::Push { messages } => Self::Push(messages),
            RemoteCanvas::Reset => Self::Reset,
        }
    }
}

/// What a server says to a command.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "came", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemoteCanvasAnswer {
    /// A page has answered.
    Answered {
        /// What.
        answer: Value,
    },
    /// This server cannot do it.
    Refused {
        /// Why.
        message: String,
    },
}

/// What a page asks of a browser.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "do", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemoteScreenAsk {
    /// What does it show?
    View {
        /// As soon as there is something newer.
        after: Option<u64>,
        /// The view that asks.
        viewer: String,
    },
    /// The user wants it.
    TakeOver {
        /// In this view.
        viewer: String,
    },
    /// The model may have it again.
    HandBack,
    /// What the user did.
    Input {
        /// In this view.
        viewer: String,
        /// In order.
        events: Vec<BrowserInputEvent>,
    },
}

/// What the process that has it answers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "came", rename_all = "snake_case")]
#[non_exhaustive]
pub enum RemoteScreenAnswer {
    /// What it shows.
    View(RemoteView),
    /// It has ended.
    Ended,
    /// It is done.
    Done,
    /// It is not done.
    Refused {
        /// Why.
        message: String,
    },
}

/// A view as it travels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RemoteView {
    version: u64,
    control: String,
    url: String,
    title: String,
    jpeg: Option<String>,
}

impl RemoteView {
    /// `None` if it was said by a version that this one does not understand.
    pub(crate) fn into_view(self) -> Option<ScreenView> {
        let control: ScreenControl = self.control.parse().ok()?;
        let jpeg = self.jpeg.as_deref().and_then(base64::decode).map(Into::into);
        Some(ScreenView { version: self.version, control, url: self.url, title: self.title, jpeg })
    }
}

impl RemoteScreenAnswer {
    /// Asks the browser, and says what it answers.
    pub async fn ask(screen: &dyn BrowserScreen, ask: RemoteScreenAsk) -> Self {
        let done = |done: Result<(), ToolError>| match done {
            Ok(()) => Self::Done,
            Err(error) => Self::Refused { message: error.message().to_owned() },
        };
        match ask {
            RemoteScreenAsk::View { after, viewer } => screen.view(after, &viewer).await.map_or(Self::Ended, |view| {
                let (control, jpeg) = (view.control.as_str().to_owned(), view.jpeg.map(|jpeg| base64::encode(&jpeg)));
                Self::View(RemoteView { version: view.version, control, url: view.url, title: view.title, jpeg })
            }),
            RemoteScreenAsk::TakeOver { viewer } => done(screen.take_over(&viewer)),
            RemoteScreenAsk::HandBack => {
                screen.hand_back();
                Self::Done
            }
            RemoteScreenAsk::Input { viewer, events } => match events.into_iter().map(ScreenInput::try_from).collect() {
                Ok(events) => done(screen.input(&viewer, events).await),
                Err(message) => Self::Refused { message },
            },
        }
    }
}
