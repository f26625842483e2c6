//! Port for the live view of a browser: what the user sees of it, and how they take it over and hand it back.

use std::sync::{Arc, Weak};

use super::MouseButton;
use crate::settings::named_enum;
use crate::{BoxFuture, ToolError};

named_enum! {
    /// Who acts in a browser.
    ScreenControl {
        /// The model.
        Model = "model",
        /// The user, by the view that asks.
        Yours = "yours",
        /// The user, by another view.
        Other = "other",
    }
}

named_enum! {
    /// What a mouse does.
    MouseStep {
        /// A button goes down.
        Press = "press",
        /// It comes up.
        Release = "release",
        /// The mouse moves.
        Move = "move",
    }
}

/// What a browser shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScreenView {
    /// Grows with each picture, and when another one acts.
    pub version: u64,
    /// Who acts.
    pub control: ScreenControl,
    /// The address of the current tab.
    pub url: String,
    /// Its title.
    pub title: String,
    /// A picture of it, in JPEG; none before the first.
    pub jpeg: Option<Arc<[u8]>>,
}

/// What the user does in a view. Places are parts of its width and height, from 0 to 1.
#[derive(Debug, Clone, PartialEq)]
pub enum ScreenInput {
    /// The mouse.
    Mouse {
        /// What it does.
        step: MouseStep,
        /// From the left.
        x: f64,
        /// From the top.
        y: f64,
        /// The button; none for a mouse that moves.
        button: Option<MouseButton>,
        /// 2 for a double click.
        clicks: u32,
        /// Keys that are held: Alt, Control, Meta, Shift.
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
    /// A key, such as `Enter` or `Control+a`.
    Key(String),
    /// Text that is pasted.
    Text(String),
}

/// A browser that runs, as users see it.
pub trait BrowserScreen: Send + Sync {
    /// What it shows, as soon as that is newer than `after`; `None` when the browser has ended. A view that has the browser keeps it by
    /// asking.
    fn view<'a>(&'a self, after: Option<u64>, viewer: &'a str) -> BoxFuture<'a, Option<ScreenView>>;
    /// Gives the browser to the user: calls of the model wait.
    fn take_over(&self, viewer: &str) -> Result<(), ToolError>;
    /// Gives it back to the model.
    fn hand_back(&self);
    /// Does what the user did in the view that has the browser.
    fn input<'a>(&'a self, viewer: &'a str, events: Vec<ScreenInput>) -> BoxFuture<'a, Result<(), ToolError>>;
}

/// Gets to know the browsers that start.
pub trait BrowserScreens: Send + Sync {
    /// The browser of a session has started.
    fn started(&self, session: &str, screen: Weak<dyn BrowserScreen>);
}
