//! A browser that runs: its process, its connection, its state.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use haft_contract::ports::{BrowserAction, BrowserReply, BrowserRequest};
use haft_contract::{EgressRefusal, ErrorKind, NetworkVerdict, ToolError};
use haft_jobs::{IsolatedChild, IsolatedCommand, LocalProcesses};
use haft_text::display;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;

use crate::chromium::{self, BrowserSettings};
use crate::control;
use crate::devtools::DevTools;
use crate::events::StateEvents;
use crate::failure::{PageError, timed_out};
use crate::gate::PageGate;
use crate::page::TabHandle;
use crate::recording::StepRecorder;
use crate::recordings::Recordings;
use crate::screen::LiveScreen;
use crate::state::SharedState;

/// How long a browser may take to start.
const START_TIME: Duration = Duration::from_mins(1);
/// Bytes of its messages that are kept for an error.
const STDERR_TAIL: usize = 4096;
/// Refused hosts that a result names.
const MOST_REFUSALS: usize = 10;

/// The browser of a session.
#[derive(Debug)]
pub(crate) struct Browser {
    pub(crate) devtools: Arc<DevTools>,
    pub(crate) state: Arc<SharedState>,
    pub(crate) child: IsolatedChild,
    pub(crate) settings: BrowserSettings,
    pub(crate) recorder: Option<StepRecorder>,
    /// For users.
    pub(crate) screen: Arc<LiveScreen>,
    gate: Arc<PageGate>,
    stderr_tail: Arc<Mutex<Vec<u8>>>,
    /// One action after the other.
    turn: tokio::sync::Mutex<()>,
}

impl Browser {
    /// Starts a browser for a session, and waits until it answers.
    pub(crate) async fn start(processes: &LocalProcesses, session: &str, settings: &BrowserSettings) -> Result<Self, ToolError> {
        let program = chromium::find_chromium(settings.program.as_deref())?;
        let (program, arguments) = chromium::command(&program);
        let gate = Arc::new(PageGate::default());
        let command = IsolatedCommand {
            name: "browser".to_owned(),
            session: session.to_owned(),
            program,
            arguments,
            environment: vec![("DBUS_SESSION_BUS_ADDRESS".to_owned(), "disabled:".to_owned())],
            gate: Arc::clone(&gate) as _,
        };
        let mut child = processes.start_isolated(command).await?;
        let (Some(input), Some(output)) = (child.input.take(), child.output.take()) else {
            return Err(ToolError::execution("The browser was started without pipes."));
        };
        let state = Arc::new(SharedState::default());
        let devtools = DevTools::connect(input, output, Arc::new(StateEvents(Arc::clone(&state))));
        let stderr_tail = Arc::default();
        if let Some(errors) = child.errors.take() {
            tokio::spawn(read_stderr_tail(errors, Arc::clone(&stderr_tail)));
        }
        let turn = tokio::sync::Mutex::default();
        let screen = Arc::new(LiveScreen { devtools: Arc::clone(&devtools), state: Arc::clone(&state) });
        let recorder = settings.recordings.as_ref().map(|folder| StepRecorder::new(Recordings::new(folder), session));
        let browser = Self { devtools, state, child, settings: settings.clone(), recorder, screen, gate, stderr_tail, turn };
        match tokio::time::timeout(START_TIME, browser.prepare()).await {
            Ok(Ok(())) => Ok(browser),
            Ok(Err(error)) => Err(browser.failed_start(&error)),
            Err(_) => Err(timed_out("The browser did not start", START_TIME.as_secs_f64())),
        }
    }

    /// Attaches to its tabs, those that open later too.
    async fn prepare(&self) -> Result<(), PageError> {
        let attach = json!({"autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true});
        let attached = self.devtools.send(None, "Target.setAutoAttach", attach);
        let discovered = self.devtools.send(None, "Target.setDiscoverTargets", json!({"discover": true}));
        let downloads = self.devtools.send(None, "Browser.setDownloadBehavior", json!({"behavior": "deny", "eventsEnabled": true}));
        attached.raw().await?;
        discovered.raw().await?;
        downloads.raw().await?;
        let first = self.state.until(|state| match state.tabs.first() {
            Some(tab) => Some(Ok(tab.session.clone())),
            None => state.is_closed.then_some(Err(PageError::Ended)),
        });
        self.until_attached(&first.await?).await
    }

    /// Waits until everything was switched on that was asked for when a tab appeared: before, its events are missing.
    pub(crate) async fn until_attached(&self, session: &str) -> Result<(), PageError> {
        self.devtools.call(Some(session), "Page.getFrameTree", json!({})).await?;
        Ok(())
    }

    fn failed_start(&self, error: &PageError) -> ToolError {
        let words = self.stderr_tail.lock().unwrap_or_else(PoisonError::into_inner);
        let words = String::from_utf8_lossy(&words);
        let is_fault =
            |line: &&str| line.contains("FATAL") || line.contains("haft-sandbox") || line.contains("bwrap") || line.contains("error while");
        let line = words.lines().find(is_fault).or(words.lines().last()).unwrap_or_default();
        let why = match error {
            PageError::Ended => "it ended at once".to_owned(),
            other => format!("{other:?}"),
        };
        ToolError::execution(format!("The browser was not started: {why}. {}", display::shorten(line, 400)).trim_end().to_owned())
    }

    pub(crate) fn is_ended(&self) -> bool {
        self.devtools.is_closed() || self.state.lock().is_closed
    }

    /// Does what a call asks for, and tells what else happened meanwhile.
    pub(crate) async fn perform(&self, request: BrowserRequest) -> Result<BrowserReply, ToolError> {
        let BrowserRequest { call, tab, action, timeout, hosts, gate, .. } = request;
        let is_harmless = control::is_harmless(&action);
        let timeout = if is_harmless { timeout } else { self.wait_for_the_user(timeout).await? };
        let _turn = self.turn.lock().await;
        if let Some(recorder) = &self.recorder {
            recorder.wait_for_write().await;
        }
        self.gate.enter(hosts, gate);
        self.begin_action();
        let known = self.child.proxy.decisions().len();
        let questions = Arc::clone(self.child.proxy.questions());
        let outcome = tokio::select! {
            outcome = self.act(tab.as_deref(), &action, timeout) => outcome,
            () = questions.elapse(timeout) => Err(Self::timed_out(&action, timeout)),
            () = self.ended() => Err(PageError::Ended.into()),
            () = self.taken_over(), if !is_harmless => return Err(control::user_has_it()),
        };
        self.record(call, tab.as_deref(), &action, &outcome);
        let notes = self.end_action(known);
        match outcome {
            Ok(mut reply) => {
                reply.notes.extend(notes);
                Ok(reply)
            }
            Err(error) if notes.is_empty() => Err(error),
            Err(error) => {
                let message = format!("{} {}", error.message(), notes.join(" "));
                Err(error.with_message(message))
            }
        }
    }

    async fn ended(&self) {
        self.state.until(|state| state.is_closed.then_some(())).await;
    }

    fn timed_out(action: &BrowserAction, timeout: Duration) -> ToolError {
        let what = match action {
            BrowserAction::Open(_) | BrowserAction::Navigate(_) => "The page was not loaded",
            BrowserAction::Act(_) => "It was not done",
            BrowserAction::Download { .. } => "The file did not arrive",
            _ => "The page did not answer",
        };
        timed_out(what, timeout.as_secs_f64())
    }

    fn begin_action(&self) {
        let mut state = self.state.lock();
        state.notes.clear();
        state.tabs.iter_mut().for_each(|tab| tab.dialogs = 0);
    }

    /// What happened besides.
    fn end_action(&self, known: usize) -> Vec<String> {
        let mut notes = std::mem::take(&mut self.state.lock().notes);
        notes.extend(self.hand_back_note());
        let decisions = self.child.proxy.decisions();
        let blocked = decisions.iter().skip(known).filter(|decision| decision.verdict == NetworkVerdict::Blocked);
        notes.extend(blocked.take(MOST_REFUSALS).map(|decision| {
            let EgressRefusal { reason, rule } =
                decision.refusal.clone().unwrap_or(EgressRefusal { reason: "it is not allowed".to_owned(), rule: None });
            let rule = rule.map(|rule| format!(" The user can allow it with the rule {rule}.")).unwrap_or_default();
            let (host, reason) = (display::shorten(&decision.host, 100), display::shorten(&reason, 300));
            format!("Blocked: {host}:{} ({reason}).{rule}", decision.port)
        }));
        notes
    }

    async fn act(&self, tab: Option<&str>, action: &BrowserAction, timeout: Duration) -> Result<BrowserReply, ToolError> {
        match action {
            BrowserAction::Status | BrowserAction::Start | BrowserAction::Tabs => Ok(self.list()),
            // The service does it.
            BrowserAction::Stop => Ok(BrowserReply::default()),
            BrowserAction::Open(url) => self.open(url).await,
            BrowserAction::Focus => self.focus(&self.tab(tab)?).await,
            BrowserAction::Close => self.close(&self.tab(tab)?).await,
            BrowserAction::Navigate(url) => match self.tab(tab) {
                Ok(tab) => self.navigate(&tab, url).await,
                Err(error) if tab.is_some() => Err(error),
                Err(_) => self.open(url).await,
            },
            BrowserAction::Snapshot(options) => self.snapshot(&self.tab(tab)?, options).await,
            BrowserAction::Screenshot(options) => self.screenshot(&self.tab(tab)?, options).await,
            BrowserAction::Act(act) => self.act_on_page(&self.tab(tab)?, act, timeout).await,
            BrowserAction::Console { level, limit } => self.console(&self.tab(tab)?, level, *limit),
            BrowserAction::Requests { limit } => self.requests(&self.tab(tab)?, *limit),
            BrowserAction::Dialog { accept, text } => self.arm_dialog(&self.tab(tab)?, *accept, text.clone()),
            BrowserAction::Upload { element, selector, files } => {
                self.upload(&self.tab(tab)?, element.as_deref(), selector.as_deref(), files).await
            }
            BrowserAction::Download { element } => self.download(&self.tab(tab)?, element).await,
            BrowserAction::Pdf => self.pdf(&self.tab(tab)?).await,
        }
    }

    /// The tab that a call names, or the current one.
    pub(crate) fn tab(&self, id: Option<&str>) -> Result<TabHandle, ToolError> {
        let state = self.state.lock();
        if let Some(tab) = state.find_tab(id) {
            return Ok(tab.into());
        }
        let known: Vec<&str> = state.tabs.iter().map(|tab| tab.id.as_str()).collect();
        let known =
            if known.is_empty() { "none is open: open one with action=open".to_owned() } else { format!("open are {}", known.join(", ")) };
        let id = id.map(|id| format!(" '{}'", display::shorten(id, 40))).unwrap_or_default();
        Err(ToolError::new(ErrorKind::ValidationError, format!("There is no tab{id}: {known}.")))
    }

    /// The address of a tab.
    pub(crate) fn address(&self, id: Option<&str>) -> Option<String> {
        self.state.lock().find_tab(id).map(|tab| tab.url.clone())
    }

    /// Its tabs.
    pub(crate) fn list(&self) -> BrowserReply {
        let state = self.state.lock();
        let current = state.find_tab(None).map(|tab| tab.target.clone());
        let line = |tab: &crate::state::Tab| {
            let mark = if current.as_ref() == Some(&tab.target) { " (current)" } else { "" };
            let crashed = if tab.is_crashed { " (crashed)" } else { "" };
            format!("{}{mark}{crashed}: {} {}", tab.id, display::shorten(&tab.url, 300), json!(display::shorten(&tab.title, 120)))
        };
        let lines: Vec<String> = state.tabs.iter().map(line).collect();
        let user = if state.user.is_taken() { " The user has taken it over." } else { "" };
        let tabs: Vec<Value> = state.tabs.iter().map(|tab| json!({"id": tab.id, "url": tab.url, "crashed": tab.is_crashed})).collect();
        BrowserReply {
            text: format!("The browser runs, with {}.{user}", haft_text::numbers::count(lines.len(), "tab")),
            page: Some(lines.join("\n")).filter(|text| !text.is_empty()),
            details: json!({"running": true, "tabs": tabs}),
            ..BrowserReply::default()
        }
    }
}

/// Keeps the end of what a browser prints.
async fn read_stderr_tail(mut errors: impl tokio::io::AsyncRead + Unpin, last: Arc<Mutex<Vec<u8>>>) {
    let mut piece = [0; 1024];
    while let Ok(count @ 1..) = errors.read(&mut piece).await {
        let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
        last.extend_from_slice(&piece[..count]);
        let beyond = last.len().saturating_sub(STDERR_TAIL);
        last.drain(..beyond);
    }
}
