//! The sessions of clients that have shaken hands, beside those that the SDK knows: their calls can be answered without it.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak};
use std::time::Duration;

use axum::http::request::Parts;
use rmcp::RoleServer;
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use tokio::time::Instant;

use crate::server::client_session::ClientSession;

/// A channel of the SDK's sessions that does not exist: to close it is a sign of life and nothing else.
const NO_CHANNEL: u64 = u64::MAX;

/// The session that a request has opened, named by the answer to it.
#[derive(Debug, Clone, Default)]
pub(in crate::server) struct OpenedSession(Arc<OnceLock<Weak<ClientSession>>>);

impl OpenedSession {
    /// Notes the client that has shaken hands by this request. Its session must end with the SDK's, so it is not held.
    pub(in crate::server) fn note(context: &RequestContext<RoleServer>, client: &Arc<ClientSession>) {
        let opened = context.extensions.get::<Parts>().and_then(|parts| parts.extensions.get::<Self>());
        if let Some(opened) = opened {
            opened.0.get_or_init(|| Arc::downgrade(client));
        }
    }
}

struct KnownSession {
    client: Weak<ClientSession>,
    /// When the SDK last heard of the session.
    noted: Instant,
}

/// Every session, by its id.
pub(super) struct HttpSessions {
    manager: Arc<LocalSessionManager>,
    known: Mutex<HashMap<String, KnownSession>>,
    /// The SDK ends a session of which it hears nothing; it is told of calls that it does not see, but not of each.
    note_every: Duration,
}

impl HttpSessions {
    pub(super) fn new(manager: Arc<LocalSessionManager>) -> Self {
        let note_every = manager.session_config.keep_alive.unwrap_or(Duration::MAX) / 30;
        Self { manager, known: Mutex::default(), note_every }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<String, KnownSession>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a session under the id that the client was told; forgets those that have ended.
    pub(super) fn add(&self, id: &str, opened: &OpenedSession) {
        let Some(client) = opened.0.get().cloned() else { return };
        let mut known = self.lock();
        known.retain(|_, session| session.client.strong_count() > 0);
        known.insert(id.to_owned(), KnownSession { client, noted: Instant::now() });
    }

    /// The client of a session that is open.
    pub(super) async fn get(&self, id: &str) -> Option<Arc<ClientSession>> {
        let client = self.lock().get(id)?.client.upgrade()?;
        // One that was ended is gone from here before its parts are.
        self.manager.sessions.read().await.contains_key(id).then_some(client)
    }

    /// Tells the SDK that a session is used.
    pub(super) async fn note_use(&self, id: &str) {
        {
            let mut known = self.lock();
            let Some(session) = known.get_mut(id).filter(|session| session.noted.elapsed() >= self.note_every) else { return };
            session.noted = Instant::now();
        }
        let session = self.manager.sessions.read().await.get(id).cloned();
        if let Some(session) = session {
            // It answers when it has written what waits, which is not for this request to wait for.
            tokio::spawn(async move { session.close_request_wise_channel(NO_CHANNEL).await.ok() });
        }
    }
}

#[cfg(test)]
mod tests {
    use rmcp::model::{ClientJsonRpcMessage, ServerConfig};
    use rmcp::transport::streamable_http_server::session::SessionManager;
    use rmcp::{ServerHandler, ServiceExt};
    use serde_json::json;

    use super::*;

    struct NoTools;

    impl ServerHandler for NoTools {
        fn get_info(&self) -> ServerConfig {
            ServerConfig::default()
        }
    }

    #[tokio::test(start_paused = true)]
    async fn session_lives_as_long_as_it_is_used_and_no_longer() {
        let keep_alive = Duration::from_mins(30);
        let mut manager = LocalSessionManager::default();
        manager.session_config.keep_alive = Some(keep_alive);
        let manager = Arc::new(manager);
        let (id, transport) = manager.create_session().await.unwrap();
        let (serving, ending) = (Arc::clone(&manager), id.clone());
        let ended = tokio::spawn(async move {
            NoTools.serve(transport).await.unwrap().waiting().await.ok();
            serving.close_session(&ending).await.unwrap();
        });
        let params = json!({"protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "t", "version": "1"}});
        let hello = |method: &str| json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
        let message = |value| serde_json::from_value::<ClientJsonRpcMessage>(value).unwrap();
        manager.initialize_session(&id, message(hello("initialize"))).await.unwrap();
        let initialized = json!({"jsonrpc": "2.0", "method": "notifications/initialized"});
        manager.accept_message(&id, message(initialized)).await.unwrap();
        let sessions = HttpSessions::new(Arc::clone(&manager));
        sessions.lock().insert(id.to_string(), KnownSession { client: Weak::new(), noted: Instant::now() });
        for _ in 0..5 {
            tokio::time::sleep(keep_alive * 2 / 3).await;
            assert!(manager.has_session(&id).await.unwrap());
            sessions.note_use(&id).await;
        }
        ended.await.unwrap();
        assert!(!manager.has_session(&id).await.unwrap());
    }
}
