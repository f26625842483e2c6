//! Which conversations a session sees, by its setting and by whether it runs in a sandbox.
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test that cannot continue has failed")]

mod stores;

use std::path::Path;
use std::sync::Arc;

use haft_agent::{
    ChildConversation, ChildOffer, ConversationAgents, ConversationSessions, DemoModel, LaneLimits, Lanes, NullLedger, Provider, Runner,
    SubAgentFactory,
};
use haft_contract::ports::{SessionDirectory, SubAgentState};
use haft_contract::{
    AgentAttachment, AgentType, BoxFuture, ErrorKind, KnownAgent, SessionQuery, SessionVisibility, StoredAttachment, ToolError,
};
use haft_engine::{Engine, Registry, Session};
use haft_store::{FileBlobs, NewSession, SessionStore};
use haft_testkit::{FakeHost, sub_agent_status};
use tokio_util::sync::CancellationToken;

use self::stores::{call_log, session_store};

/// Starts nothing.
struct NoAgents;

impl SubAgentFactory for NoAgents {
    fn types(&self) -> Vec<AgentType> {
        Vec::new()
    }
    fn agents(&self) -> Vec<KnownAgent> {
        Vec::new()
    }
    fn check_model(&self, _: &str) -> Result<(), ToolError> {
        Ok(())
    }
    fn open_model<'a>(&'a self, _: Option<&'a str>, _: &'a str) -> BoxFuture<'a, Result<Arc<dyn Provider>, ToolError>> {
        Box::pin(async { Ok(Arc::new(DemoModel::default()) as Arc<dyn Provider>) })
    }
    fn check_sandbox(&self) -> Result<(), ToolError> {
        Ok(())
    }
    fn attach<'a>(&'a self, _: &'a str, _: Vec<AgentAttachment>) -> BoxFuture<'a, Result<Vec<StoredAttachment>, ToolError>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn tools(&self, _: &ChildOffer<'_>) -> Vec<String> {
        Vec::new()
    }
    fn build(&self, _: ChildConversation) -> BoxFuture<'_, Result<Runner, ToolError>> {
        Box::pin(async { Err(ToolError::execution("nothing is started here")) })
    }
}

/// own, its sub-agent child, one more of the same agent and folder, and one of another agent.
async fn store() -> Arc<dyn SessionStore> {
    let store = session_store();
    for (id, agent) in [("own", "main"), ("child", "main"), ("sibling", "main"), ("foreign", "other")] {
        let session = NewSession { id: id.into(), ..NewSession::new(agent, Path::new("/w")) };
        store.create(session).await.unwrap();
    }
    let status = haft_contract::SubAgentStatus { parent: "own".into(), ..sub_agent_status("child", SubAgentState::Done) };
    store.put_sub_agent(status).await.unwrap();
    store
}

#[tokio::test]
async fn session_in_a_sandbox_sees_what_it_started_at_most() {
    let all = ["own", "child", "sibling", "foreign"];
    for (visibility, is_sandboxed, seen) in [
        (SessionVisibility::Own, false, 1),
        (SessionVisibility::Tree, false, 2),
        (SessionVisibility::Agent, false, 3),
        (SessionVisibility::All, false, 4),
        (SessionVisibility::Own, true, 1),
        (SessionVisibility::Tree, true, 2),
        (SessionVisibility::Agent, true, 2),
        (SessionVisibility::All, true, 2),
    ] {
        let (store, folder) = (store().await, tempfile::tempdir().unwrap());
        let agents = Arc::new(ConversationAgents::new(Arc::new(Lanes::new(store, LaneLimits::default())), Arc::new(NoAgents)));
        let session = Session::builder(FakeHost::new()).id("own").agent("main").workspace("/w");
        let session = if is_sandboxed { session.sandboxed() } else { session }.build();
        let blobs = Arc::new(FileBlobs::open(folder.path()).unwrap());
        let engine = Engine::builder(Arc::new(Registry::new()), call_log(), blobs).build();
        let runner = Runner::new(engine, session, Arc::new(DemoModel::default()), Arc::new(NullLedger));
        agents.attach(&runner, CancellationToken::new());
        let sessions = ConversationSessions::new(agents, visibility);
        let listed = sessions.list(SessionQuery { limit: 10, ..SessionQuery::default() }).await.unwrap();
        let mut listed: Vec<String> = listed.into_iter().map(|session| session.id).collect();
        listed.sort_by_key(|id| all.iter().position(|known| known == id));
        assert_eq!(listed, all[..seen], "{visibility} {is_sandboxed}");
        for (index, id) in all.iter().enumerate() {
            let (read, status) = (sessions.history(id, 10, false).await, sessions.status(Some(id)).await);
            assert_eq!((read.is_ok(), status.is_ok()), (index < seen, index < seen), "{id} with {visibility}, {is_sandboxed}");
            if let Err(error) = read {
                assert_eq!(error.kind(), ErrorKind::PermissionDenied);
            }
            let sent = sessions.send(id, "x", std::time::Duration::ZERO).await;
            let is_idle_and_seen = index < seen && index > 1;
            assert_eq!(sent.is_ok(), is_idle_and_seen, "{id} with {visibility}, {is_sandboxed}: {sent:?}");
            let changed = sessions.set_model(Some(id), "demo").await;
            assert_eq!(changed.is_ok(), index < seen, "{id} with {visibility}, {is_sandboxed}: {changed:?}");
        }
    }
}
