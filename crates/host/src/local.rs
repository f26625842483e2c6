//! The machine as one host: every capability, composed.

use std::path::PathBuf;
use std::sync::{Arc, LazyLock};

use haft_contract::ports::{
    BrowserControl, Clock, FileSystem, Host, HttpClient, Notifier, PageCache, ProcessRunner, Services, SystemProbe, WebSettings,
};

use crate::{FolderPageCache, GuardedClient, LocalNotifier, LocalSystem, SystemClock};

/// This machine, as tools reach it.
pub struct LocalHost {
    files: Arc<dyn FileSystem>,
    outward: LazyLock<Outward, Box<dyn FnOnce() -> Outward + Send>>,
    clock: SystemClock,
    system: LocalSystem,
    web: WebSettings,
    page_cache: Option<FolderPageCache>,
    services: Services,
}

/// Parts of a host that most calls do not use.
pub struct HostParts {
    /// The HTTP client.
    pub http: Arc<GuardedClient>,
    /// Commands, jobs and helpers.
    pub processes: Arc<dyn ProcessRunner>,
    /// The browsers of sessions, if there are any.
    pub browser: Option<Arc<dyn BrowserControl>>,
}

haft_contract::opaque_debug!(HostParts: http = http);

struct Outward {
    parts: HostParts,
    notifier: LocalNotifier,
}

haft_contract::opaque_debug!(LocalHost);

impl LocalHost {
    /// A host of these parts. Notices go to `alert_log` where there is no desktop. Nothing is opened or connected yet.
    pub fn new(files: Arc<dyn FileSystem>, http: Arc<GuardedClient>, processes: Arc<dyn ProcessRunner>, alert_log: PathBuf) -> Self {
        Self::with_parts(files, alert_log, move || HostParts { http, processes, browser: None })
    }

    /// As [`LocalHost::new`], but the parts are made when the first of them is used.
    pub fn with_parts(files: Arc<dyn FileSystem>, alert_log: PathBuf, parts: impl FnOnce() -> HostParts + Send + 'static) -> Self {
        let watched = Arc::clone(&files);
        let outward = move || {
            let parts = parts();
            let notifier = LocalNotifier::new(alert_log, Arc::clone(&parts.processes)).avoiding(watched);
            Outward { parts, notifier }
        };
        let (web, page_cache, services) = (WebSettings::default(), None, Services::default());
        Self { files, outward: LazyLock::new(Box::new(outward)), clock: SystemClock, system: LocalSystem, web, page_cache, services }
    }

    /// With settings of the web tools, and a folder for stored responses, which is created on first use.
    pub fn with_web(self, web: WebSettings, page_cache: PathBuf) -> Self {
        Self { web, page_cache: Some(FolderPageCache::new(page_cache)), ..self }
    }

    /// With services of a conversation.
    pub fn with_services(self, services: Services) -> Self {
        Self { services, ..self }
    }
}

impl Host for LocalHost {
    fn files(&self) -> &dyn FileSystem {
        &*self.files
    }
    fn http(&self) -> &dyn HttpClient {
        &*self.outward.parts.http
    }
    fn processes(&self) -> &dyn ProcessRunner {
        &*self.outward.parts.processes
    }
    fn clock(&self) -> &dyn Clock {
        &self.clock
    }
    fn notifier(&self) -> &dyn Notifier {
        &self.outward.notifier
    }
    fn system(&self) -> &dyn SystemProbe {
        &self.system
    }
    fn web(&self) -> &WebSettings {
        &self.web
    }
    fn page_cache(&self) -> Option<&dyn PageCache> {
        self.page_cache.as_ref().map(|cache| cache as _)
    }
    fn browser(&self) -> Option<&dyn BrowserControl> {
        self.outward.parts.browser.as_deref()
    }
    fn services(&self) -> &Services {
        &self.services
    }
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use haft_contract::Zone;
    use haft_testkit::FakeProcesses;

    use super::*;
    use crate::{LocalFiles, NetworkRules, WorkspaceOptions};

    #[tokio::test]
    async fn every_capability_is_the_one_that_was_configured() {
        let folder = tempfile::tempdir().unwrap();
        let files = LocalFiles::open(WorkspaceOptions::new(folder.path())).unwrap();
        let http = GuardedClient::new(NetworkRules::parse(&["127.0.0.1:8080"], &["denied.example"]).unwrap());
        let alert_log = folder.path().join("alerts.log");
        let host = LocalHost::new(Arc::new(files), Arc::new(http), Arc::new(FakeProcesses::default()), alert_log);
        assert_eq!(host.files().locate(Path::new("a.txt")).unwrap().zone(), Zone::Workspace);
        for (url, open) in [("http://127.0.0.1:8080/", true), ("http://127.0.0.1:8081/", false), ("http://denied.example/", false)] {
            assert_eq!(host.http().locate("GET", url).unwrap().refused.is_none(), open, "{url}");
        }
        assert_eq!(host.system().facts().await.os, std::env::consts::OS);
        assert_eq!(host.clock().time_zone(), SystemClock.time_zone());
    }

    #[test]
    fn host_parts_are_made_when_the_first_of_them_is_used() {
        let folder = tempfile::tempdir().unwrap();
        let files = LocalFiles::open(WorkspaceOptions::new(folder.path())).unwrap();
        let made = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&made);
        let host = LocalHost::with_parts(Arc::new(files), folder.path().join("alerts.log"), move || {
            counter.fetch_add(1, Ordering::Relaxed);
            HostParts { http: Arc::default(), processes: Arc::new(FakeProcesses::default()), browser: None }
        });
        host.files().locate(Path::new("a.txt")).unwrap();
        assert_eq!(made.load(Ordering::Relaxed), 0);
        host.processes();
        host.http();
        assert_eq!(made.load(Ordering::Relaxed), 1);
    }
}
