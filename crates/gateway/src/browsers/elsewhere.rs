//! Browsers of turns that other processes run: each question of a page goes to the process that has the browser.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use haft_contract::ToolError;
use haft_contract::ports::{ScreenInput, ScreenView};
use tokio::time::timeout;

use super::{BrowserInputEvent, PageBrowsers};
use crate::remote::{RemoteMessage, RemoteScreenAnswer, RemoteScreenAsk, RemoteTurns};

/// Browsers that are shown at once.
const MOST_SCREENS: usize = 10_000;
/// How long the process that has a browser may take to say what it shows now: it may be gone.
const NOW: Duration = Duration::from_secs(3);

/// By their sessions. Clones share everything.
#[derive(Clone, Default)]
pub(super) struct BrowsersElsewhere(Arc<Mutex<HashMap<String, RemoteScreen>>>);

impl BrowsersElsewhere {
    pub(super) fn of_session(&self, session: &str) -> Option<RemoteScreen> {
        self.screens().get(session).cloned()
    }

    pub(super) fn all(&self) -> Vec<RemoteScreen> {
        self.screens().values().cloned().collect()
    }

    // Entries come and go whole, so the map is consistent after a panic elsewhere.
    fn screens(&self) -> MutexGuard<'_, HashMap<String, RemoteScreen>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl PageBrowsers {
    /// The turn of a session has a browser, where it runs.
    pub(crate) fn started_elsewhere(&self, session: &str, remote: Option<Arc<dyn RemoteTurns>>) {
        let Some(remote) = remote else { return };
        let mut screens = self.elsewhere.screens();
        if screens.len() < MOST_SCREENS {
            screens.insert(session.to_owned(), RemoteScreen { session: session.to_owned(), remote });
        }
    }

    /// It has it no longer, or is another turn.
    pub(crate) fn ended_elsewhere(&self, session: &str) {
        self.elsewhere.screens().remove(session);
    }
}

/// The browser of a session, where its turn runs.
#[derive(Clone)]
pub(crate) struct RemoteScreen {
    pub(super) session: String,
    remote: Arc<dyn RemoteTurns>,
}

impl RemoteScreen {
    /// `None` if nobody answers.
    async fn ask(&self, ask: RemoteScreenAsk) -> Option<RemoteScreenAnswer> {
        let answer = self.remote.ask(&self.session, RemoteMessage::Screen { ask }).await?;
        serde_json::from_value(answer).ok()
    }

    async fn act(&self, ask: RemoteScreenAsk) -> Result<(), ToolError> {
        match self.ask(ask).await {
            Some(RemoteScreenAnswer::Done) => Ok(()),
            Some(RemoteScreenAnswer::Refused { message }) => Err(ToolError::execution(message)),
            _ => Err(ToolError::execution("The worker that has this browser does not answer.")),
        }
    }

    pub(super) async fn view(&self, after: Option<u64>, viewer: &str) -> Option<ScreenView> {
        let asked = self.ask(RemoteScreenAsk::View { after, viewer: viewer.to_owned() });
        let answer = if after.is_none() { timeout(NOW, asked).await.ok()? } else { asked.await };
        match answer? {
            RemoteScreenAnswer::View(view) => view.into_view(),
            _ => None,
        }
    }

    pub(super) async fn take_over(&self, viewer: &str) -> Result<(), ToolError> {
        self.act(RemoteScreenAsk::TakeOver { viewer: viewer.to_owned() }).await
    }

    pub(super) async fn hand_back(&self) -> Result<(), ToolError> {
        self.act(RemoteScreenAsk::HandBack).await
    }

    pub(super) async fn input(&self, viewer: &str, events: Vec<ScreenInput>) -> Result<(), ToolError> {
        let events = events.into_iter().map(BrowserInputEvent::from).collect();
        self.act(RemoteScreenAsk::Input { viewer: viewer.to_owned(), events }).await
    }
}

#[cfg(test)]
mod tests {
    use haft_agent::TurnEnd;
    use haft_contract::BoxFuture;
    use serde_json::{Value, json};
    use tokio::time::Instant;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::remote::RemoteTurn;

    /// Workers of which one answers, and the others are gone.
    struct LostWorkers;

    impl RemoteTurns for LostWorkers {
        fn run<'a>(&'a self, _: RemoteTurn, _: &'a CancellationToken) -> BoxFuture<'a, Result<TurnEnd, String>> {
            Box::pin(std::future::pending())
        }
        fn tell(&self, _: &str, _: RemoteMessage) {}
        fn ask<'a>(&'a self, session: &'a str, _: RemoteMessage) -> BoxFuture<'a, Option<Value>> {
            let view = json!({"came": "view", "version": 1, "control": "model", "url": "https://x", "title": "x", "jpeg": null});
            Box::pin(async move { if session == "7" { Some(view) } else { std::future::pending().await } })
        }
        fn announce(&self, _: &str) {}
        fn say<'a>(&'a self, _: &'a str, _: &'a str) -> BoxFuture<'a, Result<(), String>> {
            Box::pin(std::future::pending())
        }
        fn unheard<'a>(&'a self, _: &'a str) -> BoxFuture<'a, Result<Vec<String>, String>> {
            Box::pin(std::future::pending())
        }
    }

    #[tokio::test(start_paused = true)]
    async fn workers_that_are_gone_are_waited_for_at_the_same_time() {
        let browsers = PageBrowsers::default();
        for number in 0..40 {
            browsers.started_elsewhere(&number.to_string(), Some(Arc::new(LostWorkers)));
        }
        let begun = Instant::now();
        let shown: Vec<_> = browsers.views().await.into_iter().map(|(session, view)| (session, view.url)).collect();
        assert_eq!(shown, [("7".to_owned(), "https://x".to_owned())]);
        assert!(begun.elapsed() < NOW * 2, "{:?}", begun.elapsed());
    }
}
