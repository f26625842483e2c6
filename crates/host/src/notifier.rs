//! Notices to the person: on the desktop where there is one, else in the alert log.

mod alert_log;
mod desktop;

use std::path::PathBuf;
use std::time::SystemTime;

use haft_contract::{BoxFuture, Notice, Notifier, ToolError};

use self::alert_log::AlertLog;
pub use self::desktop::Desktop;

/// Shows notices on this machine.
#[derive(Debug)]
pub struct LocalNotifier {
    desktop: Desktop,
    log: AlertLog,
}

impl LocalNotifier {
    /// Uses the desktop of this session, and the log where there is none.
    pub fn new(alert_log: PathBuf) -> Self {
        Self::with_desktop(alert_log, Desktop::from_environment())
    }
    /// Uses another desktop.
    pub fn with_desktop(alert_log: PathBuf, desktop: Desktop) -> Self {
        Self { desktop, log: AlertLog::new(alert_log) }
    }

    async fn show(&self, notice: Notice) -> Result<String, ToolError> {
        let why = match self.desktop.show(&notice).await {
            Ok(Some(program)) => return Ok(format!("Shown on the desktop with {program}.")),
            Ok(None) => String::new(),
            Err(error) => format!(", because the desktop did not take it: {error}"),
        };
        let path = self.log.append(&notice, SystemTime::now()).await?;
        Ok(format!("Written to the alert log {}{why}.", path.display()))
    }
}

impl Notifier for LocalNotifier {
    fn notify(&self, notice: Notice) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(self.show(notice))
    }
}
