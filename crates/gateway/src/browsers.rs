//! The browsers of sessions, as the page shows them.

mod elsewhere;
mod input;

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::future::ready;
use futures_util::{StreamExt, stream};
use haft_contract::ToolError;
use haft_contract::ports::{BrowserScreen, BrowserScreens, ScreenInput, ScreenView};

use self::elsewhere::{BrowsersElsewhere, RemoteScreen};
pub use self::input::BrowserInputEvent;

/// Browsers that are asked at once what they show.
const MOST_ASKED: usize = 64;

/// Browsers that were started in this server, and those of turns that other processes run. Cheap to clone; clones share everything.
#[derive(Clone, Default)]
pub struct PageBrowsers {
    screens: Arc<Mutex<HashMap<String, Weak<dyn BrowserScreen>>>>,
    elsewhere: BrowsersElsewhere,
}

haft_contract::opaque_debug!(PageBrowsers);

impl PageBrowsers {
    /// The browser of a session, if it runs.
    pub(crate) fn of_session(&self, session: &str) -> Option<PageScreen> {
        let own = self.screens().get(session).and_then(Weak::upgrade).map(PageScreen::Own);
        own.or_else(|| self.elsewhere.of_session(session).map(PageScreen::Elsewhere))
    }

    /// What all that run show now, by their sessions.
    pub(crate) async fn views(&self) -> Vec<(String, ScreenView)> {
        let views = self.all().into_iter().map(|(session, screen)| async move { Some((session, screen.view(None, "").await?)) });
        // A worker that is gone is waited for: many are at once.
        stream::iter(views).buffered(MOST_ASKED).filter_map(ready).collect().await
    }

    fn all(&self) -> Vec<(String, PageScreen)> {
        let screens = self.screens();
        let own = screens.iter().filter_map(|(session, screen)| Some((session.clone(), PageScreen::Own(screen.upgrade()?))));
        let mut all: Vec<_> = own.collect();
        drop(screens);
        all.extend(self.elsewhere.all().into_iter().map(|screen| (screen.session.clone(), PageScreen::Elsewhere(screen))));
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

/// A browser that runs, in this process or where its turn runs. As [`BrowserScreen`] has it.
pub(crate) enum PageScreen {
    Own(Arc<dyn BrowserScreen>),
    Elsewhere(RemoteScreen),
}

impl PageScreen {
    pub(crate) async fn view(&self, after: Option<u64>, viewer: &str) -> Option<ScreenView> {
        match self {
            Self::Own(screen) => screen.view(after, viewer).await,
            Self::Elsewhere(screen) => screen.view(after, viewer).await,
        }
    }

    pub(crate) async fn take_over(&self, viewer: &str) -> Result<(), ToolError> {
        match self {
            Self::Own(screen) => screen.take_over(viewer),
            Self::Elsewhere(screen) => screen.take_over(viewer).await,
        }
    }

    pub(crate) async fn hand_back(&self) -> Result<(), ToolError> {
        match self {
            Self::Own(screen) => {
                screen.hand_back();
                Ok(())
            }
            Self::Elsewhere(screen) => screen.hand_back().await,
        }
    }

    pub(crate) async fn input(&self, viewer: &str, events: Vec<ScreenInput>) -> Result<(), ToolError> {
        match self {
            Self::Own(screen) => screen.input(viewer, events).await,
            Self::Elsewhere(screen) => screen.input(viewer, events).await,
        }
    }
}
