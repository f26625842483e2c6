//! Subscriptions: which resources a client watches, and which of them have changed.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError, Weak};
use std::time::Duration;

use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::{ErrorData, Peer, RoleServer};

use super::backend::ClientAgent;
use super::client_session::ClientSession;

/// Resources that a client watches.
pub(super) const MOST_SUBSCRIPTIONS: usize = 1000;
/// How often watched resources are looked at. Editors change them as well as calls do.
pub(super) const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Watched resources, each with its version at the last look.
#[derive(Debug, Default)]
pub(super) struct ResourceWatch(BTreeMap<String, Option<u64>>);

impl ResourceWatch {
    /// Watches these resources from now on.
    pub(super) fn start(uris: Vec<String>, agents: &[Arc<ClientAgent>]) -> Self {
        let versions = versions(&uris, agents);
        Self(uris.into_iter().zip(versions).collect())
    }

    /// The addresses of resources that differ from the last look.
    pub(super) fn changed(&mut self, agents: &[Arc<ClientAgent>]) -> Vec<String> {
        let uris: Vec<String> = self.0.keys().cloned().collect();
        let versions = versions(&uris, agents);
        let watched = self.0.values_mut().zip(versions).zip(uris);
        watched.filter_map(|((known, now), uri)| (std::mem::replace(known, now) != now).then_some(uri)).collect()
    }
}

/// The version of each resource, of the first source that has it.
fn versions(uris: &[String], agents: &[Arc<ClientAgent>]) -> Vec<Option<u64>> {
    let mut found = vec![None; uris.len()];
    for source in agents.iter().flat_map(|agent| &agent.resources) {
        for (known, version) in found.iter_mut().zip(source.versions(uris)) {
            *known = known.or(version);
        }
    }
    found
}

/// The subscriptions of one client.
#[derive(Debug, Default)]
pub(super) struct Subscriptions(Mutex<WatchState>);

#[derive(Debug, Default)]
struct WatchState {
    watch: ResourceWatch,
    /// Whether a task looks at them.
    watched: bool,
}

impl Subscriptions {
    /// Adds a subscription. Whether it is the first: then a task must watch.
    fn add(&self, uri: String, agents: &[Arc<ClientAgent>]) -> Result<bool, ErrorData> {
        let version = versions(std::slice::from_ref(&uri), agents).pop().flatten();
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if state.watch.0.len() >= MOST_SUBSCRIPTIONS && !state.watch.0.contains_key(&uri) {
            let message = format!("There are {MOST_SUBSCRIPTIONS} subscriptions already: unsubscribe from some first.");
            return Err(ErrorData::invalid_request(message, None));
        }
        state.watch.0.insert(uri, version);
        Ok(!std::mem::replace(&mut state.watched, true))
    }

    /// Removes a subscription.
    pub(super) fn remove(&self, uri: &str) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).watch.0.remove(uri);
    }

    /// What has changed; `None` ends the task, because nothing is watched any more.
    fn look(&self, agents: &[Arc<ClientAgent>]) -> Option<Vec<String>> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.watched = !state.watch.0.is_empty();
        state.watched.then(|| state.watch.changed(agents))
    }
}

impl ClientSession {
    /// Tells the client from now on when this resource changes.
    pub(super) fn subscribe(self: &Arc<Self>, uri: String, peer: Peer<RoleServer>) -> Result<(), ErrorData> {
        if self.subscriptions.add(uri, &self.open_agents())? {
            let (client, closing) = (Arc::downgrade(self), self.closing().clone());
            tokio::spawn(async move { closing.run_until_cancelled(tell(client, peer)).await });
        }
        Ok(())
    }
}

/// Tells the client what changes, until it watches nothing or has gone. Holds nothing of the session between two looks.
async fn tell(client: Weak<ClientSession>, peer: Peer<RoleServer>) {
    loop {
        tokio::time::sleep(LOOK_EVERY).await;
        let Some(client) = client.upgrade() else { return };
        let look = tokio::task::spawn_blocking(move || client.subscriptions.look(&client.open_agents()));
        let Ok(Some(changed)) = look.await else { return };
        for uri in changed {
            if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_err() {
                return;
            }
        }
    }
}
