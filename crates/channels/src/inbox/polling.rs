//! Asks channels for messages, as long as the server runs.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::{Inbox, InboxVerdict};
use crate::driver::ChannelDriver;

/// The time after a failure; it doubles up to the longest.
const PAUSE: Duration = Duration::from_secs(1);
const LONGEST_PAUSE: Duration = Duration::from_mins(1);

/// Told the channel and what failed.
pub type FailureReport = dyn Fn(&str, &str) + Send + Sync;

impl Inbox {
    /// Fetches messages of every channel that takes some, until it is stopped. `report` is told what fails, once for each reason.
    pub async fn run(self: Arc<Self>, report: Arc<FailureReport>) {
        if self.service.all().iter().any(|channel| channel.settings.receives)
            && let Err(why) = self.take_over().await
        {
            report("all", &format!("messages of an earlier server are not answered: {why}"));
        }
        let mut tasks = tokio::task::JoinSet::new();
        for channel in self.service.all().iter().filter(|channel| channel.settings.receives) {
            let name = channel.settings.name.clone();
            match &channel.driver {
                Ok(driver) if driver.polls() => {
                    let (inbox, driver, report) = (Arc::clone(&self), Arc::clone(driver), Arc::clone(&report));
                    tasks.spawn(async move { inbox.follow(&name, &*driver, &*report).await });
                }
                Ok(_) => {}
                Err(why) => report(&name, why),
            }
        }
        while tasks.join_next().await.is_some() {}
    }

    async fn follow(self: &Arc<Self>, channel: &str, driver: &dyn ChannelDriver, report: &FailureReport) {
        let (mut pause, mut told) = (PAUSE, String::new());
        loop {
            let begun = Instant::now();
            let fetched = tokio::select! {
                biased;
                () = self.stop.cancelled() => return,
                fetched = self.fetch(channel, driver) => fetched,
            };
            let wait = match fetched {
                Ok(is_busy) => {
                    (pause, told) = (PAUSE, String::new());
                    // A service that answers at once although it should wait is not asked in a circle.
                    if is_busy || begun.elapsed() >= PAUSE {
                        continue;
                    }
                    PAUSE
                }
                Err((why, wait)) => {
                    if why != told {
                        report(channel, &why);
                        told = why;
                    }
                    wait.unwrap_or(pause).min(LONGEST_PAUSE)
                }
            };
            tokio::select! {
                () = self.stop.cancelled() => return,
                () = tokio::time::sleep(wait) => {}
            }
            pause = if told.is_empty() { PAUSE } else { (pause * 2).min(LONGEST_PAUSE) };
        }
    }

    /// Fetches once; says whether there was anything. The cursor moves only after every message was taken; what comes twice is known by its id.
    async fn fetch(self: &Arc<Self>, channel: &str, driver: &dyn ChannelDriver) -> Result<bool, (String, Option<Duration>)> {
        let failed = |why: String| (why, None);
        let store = self.service.store().map_err(failed)?;
        let cursor = store.cursor(channel).await.map_err(|error| failed(error.to_string()))?;
        let polled = driver.poll(cursor.as_deref()).await.map_err(|failure| (failure.message, failure.retry_after))?;
        let is_busy = !polled.messages.is_empty();
        for message in polled.messages {
            if self.accept(channel, message.clone()).await.map_err(failed)? == InboxVerdict::Limited {
                self.tell_unread(channel, &message).await.map_err(failed)?;
            }
        }
        if let Some(next) = polled.cursor.filter(|next| cursor.as_ref() != Some(next)) {
            store.set_cursor(channel, &next).await.map_err(|error| failed(error.to_string()))?;
        }
        Ok(is_busy)
    }
}
