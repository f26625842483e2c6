//! A store of a test, whatever its backend, which can be opened several times and by other processes.

use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use haft_contract::ports::JobRegistry;
use haft_store::{AutomationStore, CallLog, ChannelStore, SessionClaim, SessionOwner, SessionStore, SqliteCallLog};
use tempfile::TempDir;

/// What a process that a test starts is to open.
const CHILD: &str = "HAFT_STORE_TEST_CHILD";

/// Where the store is.
pub(crate) enum TestStore {
    Sqlite(TempDir),
    /// The same in another process, or on a server.
    At(String),
}

/// One opening of a store. Dropping it closes the store.
pub(crate) struct Opened {
    pub(crate) log: Arc<dyn CallLog>,
    pub(crate) sessions: Arc<dyn SessionStore>,
    pub(crate) channels: Arc<dyn ChannelStore>,
    pub(crate) jobs: Arc<dyn JobRegistry>,
    pub(crate) automation: Arc<dyn AutomationStore>,
}

impl TestStore {
    pub(crate) fn sqlite() -> Self {
        Self::Sqlite(tempfile::tempdir().unwrap())
    }

    pub(crate) fn address(&self) -> String {
        match self {
            Self::Sqlite(folder) => folder.path().to_str().unwrap().to_owned(),
            Self::At(address) => address.clone(),
        }
    }

    pub(crate) fn open(&self) -> Opened {
        let address = self.address();
        #[cfg(feature = "postgres")]
        if address.starts_with("postgres:") {
            let log = haft_store::PostgresLog::open(&address).unwrap();
            return Opened {
                sessions: Arc::new(log.sessions()),
                channels: Arc::new(log.channels()),
                jobs: Arc::new(log.jobs()),
                automation: Arc::new(log.automation()),
                log: Arc::new(log),
            };
        }
        let log = SqliteCallLog::open(address.as_ref()).unwrap().log;
        Opened {
            sessions: Arc::new(log.sessions()),
            channels: Arc::new(log.channels()),
            jobs: Arc::new(log.jobs()),
            automation: Arc::new(log.automation()),
            log: Arc::new(log),
        }
    }

    /// A process that runs a test of this binary on the same store.
    pub(crate) fn process(&self, test: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command.args(["--exact", test, "--nocapture"]).env(CHILD, self.address()).stdin(Stdio::piped()).stdout(Stdio::piped());
        command
    }

    /// For such a test: the store; nothing in an ordinary run.
    pub(crate) fn of_parent() -> Option<Self> {
        std::env::var(CHILD).ok().map(Self::At)
    }
}

/// Claims a session whose owner is being killed: a server may need a moment to see that its connection has ended.
pub(crate) async fn claimed_when_free(store: &dyn SessionStore, session: &str) -> SessionClaim {
    let claiming = async {
        loop {
            match store.claim(session, SessionOwner::this_process()).await {
                Ok(claim) => return claim,
                Err(error) => assert!(matches!(error, haft_store::StoreError::Busy { .. }), "{error}"),
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(30), claiming).await.unwrap()
}

/// Asks until the answer is as expected: a server may need a moment to see that a connection has ended. After a while, the last answer.
pub(crate) async fn until<T>(ask: impl AsyncFn() -> T, is_expected: impl Fn(&T) -> bool) -> T {
    let deadline = std::time::Instant::now() + Duration::from_secs(30);
    loop {
        let answer = ask().await;
        if is_expected(&answer) || std::time::Instant::now() > deadline {
            return answer;
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}
