//! The browsers of the sessions of a host: one for each, started when it is needed.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use haft_contract::ports::{BrowserAction, BrowserControl, BrowserReply, BrowserRequest, BrowserScreen, BrowserScreens};
use haft_contract::{BoxFuture, ToolError};
use haft_jobs::LocalProcesses;
use serde_json::json;

use crate::browser::Browser;
use crate::chromium::BrowserSettings;

/// Browsers at one time: each takes some hundred megabytes.
const MOST_BROWSERS: usize = 8;

/// Held while a browser is started.
type StartSlot = Arc<tokio::sync::Mutex<()>>;

/// The browsers of sessions. They end when it is dropped.
pub struct BrowserService {
    processes: Arc<LocalProcesses>,
    settings: BrowserSettings,
    /// Who shows browsers to the user.
    screens: Option<Arc<dyn BrowserScreens>>,
    /// Running browsers, for what must not wait.
    running: Mutex<HashMap<String, Arc<Browser>>>,
    /// One start at a time for each session.
    slots: Mutex<HashMap<String, StartSlot>>,
}

haft_contract::opaque_debug!(BrowserService: settings = settings);

impl BrowserService {
    /// Browsers in the sandbox of these commands.
    pub fn new(processes: Arc<LocalProcesses>, settings: BrowserSettings) -> Self {
        Self { processes, settings, screens: None, running: Mutex::default(), slots: Mutex::default() }
    }

    /// Shows them to users here.
    #[must_use]
    pub fn with_screens(mut self, screens: Option<Arc<dyn BrowserScreens>>) -> Self {
        self.screens = screens;
        self
    }

    fn running(&self) -> MutexGuard<'_, HashMap<String, Arc<Browser>>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn current(&self, session: &str) -> Option<Arc<Browser>> {
        self.running().get(session).filter(|browser| !browser.is_ended()).cloned()
    }

    /// The browser of a session, started if there is none.
    async fn get_or_start(&self, session: &str) -> Result<Arc<Browser>, ToolError> {
        let slot = {
            let mut slots = self.slots.lock().unwrap_or_else(PoisonError::into_inner);
            Arc::clone(slots.entry(session.to_owned()).or_default())
        };
        let _starting = slot.lock().await;
        if let Some(browser) = self.current(session) {
            return Ok(browser);
        }
        self.running().retain(|_, browser| !browser.is_ended());
        if self.running().len() >= MOST_BROWSERS {
            return Err(ToolError::execution(format!(
                "{MOST_BROWSERS} sessions have a browser already. Stop one of them with action=stop."
            )));
        }
        let browser = Arc::new(Browser::start(&self.processes, session, &self.settings).await?);
        self.running().insert(session.to_owned(), Arc::clone(&browser));
        if let Some(screens) = &self.screens {
            let screen: Arc<dyn BrowserScreen> = Arc::clone(&browser.screen) as _;
            screens.started(session, Arc::downgrade(&screen));
        }
        Ok(browser)
    }

    async fn serve(&self, request: BrowserRequest) -> Result<BrowserReply, ToolError> {
        let session = request.session.clone();
        match (&request.action, self.current(&session)) {
            (BrowserAction::Stop, running) => {
                self.end_session(&session);
                let text = if running.is_some() { "The browser was stopped." } else { "No browser ran." };
                Ok(BrowserReply { text: text.to_owned(), details: json!({"running": false}), ..BrowserReply::default() })
            }
            (BrowserAction::Status | BrowserAction::Tabs, None) => Ok(not_running()),
            (BrowserAction::Start | BrowserAction::Open(_) | BrowserAction::Navigate(_), None) => {
                self.get_or_start(&session).await?.perform(request).await
            }
            (_, None) => Err(ToolError::execution("No page is open: the browser does not run. Open one with action=open and targetUrl.")),
            (_, Some(browser)) => browser.perform(request).await,
        }
    }
}

/// The error of a script where scripts are off.
pub(crate) fn no_scripts() -> ToolError {
    ToolError::denied(
        "Scripts of the model do not run in pages here: browser.evaluate is false. Use the other kinds of act, or ask the user to set browser.evaluate = true.",
    )
}

fn not_running() -> BrowserReply {
    let text = "The browser does not run. Opening a page starts it.".to_owned();
    BrowserReply { text, details: json!({"running": false, "tabs": []}), ..BrowserReply::default() }
}

impl BrowserControl for BrowserService {
    fn address(&self, session: &str, tab: Option<&str>) -> Option<String> {
        self.current(session)?.address(tab)
    }
    fn allows_scripts(&self) -> bool {
        self.settings.scripts
    }
    fn perform(&self, request: BrowserRequest) -> BoxFuture<'_, Result<BrowserReply, ToolError>> {
        Box::pin(self.serve(request))
    }
    fn end_session(&self, session: &str) {
        self.running().remove(session);
        self.slots.lock().unwrap_or_else(PoisonError::into_inner).remove(session);
    }
}
