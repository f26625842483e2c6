//! Notices to the user: on the desktop where there is one, else in the alert log.

mod alert_log;
mod desktop;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::{
    BoxFuture, Notice, ToolError, Zone,
    ports::{FileSystem, Notifier, ProcessRunner},
};

use self::alert_log::AlertLog;
pub use self::desktop::Desktop;

/// Shows notices on this machine.
pub struct LocalNotifier {
    desktop: Desktop,
    log: AlertLog,
    processes: Arc<dyn ProcessRunner>,
    files: Option<Arc<dyn FileSystem>>,
}

haft_contract::opaque_debug!(LocalNotifier: desktop = desktop, log = log);

impl LocalNotifier {
    /// Uses the desktop of this session, and the log where there is none.
    pub fn new(alert_log: PathBuf, processes: Arc<dyn ProcessRunner>) -> Self {
        Self::with_desktop(alert_log, Desktop::from_environment(), processes)
    }
    /// Uses another desktop.
    pub fn with_desktop(alert_log: PathBuf, desktop: Desktop, processes: Arc<dyn ProcessRunner>) -> Self {
        Self { desktop, log: AlertLog::new(alert_log), processes, files: None }
    }
    /// Runs no program from where tools may write these files: it could be theirs.
    pub fn avoiding(mut self, files: Arc<dyn FileSystem>) -> Self {
        self.files = Some(files);
        self
    }

    async fn show(&self, notice: Notice) -> Result<String, ToolError> {
        let why = match self.desktop.show(&notice, &*self.processes, |path| self.is_trusted(path)).await {
            Ok(Some(program)) => return Ok(format!("Shown on the desktop with {program}.")),
            Ok(None) => String::new(),
            Err(error) => format!(", because the desktop did not take it: {error}"),
        };
        let path = self.log.append(&notice, SystemTime::now()).await?;
        Ok(format!("Written to the alert log {}{why}.", path.display()))
    }

    fn is_trusted(&self, path: &Path) -> bool {
        self.files.as_ref().is_none_or(|files| files.locate(path).is_ok_and(|at| at.zone() != Zone::Workspace))
    }
}

impl Notifier for LocalNotifier {
    fn notify(&self, notice: Notice) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.show(notice))
    }
}
