//! Carries out a command, again where that cannot do it twice.

use std::time::Duration;

use haft_contract::ports::{ChannelCommand, ChannelReceipt};
use tokio::time::{Instant, sleep, timeout_at};

use crate::driver::ChannelDriver;
use crate::{Certainty, SendFailure};

/// Tries of one message.
const TRIES: u32 = 4;
/// All tries together, with the time between them: less than a call may take.
const PATIENCE: Duration = Duration::from_secs(45);
/// The time before the second try, where the service names none; it doubles.
const PAUSE: Duration = Duration::from_millis(500);

/// What became of a command.
pub(crate) async fn deliver(driver: &dyn ChannelDriver, command: &ChannelCommand, key: &str) -> Result<ChannelReceipt, SendFailure> {
    let end = Instant::now() + PATIENCE;
    let (mut pause, mut longest, mut was_unknown) = (PAUSE, Duration::ZERO, None);
    for left in (0..TRIES).rev() {
        let begun = Instant::now();
        let tried = timeout_at(end, driver.perform(command, key)).await;
        let failure = match tried {
            Ok(Ok(receipt)) => return Ok(receipt),
            Ok(Err(failure)) => failure,
            Err(_) => return Err(SendFailure::unknown("the service did not answer in time")),
        };
        let wait = failure.retry_after.unwrap_or(pause);
        if failure.certainty == Certainty::Unknown {
            was_unknown = Some(failure.clone());
        }
        longest = longest.max(begun.elapsed());
        // A try that is cut off would leave open what is certain by now.
        let is_late = Instant::now() + wait + longest >= end;
        if left == 0 || !failure.can_repeat(driver.is_idempotent(command.action)) || is_late {
            // What one try left open, a later refusal does not settle.
            return Err(was_unknown.unwrap_or_else(|| with_time(failure)));
        }
        sleep(wait).await;
        pause *= 2;
    }
    Err(SendFailure::not_sent("it was not tried"))
}

/// A service that wants to be asked again says when: the caller can do that.
fn with_time(failure: SendFailure) -> SendFailure {
    match failure.retry_after.filter(|_| failure.certainty == Certainty::Later) {
        Some(wait) => SendFailure { message: format!("{failure}; it can be sent again in {} s", wait.as_secs_f64().ceil()), ..failure },
        None => failure,
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use haft_contract::BoxFuture;
    use haft_contract::ports::{ChannelAction, ChannelKind, SendOutcome};

    use super::*;
    use crate::driver::Capabilities;

    /// Answers in order; hangs when there are none left.
    struct Scripted {
        answers: Mutex<Vec<Result<ChannelReceipt, SendFailure>>>,
        is_idempotent: bool,
        takes: Duration,
    }

    impl ChannelDriver for Scripted {
        fn kind(&self) -> ChannelKind {
            ChannelKind::Webhook
        }
        fn capabilities(&self) -> Capabilities {
            Capabilities { actions: &[], attachments: false, buttons: false, subject: false, longest: 10, outward: true }
        }
        fn is_idempotent(&self, _: ChannelAction) -> bool {
            self.is_idempotent
        }
        fn perform<'a>(&'a self, _: &'a ChannelCommand, _: &'a str) -> BoxFuture<'a, Result<ChannelReceipt, SendFailure>> {
            let (next, takes) = (self.answers.lock().unwrap().pop(), self.takes);
            Box::pin(async move {
                sleep(takes).await;
                match next {
                    Some(answer) => answer,
                    None => std::future::pending().await,
                }
            })
        }
        fn probe(&self) -> BoxFuture<'_, Result<String, SendFailure>> {
            Box::pin(async { Ok(String::new()) })
        }
    }

    #[tokio::test]
    async fn service_that_is_asked_too_often_says_when_it_can_be_asked_again() {
        let answers = Mutex::new(vec![Err(SendFailure::later("slow down", Some(Duration::from_hours(1))))]);
        let driver = Scripted { answers, is_idempotent: false, takes: Duration::ZERO };
        let failure = deliver(&driver, &ChannelCommand::new("x", "y", ChannelAction::Send, "z"), "key").await.unwrap_err();
        assert_eq!(failure.message, "slow down; it can be sent again in 3600 s");
    }

    #[tokio::test(start_paused = true)]
    async fn try_that_would_be_cut_off_is_not_begun() {
        let answers = vec![Err(SendFailure::unknown("not asked")), Err(SendFailure::not_sent("down")), Err(SendFailure::not_sent("down"))];
        let driver = Scripted { answers: Mutex::new(answers), is_idempotent: false, takes: Duration::from_secs(20) };
        let failure = deliver(&driver, &ChannelCommand::new("x", "y", ChannelAction::Send, "z"), "key").await.unwrap_err();
        assert_eq!((failure.certainty, failure.message.as_str()), (Certainty::NotSent, "down"));
    }

    #[tokio::test(start_paused = true)]
    async fn only_what_cannot_be_done_twice_is_tried_again() {
        let sent = || Ok(ChannelReceipt::delivered(None));
        let later = |seconds: u64| Err(SendFailure::later("slow down", Some(Duration::from_secs(seconds))));
        let (lost, down) = (|| Err(SendFailure::unknown("lost")), || Err(SendFailure::not_sent("down")));
        let refused = || Err(SendFailure::refused("no"));
        for (is_idempotent, mut answers, expected, left, seconds) in [
            (false, vec![sent()], SendOutcome::Delivered, 0, 0),
            (false, vec![down(), sent()], SendOutcome::Delivered, 0, 0),
            (false, vec![later(7), sent()], SendOutcome::Delivered, 0, 7),
            (false, vec![lost(), sent()], SendOutcome::Unknown, 1, 0),
            (true, vec![lost(), sent()], SendOutcome::Delivered, 0, 0),
            (true, vec![lost(), refused(), sent()], SendOutcome::Unknown, 1, 0),
            (false, vec![refused(), sent()], SendOutcome::NotDelivered, 1, 0),
            (false, vec![later(3600), sent()], SendOutcome::NotDelivered, 1, 0),
            (false, vec![down(), down(), down(), down(), sent()], SendOutcome::NotDelivered, 1, 3),
            (false, vec![], SendOutcome::Unknown, 0, 45),
            (true, vec![], SendOutcome::Unknown, 0, 45),
        ] {
            answers.reverse();
            let driver = Scripted { answers: Mutex::new(answers), is_idempotent, takes: Duration::ZERO };
            let command = ChannelCommand::new("x", "y", ChannelAction::Send, "z");
            let begin = Instant::now();
            let outcome = deliver(&driver, &command, "key").await.map_or_else(|failure| failure.outcome(), |receipt| receipt.outcome);
            let found = (outcome, driver.answers.lock().unwrap().len(), begin.elapsed().as_secs());
            assert_eq!(found, (expected, left, seconds));
        }
    }
}
