//! A machine with browsers, and the short words in which tests use one.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use haft_browser::{BrowserService, BrowserSettings};
use haft_contract::ports::{
    BrowserAction, BrowserControl, BrowserReply, BrowserRequest, BrowserScreens, EgressGate, MouseButton, PageAct, SnapshotFormat,
    SnapshotOptions, WaitCondition,
};
use haft_contract::{BoxFuture, Connect, EgressRefusal, ToolError};
use haft_host::{GuardedClient, HttpOptions, LocalFiles, NetworkRules, Resolve, SystemResolver, WorkspaceOptions};
use haft_jobs::{LocalProcesses, ShellOptions};
use haft_sandbox::Launcher;

/// Permits some hosts and remembers all that were asked for.
#[derive(Default)]
pub(crate) struct TestGate {
    pub(crate) permitted: Vec<String>,
    pub(crate) permits_all: bool,
    pub(crate) asked: Mutex<Vec<String>>,
}

impl EgressGate for TestGate {
    fn permit<'a>(&'a self, connect: &'a Connect) -> BoxFuture<'a, Result<(), EgressRefusal>> {
        self.asked.lock().unwrap().push(connect.host.clone());
        let refused = || EgressRefusal { reason: "the test does not permit it".into(), rule: None };
        let is_permitted = self.permits_all || self.permitted.contains(&connect.host);
        Box::pin(std::future::ready(is_permitted.then_some(()).ok_or_else(refused)))
    }
}

pub(crate) struct World {
    folder: PathBuf,
    /// Removed at the end.
    _temporary: Option<tempfile::TempDir>,
    pub(crate) processes: Arc<LocalProcesses>,
    pub(crate) browsers: BrowserService,
    pub(crate) gate: Arc<TestGate>,
}

/// The addresses that pages are served on; all others of this machine are refused by the address guard.
pub(crate) const PAGES: &[&str] = &["127.0.0.2", "127.0.0.3"];

impl World {
    pub(crate) fn new() -> Self {
        Self::with_names(SystemResolver)
    }

    /// With its files in this folder, which stays.
    pub(crate) fn in_folder(folder: &Path) -> Self {
        Self::with(folder.to_owned(), None, Arc::new(SystemResolver), PAGES)
    }

    /// With these names in place of those of the network.
    pub(crate) fn with_names(names: impl Resolve + 'static) -> Self {
        Self::with_rules(names, PAGES)
    }

    /// Also with these hosts in `network.allow`.
    pub(crate) fn with_rules(names: impl Resolve + 'static, allowed: &[&str]) -> Self {
        let temporary = tempfile::tempdir().unwrap();
        Self::with(temporary.path().to_owned(), Some(temporary), Arc::new(names), allowed)
    }

    /// Watched by these views, and recorded in this folder.
    pub(crate) fn with_screens(mut self, screens: Arc<dyn BrowserScreens>, recordings: &Path) -> Self {
        let settings = BrowserSettings { scripts: true, recordings: Some(recordings.to_owned()), ..BrowserSettings::default() };
        self.browsers = BrowserService::new(Arc::clone(&self.processes), settings).with_screens(Some(screens));
        self
    }

    fn with(folder: PathBuf, temporary: Option<tempfile::TempDir>, resolver: Arc<dyn Resolve>, allowed: &[&str]) -> Self {
        let (root, data) = (folder.join("root"), folder.join("data"));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::create_dir_all(&data).unwrap();
        let files = Arc::new(LocalFiles::open(WorkspaceOptions::new(&root)).unwrap());
        let http = Arc::new(GuardedClient::with(NetworkRules::parse(allowed, &[] as &[&str]).unwrap(), HttpOptions::default(), resolver));
        let options = ShellOptions::new(Launcher::current().unwrap(), &data);
        let processes = Arc::new(LocalProcesses::default().with_shell(options, files, http));
        let browsers = BrowserService::new(Arc::clone(&processes), BrowserSettings { scripts: true, ..BrowserSettings::default() });
        let gate = Arc::new(TestGate { permitted: PAGES.iter().map(|host| (*host).to_owned()).collect(), ..TestGate::default() });
        Self { folder, _temporary: temporary, processes, browsers, gate }
    }

    pub(crate) fn data(&self) -> PathBuf {
        self.folder.join("data")
    }

    pub(crate) async fn perform(&self, action: BrowserAction) -> Result<BrowserReply, ToolError> {
        self.perform_in(None, action, Duration::from_secs(20)).await
    }
    pub(crate) async fn perform_in(&self, tab: Option<&str>, action: BrowserAction, timeout: Duration) -> Result<BrowserReply, ToolError> {
        let request = BrowserRequest {
            session: "s".into(),
            call: "c1".into(),
            tab: tab.map(str::to_owned),
            action,
            timeout,
            hosts: Vec::new(),
            gate: Some(Arc::clone(&self.gate) as _),
        };
        self.browsers.perform(request).await
    }
    pub(crate) async fn browsers_stop(&self) {
        assert_eq!(self.perform(BrowserAction::Stop).await.unwrap().text, "The browser was stopped.");
    }
    pub(crate) async fn open(&self, url: &str) -> BrowserReply {
        self.perform(BrowserAction::Open(url.into())).await.unwrap()
    }
    pub(crate) async fn navigate(&self, url: &str) -> BrowserReply {
        self.perform(BrowserAction::Navigate(url.into())).await.unwrap()
    }
    pub(crate) async fn act(&self, act: PageAct) -> Result<BrowserReply, ToolError> {
        self.perform(BrowserAction::Act(act)).await
    }
    /// The lines of a snapshot, without the address and the title.
    pub(crate) async fn snapshot(&self) -> String {
        self.snapshot_with(options()).await
    }
    pub(crate) async fn snapshot_with(&self, options: SnapshotOptions) -> String {
        let reply = self.perform(BrowserAction::Snapshot(options)).await.unwrap();
        reply.page.unwrap().split_once("\nTitle: ").unwrap().1.split_once('\n').map(|(_, lines)| lines.to_owned()).unwrap_or_default()
    }
    /// The ref of the element whose line contains these words.
    pub(crate) async fn find(&self, words: &str) -> String {
        let snapshot = self.snapshot().await;
        reference(&snapshot, words).unwrap_or_else(|| panic!("no '{words}' in\n{snapshot}"))
    }
    pub(crate) async fn click(&self, words: &str) -> BrowserReply {
        let element = self.find(words).await;
        self.act(click(&element)).await.unwrap()
    }
    pub(crate) async fn fill(&self, words: &str, text: &str) -> BrowserReply {
        let element = self.find(words).await;
        self.act(PageAct::Type { element, text: text.into(), submit: false, slowly: false }).await.unwrap()
    }
    /// Waits until a frame shows a text: frames are loaded after their page.
    pub(crate) async fn wait_for_frame(&self, text: &str) {
        for _ in 0..100 {
            if self.snapshot().await.contains(text) {
                return;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        panic!("no '{text}' in\n{}", self.snapshot().await);
    }
    pub(crate) async fn wait_for_text(&self, text: &str) -> BrowserReply {
        self.act(PageAct::Wait(WaitCondition { text: Some(text.into()), ..WaitCondition::default() })).await.unwrap()
    }
}

pub(crate) fn click(element: &str) -> PageAct {
    PageAct::Click { element: element.into(), button: MouseButton::Left, double: false, modifiers: Vec::new() }
}

pub(crate) fn options() -> SnapshotOptions {
    SnapshotOptions {
        format: SnapshotFormat::Ai,
        interactive: false,
        compact: false,
        depth: None,
        selector: None,
        frame: None,
        labels: false,
        limit: None,
        max_chars: 80_000,
    }
}

/// The ref on the line that contains these words.
pub(crate) fn reference(snapshot: &str, words: &str) -> Option<String> {
    let line = snapshot.lines().find(|line| line.contains(words) && line.contains("[ref="))?;
    Some(line.split_once("[ref=")?.1.split_once(']')?.0.to_owned())
}
