//! Records the steps of a browser: after each action a picture, with what was done beside it.
//!
//! The picture is asked for when the action has been answered, so that nobody waits for it but the next action. Nothing is recorded while
//! the user has the browser.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use haft_contract::ToolError;
use haft_contract::ports::{BrowserAction, BrowserReply, PageAct};
use haft_text::{base64, display, numbers};
use serde_json::json;
use tokio::task::JoinHandle;
use url::Url;

use crate::browser::Browser;
use crate::devtools::DevTools;
use crate::recordings::{RecordedStep, Recordings};
use crate::state::Tab;

/// How long a page may take to give a picture.
const PATIENCE: Duration = Duration::from_secs(3);
const QUALITY: u32 = 50;
/// Characters of what was done, and of what came of it.
const LONGEST: usize = 200;

/// The recording of one browser.
#[derive(Debug)]
pub(crate) struct StepRecorder {
    recordings: Recordings,
    session: String,
    /// The step that is being written.
    pending: Mutex<Option<JoinHandle<()>>>,
}

impl StepRecorder {
    pub(crate) fn new(recordings: Recordings, session: &str) -> Self {
        Self { recordings, session: session.to_owned(), pending: Mutex::default() }
    }

    /// Waits until the last step is written: its picture must not show the next.
    pub(crate) async fn wait_for_write(&self) {
        let pending = self.pending.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(pending) = pending {
            // A step that could not be written is missing in the recording; the action is not less done.
            pending.await.ok();
        }
    }

    fn write(&self, devtools: Arc<DevTools>, page: Option<String>, step: RecordedStep) {
        let (recordings, session) = (self.recordings.clone(), self.session.clone());
        let task = tokio::spawn(async move {
            let picture = match &page {
                Some(page) => tokio::time::timeout(PATIENCE, picture(&devtools, page)).await.ok().flatten(),
                None => None,
            };
            tokio::task::spawn_blocking(move || recordings.add(&session, step, picture.as_deref()).ok()).await.ok();
        });
        *self.pending.lock().unwrap_or_else(PoisonError::into_inner) = Some(task);
    }
}

async fn picture(devtools: &DevTools, page: &str) -> Option<Vec<u8>> {
    let options = json!({"format": "jpeg", "quality": QUALITY, "optimizeForSpeed": true});
    let reply = devtools.call(Some(page), "Page.captureScreenshot", options).await.ok()?;
    reply["data"].as_str().and_then(base64::decode)
}

impl Browser {
    /// Records an action, if it is one that changes what is seen.
    pub(crate) fn record(&self, call: String, tab: Option<&str>, action: &BrowserAction, outcome: &Result<BrowserReply, ToolError>) {
        let Some(recorder) = &self.recorder else { return };
        let state = self.state.lock();
        let tab = state.find_tab(tab).or_else(|| state.find_tab(None));
        let Some(action) = described(action, tab) else { return };
        let (text, is_done) = match outcome {
            Ok(reply) => (reply.text.as_str(), true),
            Err(error) => (error.message(), false),
        };
        let step = RecordedStep {
            number: 0,
            at: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |time| u64::try_from(time.as_millis()).unwrap_or_default()),
            call,
            action: display::shorten(&action, LONGEST).into_owned(),
            // An address may hold a secret behind its `?`; where the page is, is said apart.
            outcome: display::shorten(text.split(" Now at: ").next().unwrap_or_default(), LONGEST).into_owned(),
            is_done,
            url: tab.map(|tab| plain_address(&tab.url)).unwrap_or_default(),
            has_picture: false,
        };
        let page = tab.filter(|tab| !tab.is_crashed).map(|tab| tab.session.clone());
        drop(state);
        recorder.write(Arc::clone(&self.devtools), page, step);
    }
}

/// An address without what may be secret in it.
fn plain_address(url: &str) -> String {
    let Ok(mut parsed) = Url::parse(url) else { return String::new() };
    if !matches!(parsed.scheme(), "http" | "https") {
        return display::shorten(url.split([',', '?', '#']).next().unwrap_or_default(), LONGEST).into_owned();
    }
    parsed.set_query(None);
    parsed.set_fragment(None);
    // They cannot fail for these schemes.
    let _ = (parsed.set_username(""), parsed.set_password(None));
    display::shorten(parsed.as_str(), LONGEST).into_owned()
}

/// What is done, without the text that is typed; `None` for what only looks.
fn described(action: &BrowserAction, tab: Option<&Tab>) -> Option<String> {
    let element = |reference: &str| {
        let known = tab.and_then(|tab| tab.last_elements.get(reference.trim()));
        known.map_or_else(|| reference.trim().to_owned(), |words| format!("{words} ({})", reference.trim()))
    };
    Some(match action {
        BrowserAction::Open(url) => format!("open {}", plain_address(url)),
        BrowserAction::Navigate(url) => format!("navigate to {}", plain_address(url)),
        BrowserAction::Focus => "focus the tab".to_owned(),
        BrowserAction::Close => "close the tab".to_owned(),
        BrowserAction::Upload { files, .. } => format!("upload {}", numbers::count(files.len(), "file")),
        BrowserAction::Download { element: reference } => format!("download from {}", element(reference)),
        BrowserAction::Act(act) => match act {
            PageAct::Click { element: reference, double, .. } => {
                format!("{} {}", if *double { "double-click" } else { "click" }, element(reference))
            }
            PageAct::Type { element: reference, submit, .. } => {
                format!("type into {}{}", element(reference), if *submit { " and press Enter" } else { "" })
            }
            // One character could be part of a secret.
            PageAct::Press { key, .. } if key.chars().count() > 1 => format!("press {key}"),
            PageAct::Press { .. } => "press a key".to_owned(),
            PageAct::Hover { element: reference } => format!("hover over {}", element(reference)),
            PageAct::Drag { from, to } => format!("drag {} onto {}", element(from), element(to)),
            PageAct::Select { element: reference, .. } => format!("select in {}", element(reference)),
            PageAct::Fill(fields) => format!("fill {}", numbers::count(fields.len(), "field")),
            PageAct::Wait(_) => "wait".to_owned(),
            PageAct::Resize { width, height } => format!("resize to {width} x {height}"),
            PageAct::Evaluate { .. } => "run a script".to_owned(),
            PageAct::Close => "close the tab".to_owned(),
        },
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_lose_what_may_be_secret() {
        for (url, expected) in [
            ("https://user:word@a.test/path?token=1#x", "https://a.test/path"),
            ("http://a.test:8000/", "http://a.test:8000/"),
            ("data:text/html,<p>secret", "data:text/html"),
            ("about:blank", "about:blank"),
            ("nonsense", ""),
        ] {
            assert_eq!(plain_address(url), expected, "{url}");
        }
    }
}
