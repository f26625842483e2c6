//! Tabs: opened, closed, led to addresses.

use std::time::Duration;

use haft_contract::ports::BrowserReply;
use haft_contract::{ErrorKind, NetworkVerdict, ToolError};
use haft_text::display;
use serde_json::json;
use url::Url;

use crate::browser::Browser;
use crate::devtools::DevToolsError;
use crate::failure::PageError;
use crate::page::TabHandle;
use crate::state::MOST_TABS;

const BLANK: &str = "about:blank";
/// How long pictures and late scripts of a page are waited for once its document is there.
const LATE_PARTS: Duration = Duration::from_secs(3);

impl Browser {
    /// Opens an address in a new tab; the blank one that the browser starts with is used first.
    pub(crate) async fn open(&self, url: &str) -> Result<BrowserReply, ToolError> {
        let blank = {
            let state = self.state.lock();
            state.tabs.iter().find(|tab| state.tabs.len() == 1 && tab.url == BLANK && tab.load.documents <= 1).map(TabHandle::from)
        };
        let tab = match blank {
            Some(tab) => tab,
            None => self.new_tab().await?,
        };
        self.state.lock().current = Some(tab.target.clone());
        self.navigate(&tab, url).await
    }

    async fn new_tab(&self) -> Result<TabHandle, ToolError> {
        if self.state.lock().tabs.len() >= MOST_TABS {
            return Err(ToolError::execution(format!("{MOST_TABS} tabs are open already. Close one with action=close first.")));
        }
        let created = self.devtools.call(None, "Target.createTarget", json!({"url": BLANK})).await.map_err(PageError::from)?;
        let target = created["targetId"].as_str().unwrap_or_default().to_owned();
        let tab = self.state.until(|state| state.tab(&target).map(TabHandle::from)).await;
        self.until_attached(&tab.session).await?;
        Ok(tab)
    }

    /// Leads a tab to an address, and waits until its document is there.
    pub(crate) async fn navigate(&self, tab: &TabHandle, url: &str) -> Result<BrowserReply, ToolError> {
        let no_address = || ToolError::validation(format!("'{}' is not an address that a browser opens.", display::shorten(url, 200)));
        // The browser gets what was parsed here: two parsers could see two hosts in one text.
        let parsed = Url::parse(url).map_err(|_| no_address())?;
        if !parsed.host_str().is_none_or(is_host) {
            return Err(no_address());
        }
        let documents = {
            let mut state = self.state.lock();
            state.current = Some(tab.target.clone());
            let tab = state.tab_mut(&tab.target).ok_or(PageError::Gone)?;
            tab.is_crashed = false;
            tab.load.documents
        };
        let reply = self.devtools.call(Some(&tab.session), "Page.navigate", json!({"url": parsed.as_str()})).await;
        let reply = reply.map_err(|error| match error {
            DevToolsError::Refused(why) if why.contains("invalid URL") => no_address(),
            other => PageError::from(other).into(),
        })?;
        if let Some(failed) = reply["errorText"].as_str() {
            return Err(self.not_reached(url, failed));
        }
        if let Some(refused) = self.refusal(url) {
            return Err(refused);
        }
        if let Some(loader) = reply["loaderId"].as_str() {
            self.until_content(tab, loader, documents).await?;
        }
        // Where it led to may be refused, and a refusal of the proxy looks like a page.
        match self.address(Some(&tab.target)).and_then(|address| self.refusal(&address)) {
            Some(refused) => Err(refused),
            None => Ok(self.arrived(tab, "Opened")),
        }
    }

    /// Waits for a document of a tab that had so many before, and a while for its other parts.
    async fn until_content(&self, tab: &TabHandle, loader: &str, before: u64) -> Result<(), PageError> {
        self.state
            .until(|state| match state.tab(&tab.target) {
                None => Some(Err(PageError::Gone)),
                Some(tab) if tab.is_crashed => Some(Err(PageError::Refused(format!("the page in tab {} has crashed", tab.id)))),
                // A page may lead on to another at once.
                Some(tab) => (tab.load.has_content && (tab.load.loader == loader || tab.load.documents > before + 1)).then_some(Ok(())),
            })
            .await?;
        let late_parts = self.state.until(|state| state.tab(&tab.target).is_none_or(|tab| tab.load.is_loaded).then_some(()));
        // Whatever is late is late: a picture must not delay the text.
        tokio::time::timeout(LATE_PARTS, late_parts).await.ok();
        Ok(())
    }

    /// Where a tab is now.
    pub(crate) fn arrived(&self, tab: &TabHandle, what: &str) -> BrowserReply {
        let url = self.address(Some(&tab.target)).unwrap_or_default();
        let text = format!("{what} in tab {}. Now at: {}", tab.id, display::shorten(&url, 300));
        BrowserReply { text, details: json!({"tab": tab.id, "url": url}), ..BrowserReply::default() }
    }

    /// Why an address was not reached: by the decision of the proxy, or as the browser says it.
    fn not_reached(&self, url: &str, failed: &str) -> ToolError {
        if let Some(refused) = self.refusal(url) {
            return refused;
        }
        let (shown, code) = (display::shorten(url, 200), failed.trim_start_matches("net::"));
        let why = match code {
            "ERR_CONNECTION_REFUSED" => "nothing listens there".to_owned(),
            "ERR_ABORTED" => {
                "it is a file to download, or the page stopped loading: use action=download with the ref of its link".to_owned()
            }
            "ERR_BLOCKED_BY_CLIENT" | "ERR_UNSAFE_PORT" | "ERR_UNSAFE_REDIRECT" | "ERR_UNKNOWN_URL_SCHEME" | "ERR_ACCESS_DENIED" => {
                format!("the browser does not go there ({code})")
            }
            _ if code.starts_with("ERR_CERT") => format!("its certificate is not valid ({code})"),
            _ if code.contains("SSL") => format!("its TLS connection failed ({code})"),
            _ => format!("it cannot be reached ({code})"),
        };
        ToolError::new(ErrorKind::NetworkError, format!("'{shown}' was not opened: {why}."))
    }

    /// The refusal of the proxy for the host of an address.
    fn refusal(&self, url: &str) -> Option<ToolError> {
        let url = Url::parse(url).ok()?;
        let (host, port) = (url.host_str()?.trim_end_matches('.').to_owned(), url.port_or_known_default()?);
        let decisions = self.child.proxy.decisions();
        let of_host = || decisions.iter().filter(|decision| decision.host == host && decision.port == port);
        if of_host().any(|decision| decision.verdict == NetworkVerdict::Connected) {
            return None;
        }
        let refused =
            of_host().find_map(|decision| decision.refusal.as_ref().map(|refusal| display::shorten(&refusal.reason, 400).into_owned()));
        let silent = || of_host().any(|decision| decision.verdict == NetworkVerdict::Unreachable).then(|| "it does not answer".to_owned());
        let why = refused.or_else(silent)?;
        Some(ToolError::new(ErrorKind::NetworkError, format!("'{host}:{port}' was not reached: {why}.")))
    }

    pub(crate) async fn focus(&self, tab: &TabHandle) -> Result<BrowserReply, ToolError> {
        self.devtools.call(Some(&tab.session), "Page.bringToFront", json!({})).await.map_err(PageError::from)?;
        self.state.lock().current = Some(tab.target.clone());
        Ok(self.arrived(tab, "Continuing"))
    }

    pub(crate) async fn close(&self, tab: &TabHandle) -> Result<BrowserReply, ToolError> {
        let is_last = self.state.lock().tabs.len() <= 1;
        if is_last {
            // A browser without tabs ends.
            self.new_tab().await?;
        }
        let closed = self.devtools.call(None, "Target.closeTarget", json!({"targetId": tab.target})).await;
        closed.map_err(PageError::from)?;
        self.state.until(|state| state.tab(&tab.target).is_none().then_some(())).await;
        let text = format!("Closed the tab {}.", tab.id);
        Ok(BrowserReply { text, details: json!({"tab": tab.id, "closed": true}), ..BrowserReply::default() })
    }
}

/// Whether a host has only characters of names and addresses: the browser writes others in its own way.
fn is_host(host: &str) -> bool {
    host.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._:[]".contains(&byte))
}
