//! What the person has said and the model has not heard yet.

use std::collections::VecDeque;

use haft_agent::Steering;

/// When something is to be said.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum When {
    /// With the results of the calls that run now.
    Soon,
    /// After the turn.
    Later,
}

/// Everything that waits, in the order in which it was said.
#[derive(Debug, Default)]
pub(super) struct Queue {
    steering: Steering,
    later: VecDeque<String>,
    order: Vec<When>,
}

impl Queue {
    /// For a turn that listens to this steering.
    pub(super) fn new(steering: Steering) -> Self {
        Self { steering, ..Self::default() }
    }

    pub(super) fn soon(&mut self, text: String) {
        self.steering.say(text);
        self.order.push(When::Soon);
    }

    pub(super) fn later(&mut self, text: String) {
        self.later.push_back(text);
        self.order.push(When::Later);
    }

    /// Takes back what was said last and still waits.
    pub(super) fn take_back(&mut self) -> Option<String> {
        while let Some(when) = self.order.pop() {
            let text = match when {
                When::Soon => self.steering.take_back(),
                When::Later => self.later.pop_back(),
            };
            if text.is_some() {
                return text;
            }
        }
        None
    }

    /// Takes all of it back, in the order in which it was said.
    pub(super) fn take_all_back(&mut self) -> Vec<String> {
        let mut texts: Vec<String> = std::iter::from_fn(|| self.take_back()).collect();
        texts.reverse();
        texts
    }

    /// What is to be said after the turn, also because nobody listened before its end.
    pub(super) fn into_rest(mut self) -> VecDeque<String> {
        self.take_all_back().into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_said_last_is_taken_back_first_and_what_was_heard_stays_said() {
        let steering = Steering::default();
        let mut queue = Queue::new(steering.clone());
        queue.soon("one".into());
        queue.later("two".into());
        queue.soon("three".into());
        assert_eq!(queue.take_back().as_deref(), Some("three"));
        queue.soon("four".into());
        assert_eq!(queue.take_all_back(), ["one", "two", "four"]);
        assert_eq!(queue.take_back(), None);
        queue.later("five".into());
        queue.soon("six".into());
        // The model hears it.
        assert_eq!(steering.take_back().as_deref(), Some("six"));
        assert_eq!(queue.take_back().as_deref(), Some("five"));
        queue.later("seven".into());
        queue.soon("eight".into());
        assert_eq!(queue.into_rest(), ["seven", "eight"]);
    }
}
