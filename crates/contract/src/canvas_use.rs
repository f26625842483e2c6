//! The canvas, as planned.

use std::time::Duration;

use serde_json::Value;

use crate::capability::{alive, unplanned};
use crate::ports::CanvasCommand;
use crate::{Plan, PlanContext, ToolContext, ToolError};

/// The channel that a plan names for the canvas.
const CHANNEL: &str = "canvas";
/// Who sees it.
const USER: &str = "user";

fn no_canvas() -> ToolError {
    ToolError::execution("There is no canvas here: it is on the page of `haft serve`. Ask the user to start it and to open its page.")
}

/// The canvas of the session, as planned.
#[derive(Debug, Clone, Copy)]
pub struct CanvasUse<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl CanvasUse<'_> {
    /// Does something with the canvas, if that is planned.
    pub async fn perform(&self, command: CanvasCommand, patience: Duration) -> Result<Value, ToolError> {
        alive(self.cx)?;
        let pages = self.cx.host().services().canvas.as_deref().ok_or_else(no_canvas)?;
        if !self.cx.plan().permits_send(CHANNEL, USER) {
            return Err(unplanned("show on", CHANNEL));
        }
        if !pages.is_open() {
            return Err(ToolError::execution(
                "No page of the user is open, so nothing can be shown. Ask the user to open the page of `haft serve`.",
            ));
        }
        // What a page gives back was made by a document that may come from anywhere.
        if matches!(command, CanvasCommand::Eval(_) | CanvasCommand::Snapshot { .. }) {
            self.cx.mark_untrusted();
        }
        pages.perform(&self.cx.call().session, command, patience).await
    }
}

impl PlanContext<'_> {
    /// Plans the use of the canvas.
    pub fn canvas(&self) -> Result<Plan, ToolError> {
        self.services().canvas.as_deref().ok_or_else(no_canvas)?;
        Ok(Plan::nothing().send(CHANNEL, USER, false))
    }
}
