//! The wait line of a turn: what runs, and for how long.

use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use super::TurnView;
use super::call::RunningCall;
use super::style::SymbolSet;
use crate::terminal::wait_line::PATIENCE;

/// A shorter silence of the model is not shown.
const SILENCE: Duration = Duration::from_secs(10);
/// How often the line is redrawn.
const PERIOD: Duration = Duration::from_millis(200);
const TURNING: [&str; 4] = ["◐", "◓", "◑", "◒"];

/// The text of the wait line.
pub(super) fn wait_text(wait: &WaitState<'_>, symbols: SymbolSet, now: Instant) -> Option<String> {
    let since = |then: Instant| now.saturating_duration_since(then);
    if let Some(oldest) = wait.running.iter().min_by_key(|running| running.since) {
        let elapsed = since(oldest.since);
        return (elapsed >= PATIENCE).then(|| calls(oldest, wait.running.len(), elapsed, symbols));
    }
    if let Some(began) = wait.thinking {
        let seconds = since(began).as_secs();
        return Some(if seconds == 0 { "thinking…".into() } else { format!("thinking… {seconds} s") });
    }
    let silent = since(wait.last_event);
    (silent >= SILENCE).then(|| format!("waiting for {}… {} s", wait.model, silent.as_secs()))
}

/// `◐ exec cargo test 3 s`, or `◐ 3 calls running · exec cargo test 12 s`.
fn calls(oldest: &RunningCall, count: usize, elapsed: Duration, symbols: SymbolSet) -> String {
    let seconds = elapsed.as_secs();
    let turning = if symbols == SymbolSet::Symbols { TURNING[usize::try_from(seconds).unwrap_or(0) % TURNING.len()] } else { "…" };
    let others = if count > 1 { format!("{count} calls running · ") } else { String::new() };
    let update = oldest.update.as_ref().map(|update| format!(" · {update}")).unwrap_or_default();
    format!("{turning} {others}{} {seconds} s{update}", oldest.title())
}

/// Everything that a turn can wait for.
#[derive(Debug)]
pub(super) struct WaitState<'a> {
    pub(super) running: &'a [RunningCall],
    /// When the model began to think.
    pub(super) thinking: Option<Instant>,
    /// Time of the last event.
    pub(super) last_event: Instant,
    pub(super) model: &'a str,
}

/// Redraws the line on a separate thread until it is dropped.
#[derive(Debug)]
pub(super) struct Ticker {
    _alive: mpsc::Sender<()>,
}

impl Ticker {
    pub(super) fn start(view: &Arc<TurnView>) -> Option<Self> {
        let (alive, ended) = mpsc::channel::<()>();
        let view = Arc::clone(view);
        let tick = move || {
            while ended.recv_timeout(PERIOD) == Err(RecvTimeoutError::Timeout) {
                view.tick();
            }
        };
        // Without the thread the line is not redrawn.
        std::thread::Builder::new().name("haft-waiting".into()).spawn(tick).ok()?;
        Some(Self { _alive: alive })
    }
}
