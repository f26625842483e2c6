//! Who acts in a browser: the model, or the user who has taken it over.

use std::time::{Duration, Instant};

use haft_contract::ToolError;
use haft_contract::ports::{BrowserAction, ScreenControl};
use serde_json::json;

use crate::browser::Browser;

/// A view that has the browser and is not heard of for so long has gone.
const LONGEST_SILENCE: Duration = Duration::from_secs(45);
/// What an action has at least, after it waited for the user.
const SHORTEST_TIME: Duration = Duration::from_secs(1);

/// The part of the user in a browser.
#[derive(Debug, Default)]
pub(crate) struct UserControl {
    lease: Option<ControlLease>,
    /// How long the user had the browser since the last action of the model.
    handed_back: Option<Duration>,
}

/// The view that has the browser.
#[derive(Debug)]
struct ControlLease {
    viewer: String,
    since: Instant,
    seen: Instant,
}

impl UserControl {
    /// Gives the browser to a view, unless another one has it.
    pub(crate) fn take(&mut self, viewer: &str, now: Instant) -> Result<(), ToolError> {
        self.expire(now);
        match &mut self.lease {
            Some(lease) if lease.viewer != viewer => {
                Err(ToolError::execution("The browser was taken over on another page already. Hand it back there first."))
            }
            Some(lease) => {
                lease.seen = now;
                Ok(())
            }
            None => {
                self.lease = Some(ControlLease { viewer: viewer.to_owned(), since: now, seen: now });
                Ok(())
            }
        }
    }

    /// Gives it back to the model.
    pub(crate) fn hand_back(&mut self, now: Instant) {
        if let Some(lease) = self.lease.take() {
            self.handed_back = Some(self.handed_back.unwrap_or_default() + now.duration_since(lease.since));
        }
    }

    /// A view was heard of.
    pub(crate) fn renew_lease(&mut self, viewer: &str, now: Instant) {
        self.expire(now);
        if let Some(lease) = self.lease.as_mut().filter(|lease| lease.viewer == viewer) {
            lease.seen = now;
        }
    }

    /// Who acts, as a view is told.
    pub(crate) fn control_for(&mut self, viewer: &str, now: Instant) -> ScreenControl {
        self.expire(now);
        match &self.lease {
            None => ScreenControl::Model,
            Some(lease) if lease.viewer == viewer => ScreenControl::Yours,
            Some(_) => ScreenControl::Other,
        }
    }

    /// When the browser goes back to the model if nothing is heard; `None` if the model has it.
    fn ends(&mut self, now: Instant) -> Option<Instant> {
        self.expire(now);
        self.lease.as_ref().map(|lease| lease.seen + LONGEST_SILENCE)
    }

    pub(crate) fn is_taken(&self) -> bool {
        self.lease.is_some()
    }

    fn expire(&mut self, now: Instant) {
        if self.lease.as_ref().is_some_and(|lease| now.saturating_duration_since(lease.seen) >= LONGEST_SILENCE) {
            self.hand_back(now);
        }
    }
}

/// The answer to a call while the user has the browser.
pub(crate) fn user_has_it() -> ToolError {
    let message = "The user has taken over the browser, and this call did nothing in it, or was interrupted. Do not repeat it at once: tell \
                   the user what you need, and continue when they have handed the browser back.";
    ToolError::execution(message).with_details(json!({"reason": "user_has_browser"}))
}

/// Whether an action may be answered while the user has the browser: it shows nothing of what they do.
pub(crate) fn is_harmless(action: &BrowserAction) -> bool {
    matches!(action, BrowserAction::Status | BrowserAction::Start | BrowserAction::Tabs)
}

impl Browser {
    /// Waits until the model may act; returns the time that is left for it.
    pub(crate) async fn wait_for_the_user(&self, patience: Duration) -> Result<Duration, ToolError> {
        if self.state.lock().user.ends(Instant::now()).is_none() {
            return Ok(patience);
        }
        let began = tokio::time::Instant::now();
        let deadline = began + patience;
        loop {
            let Some(end) = self.state.lock().user.ends(Instant::now()) else {
                return Ok(patience.saturating_sub(began.elapsed()).max(SHORTEST_TIME));
            };
            let end = tokio::time::Instant::from_std(end);
            let free = self.state.until(|state| state.user.ends(Instant::now()).is_none().then_some(()));
            if tokio::time::timeout_at(end.min(deadline), free).await.is_err() && tokio::time::Instant::now() >= deadline {
                return Err(user_has_it());
            }
        }
    }

    /// Waits until the user takes the browser over.
    pub(crate) async fn taken_over(&self) {
        self.state.until(|state| state.user.ends(Instant::now()).map(drop)).await;
    }

    /// What the model should know of it, once.
    pub(crate) fn hand_back_note(&self) -> Option<String> {
        let had = self.state.lock().user.handed_back.take()?;
        let seconds = had.as_secs().max(1);
        Some(format!("The user had the browser for {seconds} s and has handed it back: the page may be another one. Take a snapshot."))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_view_has_the_browser_until_it_hands_it_back_or_falls_silent() {
        let (start, mut user) = (Instant::now(), UserControl::default());
        let at = |seconds| start + Duration::from_secs(seconds);
        assert_eq!(user.control_for("a", start), ScreenControl::Model);
        user.take("a", start).unwrap();
        assert!(user.take("b", at(1)).unwrap_err().message().contains("another page"));
        assert_eq!((user.control_for("a", at(1)), user.control_for("b", at(1))), (ScreenControl::Yours, ScreenControl::Other));
        user.renew_lease("b", at(30));
        user.renew_lease("a", at(40));
        assert_eq!(user.control_for("a", at(80)), ScreenControl::Yours, "it was heard of at 40");
        assert_eq!(user.control_for("a", at(85)), ScreenControl::Model, "45 s without a word");
        user.take("b", at(90)).unwrap();
        user.hand_back(at(95));
        user.hand_back(at(99));
        assert_eq!((user.control_for("b", at(99)), user.handed_back), (ScreenControl::Model, Some(Duration::from_secs(90))));
    }
}
