//! The line that moves: what is waited for, and for how long.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::Shown;
use super::call::Running;
use super::face::Marks;
use crate::terminal::waiting::PATIENCE;

/// How long a model may be silent before a person wonders.
const SILENCE: Duration = Duration::from_secs(10);
/// How often the line is looked at.
const PERIOD: Duration = Duration::from_millis(500);
const TURNING: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// What the last line says, if anything.
pub(super) fn text(waited: &Waited<'_>, marks: Marks, now: Instant) -> Option<String> {
    let since = |then: Instant| now.saturating_duration_since(then);
    if let Some(oldest) = waited.running.iter().min_by_key(|running| running.since) {
        let elapsed = since(oldest.since);
        return (elapsed >= PATIENCE).then(|| calls(oldest, waited.running.len(), elapsed, marks));
    }
    if let Some(began) = waited.thinking {
        let seconds = since(began).as_secs();
        return Some(if seconds == 0 { "thinking…".into() } else { format!("thinking… {seconds} s") });
    }
    let silent = since(waited.heard);
    (silent >= SILENCE).then(|| format!("waiting for {}… {} s", waited.model, silent.as_secs()))
}

/// `◐ exec cargo test 3 s`, or `◐ 3 calls running · exec cargo test 12 s`.
fn calls(oldest: &Running, count: usize, elapsed: Duration, marks: Marks) -> String {
    let seconds = elapsed.as_secs();
    let turning = if marks == Marks::Symbols { TURNING[usize::try_from(seconds).unwrap_or(0) % TURNING.len()] } else { "…" };
    let others = if count > 1 { format!("{count} calls running · ") } else { String::new() };
    let update = oldest.update.as_ref().map(|update| format!(" · {update}")).unwrap_or_default();
    format!("{turning} {others}{} {seconds} s{update}", oldest.title())
}

/// Everything that can be waited for.
#[derive(Debug)]
pub(super) struct Waited<'a> {
    pub(super) running: &'a [Running],
    /// Since when the model thinks.
    pub(super) thinking: Option<Instant>,
    /// When something was heard last.
    pub(super) heard: Instant,
    pub(super) model: &'a str,
}

/// Looks at the line again and again, until it is dropped. On a thread of its own, which no tool can hold up.
#[derive(Debug)]
pub(super) struct Ticker {
    _alive: mpsc::Sender<()>,
}

impl Ticker {
    pub(super) fn start(shown: &Arc<Shown>) -> Option<Self> {
        let (alive, dead) = mpsc::channel::<()>();
        let shown = Arc::clone(shown);
        let tick = move || {
            while dead.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                shown.tick();
            }
        };
        // Without the thread nothing moves, and nothing else is lost.
        std::thread::Builder::new().name("haft-waiting".into()).spawn(tick).ok()?;
        Some(Self { _alive: alive })
    }
}
