//! A machine of the program's own parts.

mod no_machine;

use std::sync::Arc;

use haft_contract::WebSettings;
use haft_contract::ports::{Clock, FileSystem, Host, HttpClient, Notifier, PageCache, ProcessRunner, Services, SystemProbe};

pub(crate) use self::no_machine::NoMachine;

static NO_MACHINE: NoMachine = NoMachine;

/// A machine of the program's own parts: the clock alone, or another machine, with some parts replaced.
///
/// ```
/// use std::sync::Arc;
/// use std::time::{Duration, SystemTime};
/// use haft::ports::{Clock, Host};
///
/// struct Frozen;
/// impl Clock for Frozen {
///     fn now(&self) -> SystemTime {
///         SystemTime::UNIX_EPOCH + Duration::from_secs(1)
///     }
///     fn time_zone(&self) -> Option<String> {
///         None
///     }
///     fn offset(&self, _: SystemTime) -> Option<haft::LocalOffset> {
///         None
///     }
/// }
///
/// let host = haft::CustomHost::new().clock(Arc::new(Frozen));
/// assert_eq!(Host::clock(&host).now(), Frozen.now());
/// ```
#[derive(Clone, Default)]
pub struct CustomHost {
    base: Option<Arc<dyn Host>>,
    files: Option<Arc<dyn FileSystem>>,
    http: Option<Arc<dyn HttpClient>>,
    processes: Option<Arc<dyn ProcessRunner>>,
    clock: Option<Arc<dyn Clock>>,
    notifier: Option<Arc<dyn Notifier>>,
    system: Option<Arc<dyn SystemProbe>>,
    services: Option<Services>,
}

haft_contract::opaque_debug!(CustomHost);

impl CustomHost {
    /// Nothing but the time: no files, no network, no programs.
    pub fn new() -> Self {
        Self::default()
    }
    /// Another machine, parts of which are to be replaced.
    pub fn over(base: Arc<dyn Host>) -> Self {
        Self { base: Some(base), ..Self::default() }
    }
    /// Replaces the file system.
    pub fn files(mut self, files: Arc<dyn FileSystem>) -> Self {
        self.files = Some(files);
        self
    }
    /// Replaces the HTTP client.
    pub fn http(mut self, client: Arc<dyn HttpClient>) -> Self {
        self.http = Some(client);
        self
    }
    /// Replaces what runs programs.
    pub fn processes(mut self, processes: Arc<dyn ProcessRunner>) -> Self {
        self.processes = Some(processes);
        self
    }
    /// Replaces the clock.
    pub fn clock(mut self, clock: Arc<dyn Clock>) -> Self {
        self.clock = Some(clock);
        self
    }
    /// Replaces what shows notices.
    pub fn notifier(mut self, notifier: Arc<dyn Notifier>) -> Self {
        self.notifier = Some(notifier);
        self
    }
    /// Replaces the facts about the machine.
    pub fn system(mut self, system: Arc<dyn SystemProbe>) -> Self {
        self.system = Some(system);
        self
    }
    /// Replaces the services of the conversation.
    pub fn services(mut self, services: Services) -> Self {
        self.services = Some(services);
        self
    }
}

/// The replaced part, or that of the machine below, or nothing.
macro_rules! part {
    ($host:ident, $part:ident) => {
        match (&$host.$part, &$host.base) {
            (Some(part), _) => &**part,
            (None, Some(base)) => base.$part(),
            (None, None) => &NO_MACHINE,
        }
    };
}

impl Host for CustomHost {
    fn files(&self) -> &dyn FileSystem {
        part!(self, files)
    }
    fn http(&self) -> &dyn HttpClient {
        part!(self, http)
    }
    fn processes(&self) -> &dyn ProcessRunner {
        part!(self, processes)
    }
    fn clock(&self) -> &dyn Clock {
        part!(self, clock)
    }
    fn notifier(&self) -> &dyn Notifier {
        part!(self, notifier)
    }
    fn system(&self) -> &dyn SystemProbe {
        part!(self, system)
    }
    fn web(&self) -> &WebSettings {
        self.base.as_ref().map_or_else(|| NO_MACHINE.web(), |base| base.web())
    }
    fn page_cache(&self) -> Option<&dyn PageCache> {
        self.base.as_ref().and_then(|base| base.page_cache())
    }
    fn services(&self) -> &Services {
        match (&self.services, &self.base) {
            (Some(services), _) => services,
            (None, Some(base)) => base.services(),
            (None, None) => NO_MACHINE.services(),
        }
    }
}
