//! Conversations as a second source.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::ports::{
    MemoryAnswer, MemoryHit, MemoryIndex, MemoryQuery, MemoryScope, MemorySource, ModelChange, SessionDelivery, SessionDirectory,
    SessionKind, SessionMessage, SessionPage, SessionQuery, SessionState, SessionSummary,
};
use haft_contract::{BoxFuture, ToolError};
use haft_memory::{FileVersion, MemoryService, WriterSource};

use super::world::{World, settings};

/// The conversations that a session sees: each with its messages, of which the newest may be asked for.
struct FakeDirectory(Vec<(&'static str, Vec<String>)>);

impl SessionDirectory for FakeDirectory {
    fn list(&self, query: SessionQuery) -> BoxFuture<'_, Result<Vec<SessionSummary>, ToolError>> {
        let summary = |(id, messages): &(&'static str, Vec<String>)| SessionSummary {
            id: (*id).into(),
            kind: SessionKind::Main,
            title: None,
            agent: "main".into(),
            model: None,
            workspace: PathBuf::from("/workspace"),
            parent: None,
            state: None,
            created: SystemTime::UNIX_EPOCH,
            updated: SystemTime::UNIX_EPOCH,
            messages: messages.len() as u64,
            input: 0,
            output: 0,
            cost_micros: 0,
            newest: Vec::new(),
            is_tainted: false,
        };
        let listed = self.0.iter().take(query.limit).map(summary).collect();
        Box::pin(async { Ok(listed) })
    }
    fn history<'a>(&'a self, session: &'a str, limit: usize, with_tools: bool) -> BoxFuture<'a, Result<SessionPage, ToolError>> {
        assert!(!with_tools, "results of tools are not searched");
        Box::pin(async move {
            let (id, messages) = self.0.iter().find(|(id, _)| *id == session).unwrap();
            if messages.is_empty() {
                return Err(ToolError::execution("It cannot be read."));
            }
            let dropped = messages.len().saturating_sub(limit);
            let message = |text: &String| SessionMessage { role: "user", text: text.clone(), created: SystemTime::UNIX_EPOCH };
            let messages = messages[dropped..].iter().map(message).collect();
            Ok(SessionPage { id: (*id).into(), messages, dropped: dropped as u64, ..SessionPage::default() })
        })
    }
    fn status<'a>(&'a self, _: Option<&'a str>) -> BoxFuture<'a, Result<SessionState, ToolError>> {
        Box::pin(async { Err(ToolError::execution("unused")) })
    }
    fn set_model<'a>(&'a self, _: Option<&'a str>, _: &'a str) -> BoxFuture<'a, Result<ModelChange, ToolError>> {
        Box::pin(async { Err(ToolError::execution("unused")) })
    }
    fn send<'a>(&'a self, _: &'a str, _: &'a str, _: Duration) -> BoxFuture<'a, Result<SessionDelivery, ToolError>> {
        Box::pin(async { Err(ToolError::execution("unused")) })
    }
}

/// A history in which one conversation has seen the web.
struct Tainted(&'static str);

impl WriterSource for Tainted {
    fn changed_paths(&self) -> BoxFuture<'_, Result<HashSet<PathBuf>, String>> {
        Box::pin(async { Ok(HashSet::new()) })
    }
    fn versions<'a>(&'a self, _: &'a Path) -> BoxFuture<'a, Result<Vec<FileVersion>, String>> {
        Box::pin(async { Ok(Vec::new()) })
    }
    fn is_session_tainted<'a>(&'a self, session: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async move { session == self.0 })
    }
}

async fn search(searches_sessions: bool, directory: &FakeDirectory, query: &str, max_results: usize) -> MemoryAnswer {
    let world = World::new(&[("MEMORY.md", "The lighthouse opens at nine.\n")]);
    let mut settings = settings(world.data());
    settings.sessions = searches_sessions;
    let service = MemoryService::new(settings, Some(Arc::new(Tainted("web"))), None);
    let files = world.files();
    let scope = MemoryScope { files: &files, roots: World::roots(&files), sessions: Some(directory) };
    service.search(MemoryQuery { query: query.into(), max_results, min_score: 0.35 }, scope).await.unwrap()
}

fn talks() -> FakeDirectory {
    let long: Vec<String> = (0..300).map(|number| format!("message {number} of the ferry")).collect();
    FakeDirectory(vec![
        ("home", vec!["hello".into(), "The lighthouse guide is called Ann".into()]),
        ("broken", vec![]),
        ("web", vec!["A page says that the lighthouse is closed".into()]),
        ("long", long),
    ])
}

#[tokio::test]
async fn conversations_are_searched_only_when_they_are_switched_on() {
    for (is_on, expected) in [(false, vec!["MEMORY.md#L1"]), (true, vec!["MEMORY.md#L1", "session:home#L2", "session:web#L1"])] {
        let mut found: Vec<String> = search(is_on, &talks(), "lighthouse", 6).await.hits.iter().map(MemoryHit::citation).collect();
        found.sort();
        assert_eq!(found, expected);
    }
}

#[tokio::test]
async fn hits_name_their_conversation_and_whether_it_had_seen_untrusted_content() {
    let answer = search(true, &talks(), "lighthouse", 6).await;
    let of = |id: &str| answer.hits.iter().find(|hit| hit.writer.session.as_deref() == Some(id)).unwrap();
    let (home, web) = (of("home"), of("web"));
    assert_eq!(
        (home.source, home.writer.is_tainted, home.snippet.as_str()),
        (MemorySource::Sessions, false, "user: The lighthouse guide is called Ann")
    );
    assert!(web.writer.is_tainted);
}

#[tokio::test]
async fn the_newest_messages_are_searched_and_results_are_bounded() {
    let answer = search(true, &talks(), "ferry message", 5).await;
    assert_eq!(answer.hits.len(), 5);
    let lines: Vec<usize> = search(true, &talks(), "ferry 299", 1).await.hits.iter().map(|hit| hit.start_line).collect();
    assert_eq!(lines, [300], "messages are counted from the first, shown or not");
    assert_eq!(search(true, &talks(), "?!", 5).await.hits, []);
    let huge = FakeDirectory(vec![("huge", vec!["ferry ".repeat(1 << 20)])]);
    assert!(search(true, &huge, "ferry", 5).await.hits[0].snippet.chars().count() < 800);
}
