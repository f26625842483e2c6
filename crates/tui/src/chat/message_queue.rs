//! Messages that the model has not received yet.

use std::collections::VecDeque;

use haft_agent::Steering;

/// When a message is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum SendTime {
    /// With the results of the running calls.
    Soon,
    /// After the turn.
    Later,
}

/// Queued messages in the order in which they were typed.
#[derive(Debug, Default)]
pub(super) struct MessageQueue {
    steering: Steering,
    later: VecDeque<String>,
    order: Vec<SendTime>,
}

impl MessageQueue {
    pub(super) fn new(steering: Steering) -> Self {
        Self { steering, ..Self::default() }
    }

    pub(super) fn soon(&mut self, text: String) {
        self.steering.say(text);
        self.order.push(SendTime::Soon);
    }

    pub(super) fn later(&mut self, text: String) {
        self.later.push_back(text);
        self.order.push(SendTime::Later);
    }

    /// Takes the newest queued message back.
    pub(super) fn take_back(&mut self) -> Option<String> {
        while let Some(when) = self.order.pop() {
            let text = match when {
                SendTime::Soon => self.steering.take_back(),
                SendTime::Later => self.later.pop_back(),
            };
            if text.is_some() {
                return text;
            }
        }
        None
    }

    /// Takes all messages back, oldest first.
    pub(super) fn take_all_back(&mut self) -> Vec<String> {
        let mut texts: Vec<String> = std::iter::from_fn(|| self.take_back()).collect();
        texts.reverse();
        texts
    }

    /// Messages to send after the turn, including those that the turn did not take.
    pub(super) fn into_rest(mut self) -> VecDeque<String> {
        self.take_all_back().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn newest_message_is_taken_back_first_and_sent_messages_stay_sent() {
        let steering = Steering::default();
        let mut queue = MessageQueue::new(steering.clone());
        queue.soon("one".into());
        queue.later("two".into());
        queue.soon("three".into());
        assert_eq!(queue.take_back().as_deref(), Some("three"));
        queue.soon("four".into());
        assert_eq!(queue.take_all_back(), ["one", "two", "four"]);
        assert_eq!(queue.take_back(), None);
        queue.later("five".into());
        queue.soon("six".into());
        // The model receives it.
        assert_eq!(steering.take_back().as_deref(), Some("six"));
        assert_eq!(queue.take_back().as_deref(), Some("five"));
        queue.later("seven".into());
        queue.soon("eight".into());
        assert_eq!(queue.into_rest(), ["seven", "eight"]);
    }
}
