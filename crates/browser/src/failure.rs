//! Why something in a browser failed, in words for the model.

use haft_contract::{ErrorKind, ToolError};
use haft_text::display;

use crate::devtools::DevToolsError;

/// Characters of a reason that a page gave.
const LONGEST: usize = 300;

/// Why something on a page failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum PageError {
    /// The browser has ended.
    Ended,
    /// The tab was closed, or its page is gone.
    Gone,
    /// No element has this number any more.
    Stale,
    /// The element cannot be used now.
    Blocked(String),
    /// No element matches the selector.
    Missing(String),
    /// The selector cannot be parsed.
    Selector(String),
    /// The element is something else.
    Field(String),
    /// There is no such option.
    Choice(String),
    /// The page or the browser refused.
    Refused(String),
}

impl From<DevToolsError> for PageError {
    fn from(error: DevToolsError) -> Self {
        match error {
            DevToolsError::Closed => Self::Ended,
            DevToolsError::Refused(why) if is_gone(&why) => Self::Gone,
            DevToolsError::Refused(why) => Self::Refused(why),
        }
    }
}

/// What the browser says of sessions and documents that have ended meanwhile.
fn is_gone(why: &str) -> bool {
    let ends = [
        "Session with given id not found",
        "No target with given id",
        "Target closed",
        "No frame for given id",
        "Frame with the given id was not found",
    ];
    ends.iter().any(|end| why.contains(end))
}

/// Whether a document was replaced while a script ran in it.
pub(crate) fn is_replaced(why: &str) -> bool {
    let ends = ["Cannot find context", "context was destroyed", "navigated or closed", "Cannot find default execution context"];
    ends.iter().any(|end| why.contains(end))
}

impl PageError {
    /// The failure that the page script threw.
    pub(crate) fn from_exception(description: &str) -> Self {
        let first = description.lines().next().unwrap_or_default();
        let Some((kind, rest)) = first.split_once("haft:").and_then(|(_, rest)| rest.split_once(':')) else {
            return Self::Refused(display::shorten(first, LONGEST).into_owned());
        };
        let rest = display::shorten(rest, LONGEST).into_owned();
        match kind {
            "stale" => Self::Stale,
            "blocked" => Self::Blocked(rest),
            "missing" => Self::Missing(rest),
            "selector" => Self::Selector(rest),
            "field" => Self::Field(rest),
            "option" => Self::Choice(rest),
            _ => Self::Refused(rest),
        }
    }

    /// The error of an action on an element.
    pub(crate) fn about(self, element: &str) -> ToolError {
        let element = display::shorten(element, 60);
        match self {
            Self::Blocked(why) => ToolError::execution(blocked(&element, &why)),
            Self::Field(what) => ToolError::validation(format!("{element} is {what}.")),
            Self::Choice(what) => ToolError::validation(format!("{element} has no option {what}.")),
            Self::Stale => ToolError::execution(format!("There is no element {element} on the page any more. Take a snapshot.")),
            other => other.into(),
        }
    }
}

fn blocked(element: &str, why: &str) -> String {
    match why.split_once(':') {
        Some(("covered", by)) => {
            format!("{element} is covered by {by}, which would get the click. Close or move that first, or act on it instead.")
        }
        _ => match why {
            "disabled" => {
                format!("{element} is disabled, and did not become enabled. Do what enables it first, such as filling in required fields.")
            }
            "readonly" => format!("{element} is read-only."),
            "moving" => format!("{element} did not come to rest. Wait for the page first (act with kind=wait)."),
            "outside" => format!("{element} lies outside of what can be scrolled into view."),
            _ => format!("{element} is not visible. Take a snapshot to see what is."),
        },
    }
}

impl From<PageError> for ToolError {
    fn from(error: PageError) -> Self {
        match error {
            PageError::Ended => {
                Self::execution("The browser has ended. Open the page again: that starts a new one, without the earlier cookies.")
            }
            PageError::Gone => {
                Self::execution("The tab was closed or replaced its page meanwhile. List the tabs with action=tabs, or take a snapshot.")
            }
            PageError::Missing(selector) => {
                Self::validation(format!("No element matches the selector '{selector}'. Take a snapshot without it."))
            }
            PageError::Selector(selector) => Self::validation(format!("'{selector}' is not a CSS selector.")),
            PageError::Refused(why) => {
                Self::execution(format!("The browser refused: {}.", display::shorten(&why, LONGEST).trim_end_matches('.')))
            }
            PageError::Stale => PageError::Stale.about("with this ref"),
            other @ (PageError::Blocked(_) | PageError::Field(_) | PageError::Choice(_)) => other.about("The element"),
        }
    }
}

/// The error of something that took too long.
pub(crate) fn timed_out(what: &str, seconds: f64) -> ToolError {
    ToolError::new(
        ErrorKind::Timeout,
        format!("{what} within {seconds} s. Give more time with timeoutMs, or look at the page with a snapshot."),
    )
}
