//! What pages print and request.

use haft_contract::ToolError;
use haft_contract::ports::BrowserReply;
use haft_text::{display, numbers};
use serde_json::json;

use crate::browser::Browser;
use crate::failure::PageError;
use crate::page::TabHandle;

impl Browser {
    /// What the scripts of a page have printed, of a level and above, the newest last.
    pub(crate) fn console(&self, tab: &TabHandle, level: &str, limit: usize) -> Result<BrowserReply, ToolError> {
        let state = self.state.lock();
        let tab = state.tab(&tab.target).ok_or(PageError::Gone)?;
        let least = severity(level);
        let found: Vec<String> = tab
            .console
            .iter()
            .filter(|entry| severity(&entry.level) >= least)
            .map(|entry| format!("[{}] {}", entry.level, entry.text))
            .collect();
        let newest = &found[found.len().saturating_sub(limit)..];
        Ok(BrowserReply {
            text: format!("{} in the console of tab {}.", numbers::count(newest.len(), "message"), tab.id),
            page: Some(newest.join("\n")).filter(|text| !text.is_empty()),
            details: json!({"tab": tab.id, "messages": newest.len()}),
            ..BrowserReply::default()
        })
    }

    /// What a page has requested, the newest last.
    pub(crate) fn requests(&self, tab: &TabHandle, limit: usize) -> Result<BrowserReply, ToolError> {
        let state = self.state.lock();
        let tab = state.tab(&tab.target).ok_or(PageError::Gone)?;
        let line = |entry: &crate::state::RequestEntry| {
            let outcome = entry.outcome.as_deref().unwrap_or("pending");
            format!("{} {} ({}) {outcome}", entry.method, display::shorten(&entry.url, 300), entry.kind)
        };
        let newest: Vec<String> = tab.requests.iter().skip(tab.requests.len().saturating_sub(limit)).map(line).collect();
        Ok(BrowserReply {
            text: format!("{} of tab {}.", numbers::count(newest.len(), "request"), tab.id),
            page: Some(newest.join("\n")).filter(|text| !text.is_empty()),
            details: json!({"tab": tab.id, "requests": newest.len()}),
            ..BrowserReply::default()
        })
    }
}

/// How bad a message is; what is not known counts as information.
fn severity(level: &str) -> u8 {
    match level {
        "error" | "assert" => 3,
        "warning" | "warn" => 2,
        "debug" | "verbose" | "trace" => 0,
        _ => 1,
    }
}
