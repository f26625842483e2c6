//! The browsers of sessions, as the page shows them.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use haft_contract::ports::{BrowserScreen, BrowserScreens};

/// Browsers that were started in this server. Cheap to clone; clones share everything.
#[derive(Clone, Default)]
pub struct PageBrowsers {
    screens: Arc<Mutex<HashMap<String, Weak<dyn BrowserScreen>>>>,
}

haft_contract::opaque_debug!(PageBrowsers);

impl PageBrowsers {
    /// The browser of a session, if it runs.
    pub(crate) fn of_session(&self, session: &str) -> Option<Arc<dyn BrowserScreen>> {
        self.screens().get(session)?.upgrade()
    }

    /// All that run, by their sessions.
    pub(crate) fn all(&self) -> Vec<(String, Arc<dyn BrowserScreen>)> {
        let screens = self.screens();
        let mut all: Vec<_> = screens.iter().filter_map(|(session, screen)| Some((session.clone(), screen.upgrade()?))).collect();
        drop(screens);
        all.sort_by(|(one, _), (other, _)| one.cmp(other));
        all
    }

    fn screens(&self) -> MutexGuard<'_, HashMap<String, Weak<dyn BrowserScreen>>> {
        self.screens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl BrowserScreens for PageBrowsers {
    fn started(&self, session: &str, screen: Weak<dyn BrowserScreen>) {
        let mut screens = self.screens();
        screens.retain(|_, screen| screen.strong_count() > 0);
        screens.insert(session.to_owned(), screen);
    }
}
