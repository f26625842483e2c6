//! How long the user has been asked about connections of a command: that time is not the command's.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::time::Instant;

/// Between two looks while a question is open and no time is left.
const PAUSE: Duration = Duration::from_millis(50);

/// The time in which decisions on connections of a command were waited for.
#[derive(Debug, Default)]
pub struct QuestionClock {
    state: Mutex<ClockState>,
}

#[derive(Debug, Default)]
struct ClockState {
    /// How many are open, and since when at least one is.
    open: usize,
    since: Option<Instant>,
    /// Of the time before that.
    total: Duration,
}

impl QuestionClock {
    /// Resolves when so much time has passed in which no question was open.
    pub async fn elapse(&self, time: Duration) {
        let (began, before) = (Instant::now(), self.total());
        loop {
            let questions = self.total().saturating_sub(before);
            let left = time.saturating_sub(began.elapsed().saturating_sub(questions));
            if left.is_zero() {
                return;
            }
            tokio::time::sleep(left.max(PAUSE.min(time))).await;
        }
    }

    /// A question is open until this is dropped.
    pub(super) fn ask(&self) -> QuestionPause<'_> {
        let mut state = self.state();
        state.open += 1;
        state.since.get_or_insert_with(Instant::now);
        QuestionPause(self)
    }

    fn total(&self) -> Duration {
        let state = self.state();
        state.total + state.since.map_or(Duration::ZERO, |since| since.elapsed())
    }

    fn state(&self) -> MutexGuard<'_, ClockState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An open question.
#[derive(Debug)]
pub(super) struct QuestionPause<'a>(&'a QuestionClock);

impl Drop for QuestionPause<'_> {
    fn drop(&mut self) {
        let mut state = self.0.state();
        state.open -= 1;
        if state.open == 0 {
            let open = state.since.take().map_or(Duration::ZERO, |since| since.elapsed());
            state.total += open;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_of_open_questions_does_not_count() {
        let seconds = Duration::from_secs;
        for (questions, expected) in [
            (vec![], 10),
            // Beside each other, after each other, and one that outlasts the time.
            (vec![(1, 5), (2, 3)], 15),
            (vec![(1, 5), (8, 4)], 19),
            (vec![(9, 60)], 70),
            (vec![(20, 5)], 10),
        ] {
            let (clock, began) = (Arc::new(QuestionClock::default()), Instant::now());
            for (at, length) in questions.clone() {
                let clock = Arc::clone(&clock);
                tokio::spawn(async move {
                    tokio::time::sleep(seconds(at)).await;
                    let _open = clock.ask();
                    tokio::time::sleep(seconds(length)).await;
                });
            }
            clock.elapse(seconds(10)).await;
            assert_eq!(began.elapsed().as_secs(), expected, "{questions:?}");
        }
    }
}
