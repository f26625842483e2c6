//! Messages to conversations of this machine: they are answers in a stored session, which the page shows.

use std::path::PathBuf;
use std::sync::Arc;

use haft_agent::{Ledger, LedgerEntry, StoredSession};
use haft_channels::{ChatInbox, SendFailure};
use haft_contract::BoxFuture;
use haft_provider::{Block, Message, StopReason, Usage};
use haft_store::{CallLog, NewSession, SessionFilter, SessionRecord, SessionStore, StateStore};

use crate::wire::{MAIN, Wire};

/// Sessions that are searched for a title.
const MOST: usize = 200;

pub(super) struct StoredChat {
    served: Option<Arc<StateStore>>,
    data_folder: PathBuf,
    workspace: PathBuf,
}

impl StoredChat {
    pub(super) fn new(wire: &Wire) -> Self {
        let served = wire.served.as_ref().map(|served| Arc::clone(&served.store));
        Self { served, data_folder: wire.settings.data_folder.clone(), workspace: wire.settings.workspace.clone() }
    }

    fn store(&self) -> Result<Arc<StateStore>, String> {
        match &self.served {
            Some(store) => Ok(Arc::clone(store)),
            None => super::super::open_store(&self.data_folder).map(|opened| Arc::new(opened.store)).map_err(|error| error.to_string()),
        }
    }

    /// The session with this id, or the one that collects messages under this title.
    async fn session(&self, sessions: &dyn SessionStore, to: &str) -> Result<SessionRecord, String> {
        if uuid_like(to) {
            return sessions.open(to).await.map_err(|error| error.to_string());
        }
        let filter = SessionFilter {
            workspace: Some(self.workspace.clone()),
            title: Some(to.to_owned()),
            limit: Some(MOST),
            ..SessionFilter::default()
        };
        let found = sessions.list(filter).await.map_err(|error| error.to_string())?;
        if let Some(session) = found.into_iter().find(|session| session.title.as_deref() == Some(to)) {
            return Ok(session);
        }
        let mut session = NewSession::new(MAIN, &self.workspace);
        session.title = Some(to.to_owned());
        sessions.create(session).await.map_err(|error| error.to_string())
    }

    async fn append(&self, to: &str, text: &str) -> Result<String, String> {
        let store = self.store()?;
        let sessions: Arc<dyn SessionStore> = store.sessions();
        let record = self.session(&*sessions, to).await?;
        let id = record.id.clone();
        let log: Arc<dyn CallLog> = store;
        let (session, _) = StoredSession::open(sessions, &*log, record).await.map_err(|error| error.to_string())?;
        let entry = LedgerEntry::Assistant {
            message: Message::assistant(vec![Block::text(text)]),
            model: "channel/message".into(),
            stop: StopReason::EndTurn,
            usage: Usage::default(),
        };
        session.keep(&entry).await?;
        Ok(id)
    }
}

fn uuid_like(to: &str) -> bool {
    to.len() == 36 && to.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'-')
}

impl ChatInbox for StoredChat {
    fn deliver<'a>(&'a self, to: &'a str, text: &'a str) -> BoxFuture<'a, Result<String, SendFailure>> {
        Box::pin(async move {
            let delivered = self.append(to, text).await;
            delivered.map_err(|message| SendFailure { certainty: haft_channels::Certainty::Refused, retry_after: None, message })
        })
    }
}
