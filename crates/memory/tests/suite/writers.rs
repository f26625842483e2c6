//! Chunks know who wrote them.

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::BoxFuture;
use haft_contract::ports::{FileSystem, MemoryAuthor, MemoryIndex, MemoryWriter};
use haft_memory::{FileVersion, WriterSource};

use super::world::World;

/// A history with one call, which wrote all of `memory/agent.md` after it had seen the web.
struct OneCall;

impl OneCall {
    fn writer() -> MemoryWriter {
        MemoryWriter { agent: Some("main".into()), session: Some("s1".into()), call: Some("c1".into()), is_tainted: true, is_mixed: false }
    }
}

impl WriterSource for OneCall {
    fn changed_paths(&self) -> BoxFuture<'_, Result<HashSet<PathBuf>, String>> {
        // Whatever the workspace is: the path is asked for by its end.
        Box::pin(async { Err("unused".into()) })
    }
    fn versions<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<FileVersion>, String>> {
        Box::pin(async move {
            let version = FileVersion { before: None, after: None, writer: Self::writer() };
            Ok(if path.ends_with("memory/agent.md") { vec![version] } else { Vec::new() })
        })
    }
    fn is_session_tainted<'a>(&'a self, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async { true })
    }
}

/// As [`OneCall`], and it knows the path.
struct OneCallAt(PathBuf);

impl WriterSource for OneCallAt {
    fn changed_paths(&self) -> BoxFuture<'_, Result<HashSet<PathBuf>, String>> {
        Box::pin(async { Ok(HashSet::from([self.0.clone()])) })
    }
    fn versions<'a>(&'a self, path: &'a Path) -> BoxFuture<'a, Result<Vec<FileVersion>, String>> {
        OneCall.versions(path)
    }
    fn is_session_tainted<'a>(&'a self, _: &'a str) -> BoxFuture<'a, bool> {
        Box::pin(async { true })
    }
}

#[tokio::test]
async fn hits_name_the_call_that_wrote_them_and_its_taint() {
    let mut world = World::new(&[("memory/agent.md", "the gate code is 1234\n"), ("memory/user.md", "the gate is green\n")]);
    let path = world.path("memory/agent.md").canonicalize().unwrap();
    world.service = haft_memory::MemoryService::new(super::world::settings(world.data()), Some(Arc::new(OneCallAt(path))), None);
    let hits = world.search("gate").await.hits;
    let mut writers: Vec<(String, MemoryAuthor, bool)> =
        hits.iter().map(|hit| (hit.path.clone(), hit.writer.author(), hit.writer.is_tainted)).collect();
    writers.sort();
    assert_eq!(writers, [("memory/agent.md".into(), MemoryAuthor::Agent, true), ("memory/user.md".into(), MemoryAuthor::User, false)]);
    let of_agent = hits.iter().find(|hit| hit.path == "memory/agent.md").unwrap();
    // The fingerprint of what the call left is not that of the file: someone changed it since.
    assert_eq!(of_agent.writer, MemoryWriter { is_mixed: true, ..OneCall::writer() });
}

#[tokio::test]
async fn what_history_forgets_the_index_still_knows_of_chunks_that_did_not_change() {
    let mut world = World::new(&[("memory/agent.md", "# A\nthe gate code is 1234\n")]);
    let path = world.path("memory/agent.md").canonicalize().unwrap();
    world.service = haft_memory::MemoryService::new(super::world::settings(world.data()), Some(Arc::new(OneCallAt(path))), None);
    assert!(world.search("gate").await.hits[0].writer.is_tainted);
    let world = world.restart(None);
    world.write("memory/agent.md", "# A\nthe gate code is 1234\n# B\nthe gate is mine\n");
    let hits = world.search("gate").await.hits;
    let tainted: Vec<(usize, bool)> = hits.iter().map(|hit| (hit.start_line, hit.writer.is_tainted)).collect();
    assert!(tainted.contains(&(1, true)) && tainted.contains(&(3, false)), "{tainted:?}");
}

#[tokio::test]
async fn lines_have_writers() {
    let world = World::with(&[("memory/agent.md", "one\ntwo\n")], Some(Arc::new(OneCall)), None);
    let files = world.files();
    let at = files.locate(Path::new("memory/agent.md")).unwrap();
    let parts = world.service.writers(&at, b"one\ntwo\n").await.unwrap();
    assert_eq!((parts.len(), parts[0].first, parts[0].last, parts[0].writer.call.as_deref()), (1, 1, 2, Some("c1")));
}
