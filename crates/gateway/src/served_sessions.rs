//! The sessions of a running server, for the parts of the program that run turns in it without a page: scheduled jobs, channels.

use std::sync::Arc;

use haft_agent::TurnEnd;
use serde_json::json;

use crate::app::App;
use crate::approvals::PageApprovals;
use crate::browsers::PageBrowsers;
use crate::canvas::CanvasElsewhere;
use crate::remote::RemoteEvent;
use crate::sessions::SessionHost;

/// The sessions of a server. Clones are the same.
#[derive(Clone)]
pub struct ServedSessions {
    host: Arc<SessionHost>,
    approvals: PageApprovals,
    canvas: CanvasElsewhere,
    browsers: PageBrowsers,
}

haft_contract::opaque_debug!(ServedSessions);

impl ServedSessions {
    pub(crate) fn new(app: &App) -> Self {
        let (approvals, browsers) = (app.approvals.clone(), app.browsers.clone());
        Self { host: Arc::clone(&app.sessions), approvals, canvas: CanvasElsewhere::new(&app.canvas), browsers }
    }

    /// Begins a session; returns its id.
    pub async fn begin(&self, agent: Option<String>, title: &str) -> Result<String, String> {
        let begun = self.host.create(agent, None, Some(title)).await;
        begun.map(|session| session.id).map_err(|error| error.message().to_owned())
    }

    /// Closes a session that does not work: the next message opens it with the rights of its sender.
    pub async fn close(&self, session: &str) {
        self.host.close(session).await;
    }

    /// Sends a message to a session that is stored, and waits for the end of the turn that answers it. The error says why there is none.
    pub async fn ask(&self, session: &str, text: String, model: Option<String>) -> Result<TurnEnd, String> {
        self.host.send_and_wait(session, text, model).await.map_err(|error| error.message().to_owned())
    }

    /// Puts a text into a session: at once, or into the turn that runs.
    pub async fn announce(&self, session: &str, text: String) -> Result<(), String> {
        self.host.announce_text(session, text).await.map_err(|error| error.message().to_owned())
    }

    /// Tells every page of a session that was made outside of the server.
    pub async fn added(&self, session: &str) {
        self.host.announce(session).await;
    }

    /// Shows what happens in a turn that another process runs.
    pub async fn mirror_event(&self, session: &str, event: RemoteEvent) {
        match event {
            RemoteEvent::Canvas { request, command } => self.canvas.perform(session, request, command, self.host.remote()),
            RemoteEvent::Browser { runs: true } => self.browsers.started_elsewhere(session, self.host.remote()),
            RemoteEvent::Browser { runs: false } => self.browsers.ended_elsewhere(session),
            event => {
                if matches!(event, RemoteEvent::Begin { .. } | RemoteEvent::Over) {
                    // The browser of a worker that was lost is gone with it.
                    self.browsers.ended_elsewhere(session);
                }
                self.host.mirror_event(session, event).await;
            }
        }
    }

    /// The sessions of which a turn is shown that another process runs for another server.
    pub fn mirrored(&self) -> Vec<String> {
        self.host.mirrored()
    }

    /// The sessions of which a turn runs.
    pub fn running(&self) -> Vec<String> {
        self.host.running()
    }

    /// Cancels the turn of a session that runs.
    pub fn cancel(&self, session: &str) {
        self.host.cancel(session);
    }

    /// Sessions take the settings as they are now with their next message.
    pub fn use_new_settings(&self) {
        self.host.use_new_settings();
    }

    /// Tells every page that these settings allow more than before, or may, and whether they were saved through this server.
    pub fn widened(&self, keys: &[String], saved: bool) {
        self.approvals.hub.send("changed", None, &json!({ "what": "settings", "wider": keys, "saved": saved }));
    }

    /// Tells every page that something which it may show has changed.
    pub fn changed(&self, what: &str) {
        self.approvals.hub.send("changed", None, &json!({ "what": what }));
    }
}
