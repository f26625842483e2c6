//! What the user did in a browser, as it travels: from a page to its server, and from there to the worker that has the browser.

use haft_contract::ports::ScreenInput;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Places are parts of the width and height of the picture, from 0 to 1.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "type", rename_all = "snake_case")]
#[non_exhaustive]
pub enum BrowserInputEvent {
    /// The mouse.
    Mouse {
        /// `press`, `release` or `move`.
        step: String,
        /// From the left.
        x: f64,
        /// From the top.
        y: f64,
        /// `left`, `middle` or `right`; none for a mouse that only moves.
        button: Option<String>,
        /// 2 for a double click.
        #[serde(default)]
        clicks: u32,
        /// Keys that are held.
        #[serde(default)]
        modifiers: Vec<String>,
    },
    /// Its wheel.
    Wheel {
        /// From the left.
        x: f64,
        /// From the top.
        y: f64,
        /// Pixels to the right.
        right: f64,
        /// Pixels down.
        down: f64,
    },
    /// A key.
    Key {
        /// `Enter`, `a`, `Control+a`.
        key: String,
    },
    /// Text.
    Text {
        /// What is pasted.
        text: String,
    },
}

impl From<ScreenInput> for BrowserInputEvent {
    fn from(input: ScreenInput) -> Self {
        match input {
            ScreenInput::Mouse { step, x, y, button, clicks, modifiers } => {
                let (step, button) = (step.as_str().to_owned(), button.map(|button| button.as_str().to_owned()));
                Self::Mouse { step, x, y, button, clicks, modifiers }
            }
            ScreenInput::Wheel { x, y, right, down } => Self::Wheel { x, y, right, down },
            ScreenInput::Key(key) => Self::Key { key },
            ScreenInput::Text(text) => Self::Text { text },
        }
    }
}

impl TryFrom<BrowserInputEvent> for ScreenInput {
    type Error = String;

    fn try_from(event: BrowserInputEvent) -> Result<Self, String> {
        Ok(match event {
            BrowserInputEvent::Mouse { step, x, y, button, clicks, modifiers } => {
                let (step, button) = (step.parse()?, button.map(|button| button.parse()).transpose()?);
                Self::Mouse { step, x, y, button, clicks, modifiers }
            }
            BrowserInputEvent::Wheel { x, y, right, down } => Self::Wheel { x, y, right, down },
            BrowserInputEvent::Key { key } => Self::Key(key),
            BrowserInputEvent::Text { text } => Self::Text(text),
        })
    }
}
