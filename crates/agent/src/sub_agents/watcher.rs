//! The events of a sub-agent: counted for its state; questions and messages to the user go to the watcher of the conversation.

use std::sync::Arc;

use haft_contract::ports::UserMessage;

use super::lanes::LiveAgent;
use crate::events::{TurnEvent, TurnWatcher};

pub(super) struct ChildWatcher {
    pub(super) live: Arc<LiveAgent>,
    pub(super) parent: Arc<dyn TurnWatcher>,
}

impl ChildWatcher {
    /// A text for the user, with the name of the sub-agent that it is of.
    fn prefix_label(&self, text: &str) -> String {
        format!("sub-agent '{}': {text}", self.live.status().label)
    }
}

impl TurnWatcher for ChildWatcher {
    fn event(&self, event: &TurnEvent<'_>) {
        match event {
            TurnEvent::ToolEnd(_) => self.live.change(|status| status.calls += 1),
            TurnEvent::Usage(usage, _) => self.live.change(|status| {
                status.rounds += 1;
                status.input += usage.input;
                status.output += usage.output;
            }),
            TurnEvent::Approval { .. } => self.parent.event(event),
            TurnEvent::Notice(text) => self.parent.event(&TurnEvent::Notice(&self.prefix_label(text))),
            // Its tool says that the user has seen it.
            TurnEvent::Message(message) => {
                self.parent.event(&TurnEvent::Message(&UserMessage { message: self.prefix_label(&message.message), ..(*message).clone() }));
            }
            _ => {}
        }
    }
}
