//! What is known of a browser: its tabs, their frames, what they load, ask and print. Events change it, actions read it.

use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde_json::Value;
use tokio::sync::watch;

use crate::control::UserControl;
use crate::screen::ScreenCast;

/// Tabs at one time; further ones are closed at once.
pub(crate) const MOST_TABS: usize = 16;
/// Entries of the logs of a tab.
const MOST_ENTRIES: usize = 300;
/// Notes of one action.
const MOST_NOTES: usize = 20;
/// Frames of a tab that are remembered.
const MOST_FRAMES: usize = 500;

/// The state of a browser, and a signal for each change.
#[derive(Debug)]
pub(crate) struct SharedState {
    state: Mutex<BrowserState>,
    changed: watch::Sender<u64>,
}

impl Default for SharedState {
    fn default() -> Self {
        Self { state: Mutex::default(), changed: watch::Sender::new(0) }
    }
}

impl SharedState {
    pub(crate) fn lock(&self) -> MutexGuard<'_, BrowserState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
    /// Tells everyone who waits.
    pub(crate) fn signal(&self) {
        self.changed.send_modify(|count| *count = count.wrapping_add(1));
    }
    /// Waits until the state gives a value.
    pub(crate) async fn until<T>(&self, mut look: impl FnMut(&mut BrowserState) -> Option<T>) -> T {
        let mut changes = self.changed.subscribe();
        loop {
            if let Some(found) = look(&mut self.lock()) {
                return found;
            }
            if changes.changed().await.is_err() {
                std::future::pending::<()>().await;
            }
        }
    }
}

#[derive(Debug, Default)]
pub(crate) struct BrowserState {
    pub(crate) tabs: Vec<Tab>,
    /// The current tab, by its target.
    pub(crate) current: Option<String>,
    /// How many tabs there were.
    pub(crate) opened: u32,
    pub(crate) is_closed: bool,
    /// The files that are being downloaded, by their ids.
    pub(crate) downloads: HashMap<String, Download>,
    /// What happened since the action began.
    pub(crate) notes: Vec<String>,
    /// What users look at.
    pub(crate) cast: ScreenCast,
    /// Whether the user acts in place of the model.
    pub(crate) user: UserControl,
}

/// A file that a page sends.
#[derive(Debug, Clone, Default)]
pub(crate) struct Download {
    pub(crate) name: String,
    pub(crate) url: String,
    pub(crate) received: u64,
    pub(crate) state: DownloadState,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum DownloadState {
    #[default]
    Running,
    Completed,
    Cancelled,
}

#[derive(Debug, Default)]
pub(crate) struct Tab {
    /// The id that the browser knows it by, which is also that of its main frame.
    pub(crate) target: String,
    /// The id that models know it by: `t1`, `t2`, ….
    pub(crate) id: String,
    pub(crate) session: String,
    pub(crate) url: String,
    pub(crate) title: String,
    pub(crate) is_crashed: bool,
    pub(crate) frames: HashMap<String, Frame>,
    /// The next free number of a frame, and of an element.
    pub(crate) next_frame: u32,
    pub(crate) next_element: u64,
    pub(crate) load: PageLoad,
    /// Of a document that is not shown yet.
    pub(crate) early: PageLoad,
    /// How the next question of the page is answered.
    pub(crate) armed: Option<DialogAnswer>,
    /// Questions since the action began.
    pub(crate) dialogs: u32,
    pub(crate) console: VecDeque<ConsoleEntry>,
    pub(crate) requests: VecDeque<RequestEntry>,
    /// Requests without an answer yet.
    pub(crate) in_flight: HashSet<String>,
    /// What is dragged.
    pub(crate) drag: Option<Value>,
    /// The field that wants files.
    pub(crate) file_field: Option<i64>,
    /// The elements of the last snapshot, for messages about those that are gone.
    pub(crate) last_elements: HashMap<String, String>,
}

/// How far the main frame is loaded.
#[derive(Debug, Default, Clone, PartialEq, Eq)]
#[expect(clippy::struct_excessive_bools, reason = "each is told of by an event of its own")]
pub(crate) struct PageLoad {
    /// The document that is loaded.
    pub(crate) loader: String,
    pub(crate) has_content: bool,
    pub(crate) is_loaded: bool,
    pub(crate) is_idle: bool,
    /// A navigation was begun and has not led to a document yet.
    pub(crate) is_leaving: bool,
    /// Documents so far.
    pub(crate) documents: u64,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct DialogAnswer {
    pub(crate) accept: bool,
    pub(crate) text: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Frame {
    pub(crate) parent: Option<String>,
    /// The session that it is reached by; that of its parent, if absent.
    pub(crate) session: Option<String>,
    /// The number in refs; none for the main frame.
    pub(crate) number: u32,
    /// Where the page script runs.
    pub(crate) context: Option<ScriptContext>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ScriptContext {
    pub(crate) session: String,
    pub(crate) id: i64,
    /// No other has it, in no process.
    pub(crate) unique: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ConsoleEntry {
    pub(crate) level: String,
    pub(crate) text: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestEntry {
    pub(crate) id: String,
    pub(crate) method: String,
    pub(crate) url: String,
    pub(crate) kind: String,
    /// A status, or why it failed.
    pub(crate) outcome: Option<String>,
}

impl BrowserState {
    pub(crate) fn note(&mut self, note: String) {
        if self.notes.len() < MOST_NOTES && !self.notes.contains(&note) {
            self.notes.push(note);
        }
    }
    pub(crate) fn tab(&self, target: &str) -> Option<&Tab> {
        self.tabs.iter().find(|tab| tab.target == target)
    }
    pub(crate) fn tab_mut(&mut self, target: &str) -> Option<&mut Tab> {
        self.tabs.iter_mut().find(|tab| tab.target == target)
    }
    /// The tab that a session belongs to: its own, or that of one of its frames.
    pub(crate) fn tab_of_session(&mut self, session: &str) -> Option<&mut Tab> {
        let is_of = |tab: &Tab| tab.session == session || tab.frames.values().any(|frame| frame.session.as_deref() == Some(session));
        self.tabs.iter_mut().find(|tab| is_of(tab))
    }
    /// The tab with this id, or the current one.
    pub(crate) fn find_tab(&self, id: Option<&str>) -> Option<&Tab> {
        match id {
            Some(id) => self.tabs.iter().find(|tab| tab.id == id || tab.target == id),
            None => self.current.as_deref().and_then(|target| self.tab(target)).or(self.tabs.last()),
        }
    }
    pub(crate) fn remove_tab(&mut self, target: &str) {
        self.tabs.retain(|tab| tab.target != target);
        if self.current.as_deref() == Some(target) {
            self.current = self.tabs.last().map(|tab| tab.target.clone());
        }
    }
}

impl Tab {
    /// The frame with this id, which is new if it is not known yet.
    pub(crate) fn frame(&mut self, id: &str) -> &mut Frame {
        if !self.frames.contains_key(id) {
            let number = if id == self.target { 0 } else { self.next_frame.max(1) };
            self.next_frame = self.next_frame.max(number + 1);
            if self.frames.len() >= MOST_FRAMES {
                let main = self.target.clone();
                self.frames.retain(|id, _| *id == main);
            }
            self.frames.insert(id.to_owned(), Frame { number, ..Frame::default() });
        }
        self.frames.entry(id.to_owned()).or_default()
    }
    /// The session by which a frame is reached.
    pub(crate) fn session_of(&self, frame: &str) -> String {
        let mut at = Some(frame.to_owned());
        for _ in 0..MOST_FRAMES {
            let Some(found) = at.as_deref().and_then(|id| self.frames.get(id)) else { break };
            if let Some(session) = &found.session {
                return session.clone();
            }
            at = found.parent.clone();
        }
        self.session.clone()
    }
    /// The frame with this number in refs.
    pub(crate) fn frame_numbered(&self, number: u32) -> Option<&str> {
        if number == 0 {
            return Some(&self.target);
        }
        self.frames.iter().find(|(_, frame)| frame.number == number).map(|(id, _)| id.as_str())
    }
    pub(crate) fn print(&mut self, entry: ConsoleEntry) {
        push_bounded(&mut self.console, entry);
    }
    pub(crate) fn request(&mut self, entry: RequestEntry) {
        if self.in_flight.len() < MOST_ENTRIES {
            self.in_flight.insert(entry.id.clone());
        }
        push_bounded(&mut self.requests, entry);
    }
    pub(crate) fn answer_request(&mut self, id: &str, outcome: String) {
        if let Some(entry) = self.requests.iter_mut().rev().find(|entry| entry.id == id) {
            entry.outcome = Some(outcome);
        }
    }
}

fn push_bounded<T>(entries: &mut VecDeque<T>, entry: T) {
    if entries.len() >= MOST_ENTRIES {
        entries.pop_front();
    }
    entries.push_back(entry);
}
