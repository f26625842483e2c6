//! Messages of the model to the user, as events of the turn.

use std::sync::Arc;

use haft_contract::ports::{UserMessage, UserMessages};
use haft_contract::{BoxFuture, ToolError};

use crate::events::{TurnEvent, TurnWatcher};

/// Shows messages as events of the turn.
pub struct MessageEvents(pub Arc<dyn TurnWatcher>);

haft_contract::opaque_debug!(MessageEvents);

impl UserMessages for MessageEvents {
    fn show<'a>(&'a self, message: &'a UserMessage) -> BoxFuture<'a, Result<(), ToolError>> {
        self.0.event(&TurnEvent::Message(message));
        Box::pin(async { Ok(()) })
    }
}
