//! Waiting for a page, by condition.

use std::time::{Duration, Instant};

use haft_contract::ToolError;
use haft_contract::ports::{BrowserReply, LoadState, WaitCondition};
use serde_json::{Value, json};

use crate::browser::Browser;
use crate::failure::{PageError, timed_out};
use crate::page::TabHandle;

/// Time for the answer, within that of the call.
const RESERVE: Duration = Duration::from_millis(300);
/// Between two tries where a page is replaced again and again.
const PAUSE: Duration = Duration::from_millis(50);

impl Browser {
    /// Waits for each part of a condition.
    pub(crate) async fn wait(&self, tab: &TabHandle, condition: &WaitCondition, timeout: Duration) -> Result<BrowserReply, ToolError> {
        let deadline = Instant::now() + timeout.saturating_sub(RESERVE);
        if let Some(time) = condition.time {
            tokio::time::sleep(time.min(timeout.saturating_sub(RESERVE))).await;
        }
        let parts: [(&str, &Option<String>); 4] =
            [("text", &condition.text), ("textGone", &condition.text_gone), ("selector", &condition.selector), ("url", &condition.url)];
        for (key, value) in parts {
            let Some(value) = value else { continue };
            if !self.until_page(tab, &json!({key: value}), deadline).await? {
                let shown = haft_text::display::shorten(value, 100);
                let what = match key {
                    "text" => format!("The text {shown:?} did not appear"),
                    "textGone" => format!("The text {shown:?} did not disappear"),
                    "selector" => format!("No visible element matched '{shown}'"),
                    _ => format!("The address did not become '{shown}'"),
                };
                return Err(timed_out(&what, timeout.as_secs_f64()));
            }
        }
        if let Some(load) = condition.load {
            self.until_loaded(tab, load).await?;
        }
        Ok(self.arrived(tab, "Waited"))
    }

    /// Whether the condition held before the deadline. The page may be replaced by another meanwhile.
    async fn until_page(&self, tab: &TabHandle, condition: &Value, deadline: Instant) -> Result<bool, ToolError> {
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let call = format!("until({condition}, {})", left.as_millis());
            match self.script(tab, &tab.target, &call).await {
                Ok(held) => return Ok(held == Value::Bool(true)),
                Err(PageError::Gone) if !left.is_zero() && self.tab(Some(&tab.target)).is_ok() => tokio::time::sleep(PAUSE).await,
                Err(error) => return Err(error.into()),
            }
        }
    }

    async fn until_loaded(&self, tab: &TabHandle, load: LoadState) -> Result<(), PageError> {
        self.state
            .until(|state| {
                let Some(tab) = state.tab(&tab.target) else { return Some(Err(PageError::Gone)) };
                let is_there = match load {
                    LoadState::DomContentLoaded => tab.load.has_content,
                    LoadState::Load => tab.load.is_loaded,
                    LoadState::NetworkIdle => tab.load.is_idle && tab.in_flight.is_empty(),
                };
                is_there.then_some(Ok(()))
            })
            .await
    }
}
