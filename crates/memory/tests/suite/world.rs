//! A workspace with memory, a data folder, and what searches it.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::ports::{FileSystem, MemoryAnswer, MemoryIndex, MemoryQuery, MemoryScope};
use haft_contract::{Location, ToolError};
use haft_host::{LocalFiles, WorkspaceOptions};
use haft_memory::{Embedder, MemoryService, MemorySettings, WriterSource};
use tempfile::TempDir;

pub(crate) struct World {
    folder: TempDir,
    pub(crate) service: MemoryService,
    pub(crate) deny_read: Vec<String>,
}

pub(crate) fn settings(data_folder: PathBuf) -> MemorySettings {
    MemorySettings {
        roots: ["MEMORY.md", "memory"].map(PathBuf::from).to_vec(),
        sessions: false,
        half_life_days: 0.0,
        diversity: 0.0,
        indexing_time: None,
        data_folder,
        server: None,
        name: "test".into(),
        calendar: Arc::new(|| (std::time::SystemTime::now(), jiff::civil::date(2026, 11, 17))),
    }
}

impl World {
    pub(crate) fn new(files: &[(&str, &str)]) -> Self {
        Self::with(files, None, None)
    }

    pub(crate) fn with(files: &[(&str, &str)], writers: Option<Arc<dyn WriterSource>>, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("workspace")).unwrap();
        let service = MemoryService::new(settings(folder.path().join("data")), writers, embedder);
        let world = Self { folder, service, deny_read: Vec::new() };
        for (path, text) in files {
            world.write(path, text);
        }
        world
    }

    /// The same files and index with another process.
    pub(crate) fn restart(self, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let service = MemoryService::new(settings(self.data()), None, embedder);
        Self { service, ..self }
    }

    /// The same files with the index on a server.
    #[cfg(feature = "postgres")]
    pub(crate) fn on_server(self, address: &str, embedder: Option<Arc<dyn Embedder>>) -> Self {
        let settings = MemorySettings { server: Some(address.to_owned()), ..settings(self.data()) };
        Self { service: MemoryService::new(settings, None, embedder), ..self }
    }

    pub(crate) fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join("workspace").join(path)
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.path().join("data")
    }

    pub(crate) fn index(&self) -> PathBuf {
        self.data().join("memory").join("test.db")
    }

    pub(crate) fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn files(&self) -> LocalFiles {
        let mut options = WorkspaceOptions::new(self.path(""));
        options.deny_read.clone_from(&self.deny_read);
        LocalFiles::open(options).unwrap()
    }

    pub(crate) fn roots(files: &dyn FileSystem) -> Vec<Location> {
        ["MEMORY.md", "memory"].iter().map(|path| files.locate(Path::new(path)).unwrap()).collect()
    }

    /// Searches as a process that opened its files now.
    pub(crate) async fn try_search(&self, query: &str) -> Result<MemoryAnswer, ToolError> {
        let files = self.files();
        self.search_in(&files, Self::roots(&files), query).await
    }

    /// Searches with files that stay open, as a conversation does.
    pub(crate) async fn search_in(&self, files: &dyn FileSystem, roots: Vec<Location>, query: &str) -> Result<MemoryAnswer, ToolError> {
        let scope = MemoryScope { files, roots, sessions: None };
        self.service.search(MemoryQuery { query: query.into(), max_results: 6, min_score: 0.35 }, scope).await
    }

    pub(crate) async fn search(&self, query: &str) -> MemoryAnswer {
        self.try_search(query).await.unwrap()
    }

    /// The citations of what was found.
    pub(crate) async fn found(&self, query: &str) -> Vec<String> {
        self.search(query).await.hits.iter().map(haft_contract::ports::MemoryHit::citation).collect()
    }
}
