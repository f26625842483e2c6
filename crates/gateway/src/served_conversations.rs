//! Conversations of the server for messages that come in by channels.

use std::sync::Arc;

use crate::sessions::SessionHost;

/// The sessions that run in a server, for the program that it is part of. Pages see them like any other.
#[derive(Clone)]
pub struct ServedConversations(pub(crate) Arc<SessionHost>);

haft_contract::opaque_debug!(ServedConversations);

impl ServedConversations {
    /// Begins a session; returns its id.
    pub async fn begin(&self, agent: Option<String>, title: &str) -> Result<String, String> {
        let begun = self.0.create(agent, None, Some(title)).await;
        begun.map(|session| session.id).map_err(|error| error.message().to_owned())
    }

    /// Closes a session that does not work: the next message opens it with the rights of its sender.
    pub async fn close(&self, session: &str) {
        self.0.close(session).await;
    }

    /// Runs the turn of a message to its end; returns the answer. A session that works takes the message into its turn.
    pub async fn turn(&self, session: &str, text: String) -> Result<String, String> {
        self.0.turn_to_its_end(session, text).await.map_err(|error| error.message().to_owned())
    }
}
