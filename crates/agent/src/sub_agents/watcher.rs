//! The events of a sub-agent: counted for its state; questions to the user go to the watcher of the conversation.

use std::sync::Arc;

use super::lanes::LiveAgent;
use crate::events::{TurnEvent, TurnWatcher};

pub(super) struct ChildWatcher {
    pub(super) live: Arc<LiveAgent>,
    pub(super) parent: Arc<dyn TurnWatcher>,
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
            TurnEvent::Notice(text) => {
                let label = self.live.status().label;
                self.parent.event(&TurnEvent::Notice(&format!("sub-agent '{label}': {text}")));
            }
            _ => {}
        }
    }
}
