//! Scheduled jobs: every process can list and change them; a server runs those of its folder.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_contract::ports::{Automation, AutomationStatus, Host, JobDraft, JobNotice, JobRun, JobView, WakeMode};
use haft_contract::{BoxFuture, ToolError};
use haft_cron::{CronService, ServiceParts};
use haft_host::{SystemClock, send_signal};
use haft_store::StateStore;
use ring::digest::{SHA256, digest};
use tokio::sync::oneshot;

use super::shell::Calls;
use super::sub_agents::refused;
use super::{JobSettings, Settings, Wire, models, open_store};
use crate::failure::Failure;

/// Written by a process that has changed jobs, and watched by servers.
const SIGNAL: &str = "automation.signal";

/// The file that tells servers of changed jobs.
pub(crate) fn signal_file(data_folder: &Path) -> PathBuf {
    data_folder.join(SIGNAL)
}

/// A short name for a folder.
pub(crate) fn folder_key(workspace: &Path) -> String {
    haft_text::hex::encode(digest(&SHA256, workspace.as_os_str().as_encoded_bytes()))[..16].to_owned()
}

/// Held by the server that runs the jobs of a folder.
pub(crate) struct SchedulerLock(#[expect(dead_code, reason = "the lock is released when it is dropped")] File);

fn lock_file(data_folder: &Path, workspace: &Path) -> PathBuf {
    data_folder.join(format!("automation-{}.lock", folder_key(workspace)))
}

impl SchedulerLock {
    /// `None` if another server runs them.
    pub(crate) fn take(data_folder: &Path, workspace: &Path) -> Option<Self> {
        let file = Self::open(data_folder, workspace)?;
        file.try_lock().ok()?;
        Some(Self(file))
    }

    /// Waits until the server that runs them has ended, however it ends. Nothing wakes up meanwhile.
    pub(crate) async fn wait(data_folder: &Path, workspace: &Path) -> Option<Self> {
        let file = Self::open(data_folder, workspace)?;
        let (taken, lock) = oneshot::channel();
        // A thread of its own: one of the runtime would have to end before the program can.
        let waiting = move || {
            if file.lock().is_ok() {
                // Nobody wants it any more if the server stops: then it is released again.
                taken.send(Self(file)).ok();
            }
        };
        std::thread::Builder::new().name("next-scheduler".into()).spawn(waiting).ok()?;
        lock.await.ok()
    }

    fn open(data_folder: &Path, workspace: &Path) -> Option<File> {
        use std::os::unix::fs::OpenOptionsExt;
        let mut options = File::options();
        options.write(true).create(true).truncate(false).mode(0o600).open(lock_file(data_folder, workspace)).ok()
    }
}

/// Whether a server runs the jobs of a folder.
fn is_served(data_folder: &Path, workspace: &Path) -> bool {
    File::open(lock_file(data_folder, workspace)).is_ok_and(|file| file.try_lock_shared().is_err())
}

/// Jobs of the folder, on the database of the program, which is opened when it is first needed.
pub(super) struct FolderAutomation {
    settings: Settings,
    shared: Option<Arc<StateStore>>,
    service: OnceLock<Result<CronService, String>>,
}

impl Wire {
    /// The scheduled jobs of the folder.
    pub(crate) fn automation(&self) -> Arc<dyn Automation> {
        Arc::new(FolderAutomation {
            settings: self.settings.clone(),
            shared: self.served.as_ref().map(|served| Arc::clone(&served.store)),
            service: OnceLock::new(),
        })
    }

    /// The machine that deliveries are sent from.
    pub(crate) fn delivery_host(&self) -> Result<Arc<dyn Host>, Failure> {
        Ok(self.host(&self.settings.agent, &self.settings.workspace, None, JobSettings::default, Calls::OfUser)?)
    }
}

impl FolderAutomation {
    fn service(&self) -> Result<&CronService, ToolError> {
        let opened = self.service.get_or_init(|| self.open().map_err(|failure| failure.message.clone()));
        opened.as_ref().map_err(|why| ToolError::execution(format!("Scheduled jobs cannot be used: {why}.")))
    }

    fn open(&self) -> Result<CronService, Failure> {
        let log = match &self.shared {
            Some(log) => Arc::clone(log),
            None => Arc::new(open_store(&self.settings.data_folder)?.store),
        };
        let (data_folder, workspace) = (self.settings.data_folder.clone(), self.settings.workspace.clone());
        let signal = signal_file(&data_folder);
        Ok(CronService::new(ServiceParts {
            store: log.automation(),
            sessions: log.sessions(),
            clock: Arc::new(SystemClock),
            workspace: workspace.clone(),
            // Without it the server sees the change at its next run.
            changed: Arc::new(move || send_signal(&signal).unwrap_or_default()),
            is_served: Arc::new(move || is_served(&data_folder, &workspace)),
        }))
    }

    /// Refuses an agent or a model that is not configured: the job would fail at its first run.
    fn check_names(&self, draft: &JobDraft) -> Result<(), ToolError> {
        let agent = trim_name(draft.agent.as_deref()).map_or(Ok(()), |agent| self.settings.known_agent(agent));
        let model = || trim_name(draft.model.as_deref()).map_or(Ok(()), |model| models::check_name(&self.settings, model));
        agent.and_then(|()| model()).map_err(|failure| refused(&failure))
    }
}

/// A name that is given; an empty one takes the name of a job away.
fn trim_name(name: Option<&str>) -> Option<&str> {
    name.map(str::trim).filter(|name| !name.is_empty())
}

impl Automation for FolderAutomation {
    fn status(&self) -> BoxFuture<'_, Result<AutomationStatus, ToolError>> {
        Box::pin(async move { self.service()?.status().await })
    }
    fn list(&self) -> BoxFuture<'_, Result<Vec<JobView>, ToolError>> {
        Box::pin(async move { self.service()?.list().await })
    }
    fn find<'a>(&'a self, job: &'a str) -> BoxFuture<'a, Result<JobView, ToolError>> {
        Box::pin(async move { self.service()?.find(job).await })
    }
    fn check(&self, draft: &JobDraft) -> Result<String, ToolError> {
        self.check_names(draft)?;
        self.service()?.check(draft)
    }
    fn add<'a>(&'a self, session: Option<&'a str>, draft: JobDraft) -> BoxFuture<'a, Result<JobView, ToolError>> {
        Box::pin(async move {
            self.check_names(&draft)?;
            self.service()?.add(session, draft).await
        })
    }
    fn update<'a>(&'a self, session: Option<&'a str>, job: &'a str, draft: JobDraft) -> BoxFuture<'a, Result<JobView, ToolError>> {
        Box::pin(async move {
            self.check_names(&draft)?;
            self.service()?.update(session, job, draft).await
        })
    }
    fn remove<'a>(&'a self, job: &'a str) -> BoxFuture<'a, Result<JobView, ToolError>> {
        Box::pin(async move { self.service()?.remove(job).await })
    }
    fn run<'a>(&'a self, job: &'a str, only_if_due: bool) -> BoxFuture<'a, Result<Option<JobRun>, ToolError>> {
        Box::pin(async move { self.service()?.run(job, only_if_due).await })
    }
    fn runs<'a>(&'a self, job: Option<&'a str>, limit: usize) -> BoxFuture<'a, Result<Vec<JobRun>, ToolError>> {
        Box::pin(async move { self.service()?.runs(job, limit).await })
    }
    fn notices(&self, limit: usize) -> BoxFuture<'_, Result<Vec<JobNotice>, ToolError>> {
        Box::pin(async move { self.service()?.notices(limit).await })
    }
    fn wake<'a>(&'a self, session: &'a str, text: &'a str, mode: WakeMode) -> BoxFuture<'a, Result<String, ToolError>> {
        Box::pin(async move { self.service()?.wake(session, text, mode).await })
    }
}
