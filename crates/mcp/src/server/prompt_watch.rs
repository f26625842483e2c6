//! Tells clients when the list of prompts has changed.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Weak};
use std::time::Duration;

use rmcp::{Peer, RoleServer};

use super::backend::ClientAgent;
use super::client_session::ClientSession;

/// How often sources are asked. The files of skills are edited by hand, so a moment later is soon enough.
const LOOK_EVERY: Duration = Duration::from_secs(2);

/// Whether a task watches the prompts of a client. It begins when the client first lists them: no other client has a list that could
/// become wrong, and an idle server does nothing.
#[derive(Debug, Default)]
pub(super) struct PromptWatch(AtomicBool);

/// The version of every source of prompts.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct PromptVersions(Vec<u64>);

impl PromptVersions {
    /// As they are now.
    pub(super) fn read(agents: &[Arc<ClientAgent>]) -> Self {
        Self(agents.iter().flat_map(|agent| &agent.prompts).map(|source| source.version()).collect())
    }

    /// Resolves when they differ from the last look.
    pub(super) async fn changed(&mut self, agents: &[Arc<ClientAgent>]) {
        loop {
            tokio::time::sleep(LOOK_EVERY).await;
            let agents = agents.to_vec();
            let Ok(now) = tokio::task::spawn_blocking(move || Self::read(&agents)).await else { continue };
            if now != *self {
                *self = now;
                return;
            }
        }
    }
}

impl ClientSession {
    /// Tells the client from now on when its prompts change.
    pub(super) fn watch_prompts(self: &Arc<Self>, peer: Peer<RoleServer>) {
        if !self.prompt_watch.0.swap(true, Ordering::AcqRel) {
            let (client, closing, known) = (Arc::downgrade(self), self.closing().clone(), PromptVersions::read(&self.open_agents()));
            tokio::spawn(async move { closing.run_until_cancelled(tell(client, peer, known)).await });
        }
    }
}

/// Tells the client of every change, until it has gone. Holds nothing of the session between two looks.
async fn tell(client: Weak<ClientSession>, peer: Peer<RoleServer>, mut known: PromptVersions) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(client) = client.upgrade() else { return };
        let look = tokio::task::spawn_blocking(move || PromptVersions::read(&client.open_agents()));
        let Ok(now) = look.await else { return };
        if now != known {
            known = now;
            if peer.notify_prompt_list_changed().await.is_err() {
                return;
            }
        }
    }
}
