//! Notices to the person: on the desktop where there is one, else in the alert log.

mod alert_log;
mod desktop;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use haft_contract::{BoxFuture, FileSystem, Notice, Notifier, ToolError, Zone};

use self::alert_log::AlertLog;
pub use self::desktop::Desktop;

/// Shows notices on this machine.
pub struct LocalNotifier {
    desktop: Desktop,
    log: AlertLog,
    files: Option<Arc<dyn FileSystem>>,
}

impl std::fmt::Debug for LocalNotifier {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LocalNotifier").field("desktop", &self.desktop).field("log", &self.log).finish_non_exhaustive()
    }
}

impl LocalNotifier {
    /// Uses the desktop of this session, and the log where there is none.
    pub fn new(alert_log: PathBuf) -> Self {
        Self::with_desktop(alert_log, Desktop::from_environment())
    }
    /// Uses another desktop.
    pub fn with_desktop(alert_log: PathBuf, desktop: Desktop) -> Self {
        Self { desktop, log: AlertLog::new(alert_log), files: None }
    }
    /// Runs no program from where tools may write these files: it could be theirs.
    pub fn avoiding(mut self, files: Arc<dyn FileSystem>) -> Self {
        self.files = Some(files);
        self
    }

    async fn show(&self, notice: Notice) -> Result<String, ToolError> {
        let why = match self.desktop.show(&notice, |path| self.is_trusted(path)).await {
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
