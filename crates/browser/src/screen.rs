//! The live view: pictures of the current tab, and what the user does in them.
//!
//! Chromium sends a picture when something has changed, and the next one when that was acknowledged. Only the newest is kept, and nobody is
//! sent pictures who does not ask for them: a cast that nobody looks at ends with the next picture.

use std::sync::Arc;
use std::time::{Duration, Instant};

use haft_contract::ports::{BrowserScreen, MouseButton, MouseStep, ScreenControl, ScreenInput, ScreenView};
use haft_contract::{BoxFuture, ToolError};
use haft_text::base64;
use serde_json::{Value, json};

use crate::devtools::DevTools;
use crate::failure::PageError;
use crate::keyboard::send_key;
use crate::keys::Key;
use crate::page::TabHandle;
use crate::pointer::{Point, modifier_bits, send_mouse};
use crate::snapshot::number;
use crate::state::{BrowserState, SharedState};

/// How long a view waits for something new.
const LONGEST_WAIT: Duration = Duration::from_secs(15);
/// After so long without a question nobody looks.
const UNWATCHED: Duration = Duration::from_secs(30);
/// The size of pictures.
const SIZE: (u32, u32) = (1280, 800);
const QUALITY: u32 = 60;
/// Events of one request, and characters of a pasted text.
const MOST_EVENTS: usize = 200;
const LONGEST_TEXT: usize = 100_000;

/// The pictures of a browser that users look at.
#[derive(Debug, Default)]
pub(crate) struct ScreenCast {
    /// The tab whose pictures come, and its session.
    tab: Option<(String, String)>,
    version: u64,
    jpeg: Option<Arc<[u8]>>,
    width: f64,
    height: f64,
    asked: Option<Instant>,
}

impl ScreenCast {
    /// Something is to be seen that was not before.
    fn renew(&mut self) {
        self.version += 1;
    }
}

/// A browser as users see it. It does not keep the browser alive.
#[derive(Debug)]
pub(crate) struct LiveScreen {
    pub(crate) devtools: Arc<DevTools>,
    pub(crate) state: Arc<SharedState>,
}

/// A picture has come. The next is asked for if someone looks.
pub(crate) fn picture_came(state: &mut BrowserState, devtools: &DevTools, session: &str, params: &Value) {
    let cast = &mut state.cast;
    if cast.tab.as_ref().is_none_or(|(_, of)| of != session) {
        return;
    }
    if cast.asked.is_none_or(|asked| asked.elapsed() > UNWATCHED) {
        (cast.tab, cast.jpeg) = (None, None);
        devtools.send(Some(session), "Page.stopScreencast", json!({}));
        return;
    }
    devtools.send(Some(session), "Page.screencastFrameAck", json!({"sessionId": params["sessionId"]}));
    let Some(jpeg) = params["data"].as_str().and_then(base64::decode) else { return };
    let seen = &params["metadata"];
    (cast.jpeg, cast.width, cast.height) = (Some(jpeg.into()), number(seen, "deviceWidth"), number(seen, "deviceHeight"));
    cast.renew();
}

impl LiveScreen {
    /// Lets pictures of the current tab come.
    fn cast_current_tab(&self) {
        let mut state = self.state.lock();
        state.cast.asked = Some(Instant::now());
        let current = state.find_tab(None).map(|tab| (tab.target.clone(), tab.session.clone()));
        if state.cast.tab == current {
            return;
        }
        if let Some((_, session)) = std::mem::replace(&mut state.cast.tab, current.clone()) {
            self.devtools.send(Some(&session), "Page.stopScreencast", json!({}));
        }
        state.cast.jpeg = None;
        if let Some((_, session)) = current {
            let (width, height) = SIZE;
            let options = json!({"format": "jpeg", "quality": QUALITY, "maxWidth": width, "maxHeight": height, "everyNthFrame": 1});
            self.devtools.send(Some(&session), "Page.startScreencast", options);
        }
    }

    async fn newer_view(&self, after: u64, viewer: &str) -> Option<ScreenView> {
        loop {
            self.cast_current_tab();
            let found = self.state.until(|state| {
                if state.is_closed {
                    return Some(None);
                }
                let is_moved =
                    state.find_tab(None).map(|tab| tab.target.as_str()) != state.cast.tab.as_ref().map(|(target, _)| target.as_str());
                (is_moved || state.cast.version > after).then(|| Some((!is_moved).then(|| current_view(state, viewer))))
            });
            match found.await {
                None => return None,
                Some(Some(view)) => return Some(view),
                Some(None) => {}
            }
        }
    }

    async fn view_for(&self, after: Option<u64>, viewer: &str) -> Option<ScreenView> {
        self.state.lock().user.renew_lease(viewer, Instant::now());
        if let Some(after) = after {
            if let Ok(view) = tokio::time::timeout(LONGEST_WAIT, self.newer_view(after, viewer)).await {
                return view;
            }
        } else {
            self.cast_current_tab();
        }
        let mut state = self.state.lock();
        if state.is_closed { None } else { Some(current_view(&mut state, viewer)) }
    }

    async fn user_input(&self, viewer: &str, events: Vec<ScreenInput>) -> Result<(), ToolError> {
        for event in events.into_iter().take(MOST_EVENTS) {
            let (tab, size) = {
                let mut state = self.state.lock();
                if state.user.control_for(viewer, Instant::now()) != ScreenControl::Yours {
                    return Err(ToolError::execution("This page does not have the browser: take it over first."));
                }
                state.user.renew_lease(viewer, Instant::now());
                state.tabs.iter_mut().for_each(|tab| tab.dialogs = 0);
                (state.find_tab(None).map(TabHandle::from), (state.cast.width, state.cast.height))
            };
            let Some(tab) = tab else { return Err(PageError::Gone.into()) };
            self.do_input(&tab, size, event).await?;
        }
        Ok(())
    }

    async fn do_input(&self, tab: &TabHandle, (width, height): (f64, f64), event: ScreenInput) -> Result<(), ToolError> {
        let at = |x: f64, y: f64| Point { x: x.clamp(0.0, 1.0) * width, y: y.clamp(0.0, 1.0) * height };
        let sent = match event {
            ScreenInput::Mouse { step, x, y, button, clicks, modifiers } => {
                let (kind, held) = match step {
                    MouseStep::Press => ("mousePressed", 1),
                    MouseStep::Release => ("mouseReleased", 0),
                    MouseStep::Move => ("mouseMoved", u32::from(button.is_some())),
                };
                let button = button.map_or("none", MouseButton::as_str);
                let buttons = if button == "right" {
                    held * 2
                } else if button == "middle" {
                    held * 4
                } else {
                    held
                };
                let rest =
                    json!({"button": button, "buttons": buttons, "clickCount": clicks.min(3), "modifiers": modifier_bits(&modifiers)?});
                send_mouse(&self.devtools, tab, kind, at(x, y), rest)
            }
            ScreenInput::Wheel { x, y, right, down } => {
                let turned = json!({"deltaX": right.clamp(-2e3, 2e3), "deltaY": down.clamp(-2e3, 2e3)});
                send_mouse(&self.devtools, tab, "mouseWheel", at(x, y), turned)
            }
            ScreenInput::Key(key) => return Ok(send_key(&self.devtools, tab, &Key::parse(&key)?).await?),
            ScreenInput::Text(text) => {
                let text: String = text.chars().take(LONGEST_TEXT).collect();
                self.devtools.send(Some(&tab.session), "Input.insertText", json!({"text": text}))
            }
        };
        match sent.raw().await.map_err(PageError::from) {
            // What is clicked may close its tab.
            Ok(_) | Err(PageError::Gone) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

fn current_view(state: &mut BrowserState, viewer: &str) -> ScreenView {
    let control = state.user.control_for(viewer, Instant::now());
    let (url, title) = state.find_tab(None).map(|tab| (tab.url.clone(), tab.title.clone())).unwrap_or_default();
    ScreenView { version: state.cast.version, control, url, title, jpeg: state.cast.jpeg.clone() }
}

impl BrowserScreen for LiveScreen {
    fn view<'a>(&'a self, after: Option<u64>, viewer: &'a str) -> BoxFuture<'a, Option<ScreenView>> {
        Box::pin(self.view_for(after, viewer))
    }

    fn take_over(&self, viewer: &str) -> Result<(), ToolError> {
        let mut state = self.state.lock();
        state.user.take(viewer, Instant::now())?;
        state.cast.renew();
        drop(state);
        self.state.signal();
        Ok(())
    }

    fn hand_back(&self) {
        let mut state = self.state.lock();
        state.user.hand_back(Instant::now());
        state.cast.renew();
        drop(state);
        self.state.signal();
    }

    fn input<'a>(&'a self, viewer: &'a str, events: Vec<ScreenInput>) -> BoxFuture<'a, Result<(), ToolError>> {
        Box::pin(async move {
            tokio::select! {
                done = self.user_input(viewer, events) => done,
                () = self.state.until(|state| state.is_closed.then_some(())) => Err(PageError::Ended.into()),
            }
        })
    }
}
