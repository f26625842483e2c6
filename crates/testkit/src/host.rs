//! A whole machine, in memory.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock};

use haft_contract::{
    BoxFuture, SystemFacts, WebSettings,
    ports::{BrowserControl, Clock, FileSystem, Host, HttpClient, Notifier, PageCache, ProcessRunner, Services, SystemProbe},
};

use crate::sync::lock;
use crate::{FakeClock, FakeFiles, FakeHttp, FakeJournal, FakeNotifier, FakeProcesses};

/// A whole machine, in memory: every part is open to tests, and every part writes down what was asked of it.
#[derive(Debug)]
pub struct FakeHost {
    /// Files, with the workspace at `/workspace`.
    pub files: Arc<FakeFiles>,
    /// The network.
    pub http: FakeHttp,
    /// Programs.
    pub processes: FakeProcesses,
    /// The time.
    pub clock: FakeClock,
    /// Notices.
    pub notifier: FakeNotifier,
    /// Facts about the machine.
    pub system: FakeSystem,
    /// Pre-images and spills; a finished spill can be read through `files`.
    pub journal: Arc<FakeJournal>,
    /// Settings of the web tools, if a test sets them.
    pub web: OnceLock<WebSettings>,
    /// Stored responses.
    pub page_cache: FakePageCache,
    /// Services of the conversation, if a test sets them.
    pub services: OnceLock<Services>,
    /// Browsers, if a test sets them.
    pub browser: BrowserSlot,
}

/// A place for the browsers of a machine.
#[derive(Default)]
pub struct BrowserSlot(pub OnceLock<Arc<dyn BrowserControl>>);

haft_contract::opaque_debug!(BrowserSlot);

impl FakeHost {
    /// A machine with an empty workspace, shared as contexts want it.
    pub fn new() -> Arc<Self> {
        let files = Arc::new(FakeFiles::default());
        Arc::new(Self {
            journal: Arc::new(FakeJournal::new(Arc::clone(&files))),
            files,
            http: FakeHttp::default(),
            processes: FakeProcesses::default(),
            clock: FakeClock::default(),
            notifier: FakeNotifier::default(),
            system: FakeSystem::default(),
            web: OnceLock::new(),
            page_cache: FakePageCache::default(),
            services: OnceLock::new(),
            browser: BrowserSlot::default(),
        })
    }
}

impl Host for FakeHost {
    fn files(&self) -> &dyn FileSystem {
        &*self.files
    }
    fn http(&self) -> &dyn HttpClient {
        &self.http
    }
    fn processes(&self) -> &dyn ProcessRunner {
        &self.processes
    }
    fn clock(&self) -> &dyn Clock {
        &self.clock
    }
    fn notifier(&self) -> &dyn Notifier {
        &self.notifier
    }
    fn system(&self) -> &dyn SystemProbe {
        &self.system
    }
    fn browser(&self) -> Option<&dyn BrowserControl> {
        self.browser.0.get().map(|browser| &**browser)
    }
    fn web(&self) -> &WebSettings {
        // Most tests are about pages, not about robots.txt.
        self.web.get_or_init(|| {
            let mut settings = WebSettings::default();
            settings.respect_robots = false;
            settings
        })
    }
    fn page_cache(&self) -> Option<&dyn PageCache> {
        Some(&self.page_cache)
    }
    fn services(&self) -> &Services {
        self.services.get_or_init(Services::default)
    }
}

/// Stored responses, in memory.
#[derive(Debug, Default)]
pub struct FakePageCache {
    values: Mutex<BTreeMap<String, Vec<u8>>>,
}

impl FakePageCache {
    /// The keys that something is stored under.
    pub fn keys(&self) -> Vec<String> {
        lock(&self.values).keys().cloned().collect()
    }
}

impl PageCache for FakePageCache {
    fn get<'a>(&'a self, key: &'a str) -> BoxFuture<'a, Option<Vec<u8>>> {
        Box::pin(async move { lock(&self.values).get(key).cloned() })
    }
    fn put<'a>(&'a self, key: &'a str, value: Vec<u8>) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            lock(&self.values).insert(key.into(), value);
        })
    }
}

/// The same facts each time, until they are set.
#[derive(Debug)]
pub struct FakeSystem {
    facts: Mutex<SystemFacts>,
}

impl FakeSystem {
    /// Sets the facts.
    pub fn set(&self, facts: SystemFacts) {
        *lock(&self.facts) = facts;
    }
}

impl Default for FakeSystem {
    fn default() -> Self {
        let facts = SystemFacts {
            os: "linux".into(),
            version: Some("Fake Linux 1".into()),
            kernel: Some("6.1.0".into()),
            architecture: "x86_64".into(),
            hostname: Some("fake".into()),
            processors: 4,
            memory_total: Some(8 << 30),
            memory_available: Some(2 << 30),
            uptime_seconds: Some(93_784),
        };
        Self { facts: Mutex::new(facts) }
    }
}

impl SystemProbe for FakeSystem {
    fn facts(&self) -> BoxFuture<'_, SystemFacts> {
        Box::pin(async move { lock(&self.facts).clone() })
    }
}
