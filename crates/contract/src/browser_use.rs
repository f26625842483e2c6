//! The browser of a session, as planned.

use std::time::Duration;

use crate::capability::{alive, unplanned};
use crate::ports::{BrowserAction, BrowserControl, BrowserReply, BrowserRequest};
use crate::{Connect, Effect, PlanContext, ToolContext, ToolError};

/// The page of a tab that shows nothing.
const BLANK: &str = "about:blank";

fn no_browser() -> ToolError {
    ToolError::execution("There is no browser here: this program has none for its sessions. Read pages with web_fetch instead.")
}

/// The browser of the session, as planned. What pages say is untrusted.
#[derive(Debug, Clone, Copy)]
pub struct BrowserUse<'a> {
    pub(crate) cx: &'a ToolContext,
}

impl<'a> BrowserUse<'a> {
    fn port(self) -> Result<&'a dyn BrowserControl, ToolError> {
        alive(self.cx)?;
        self.cx.host().browser().ok_or_else(no_browser)
    }

    /// Does what was planned. An address must be one whose connection the plan names.
    pub async fn perform(&self, tab: Option<&str>, action: BrowserAction, timeout: Duration) -> Result<BrowserReply, ToolError> {
        let port = self.port()?;
        let plan = self.cx.plan();
        if !plan.uses_browser() {
            return Err(unplanned("use", "the browser"));
        }
        if let BrowserAction::Open(url) | BrowserAction::Navigate(url) = &action
            && let Some(wanted) = located(self.cx.host().http(), url)?
            && !plan.permits_connect(&wanted)
        {
            return Err(unplanned("connect to", &format!("{}:{}", wanted.host, wanted.port)));
        }
        let hosts = plan.effects().iter().filter_map(|effect| match effect {
            Effect::Connect(connect) if connect.is_tunnel() => Some((connect.host.clone(), connect.port)),
            _ => None,
        });
        let (session, call, tab) = (self.cx.call().session.to_string(), self.cx.call().id.clone(), tab.map(str::to_owned));
        let request = BrowserRequest { session, call, tab, action, timeout, hosts: hosts.collect(), gate: self.cx.egress() };
        let reply = port.perform(request).await?;
        if reply.page.is_some() || reply.picture.is_some() || reply.file.is_some() {
            self.cx.mark_untrusted();
        }
        Ok(reply)
    }
}

/// The connection of an address: a tunnel, because a page sends what it wants. The loopback addresses mean the network of the session,
/// where its own servers are. `None` for the page that shows nothing.
fn located(http: &dyn crate::ports::HttpClient, url: &str) -> Result<Option<Connect>, ToolError> {
    if url.trim() == BLANK {
        return Ok(None);
    }
    let mut connect = http.locate("GET", url)?;
    if is_own_loopback(&connect.host) {
        return Ok(Some(Connect::new(connect.scheme, Connect::SANDBOX_HOST, connect.port, "POST")));
    }
    "CONNECT".clone_into(&mut connect.method);
    Ok(Some(connect))
}

fn is_own_loopback(host: &str) -> bool {
    matches!(host, "127.0.0.1" | "localhost" | "[::1]" | "::1") || host.ends_with(".localhost")
}

impl<'a> PlanContext<'a> {
    /// The browser, for the plan.
    pub fn browser(&self) -> Result<&'a dyn BrowserControl, ToolError> {
        self.host().browser().ok_or_else(no_browser)
    }

    /// The connection of an address that a page is opened at; `None` for the page that shows nothing.
    pub fn page_connect(&self, url: &str) -> Result<Option<Connect>, ToolError> {
        located(self.host().http(), url)
    }

    /// The connection by which an action reaches the host of the page that is open: it was permitted when the page was opened, but
    /// what the action sends there may leak.
    pub fn open_page_connect(&self, tab: Option<&str>) -> Result<Option<Connect>, ToolError> {
        let Some(url) = self.browser()?.address(self.session(), tab) else { return Ok(None) };
        // The browser shows errors and its own pages under addresses that lead nowhere.
        let Ok(Some(mut connect)) = self.page_connect(&url) else { return Ok(None) };
        "GET".clone_into(&mut connect.method);
        (connect.refused, connect.causes) = (None, Vec::new());
        Ok(Some(connect))
    }
}
