//! Notices that are written down instead of shown.

use std::sync::Mutex;

use haft_contract::{BoxFuture, ErrorKind, Notice, ToolError, ports::Notifier};

use crate::sync::lock;

/// Notices that are written down instead of shown.
#[derive(Debug, Default)]
pub struct FakeNotifier {
    shown: Mutex<Vec<Notice>>,
    failure: Mutex<Option<(ErrorKind, String)>>,
}

impl FakeNotifier {
    /// What was shown so far.
    pub fn shown(&self) -> Vec<Notice> {
        lock(&self.shown).clone()
    }
    /// Makes every notice fail.
    pub fn fail(&self, kind: ErrorKind, message: impl Into<String>) {
        *lock(&self.failure) = Some((kind, message.into()));
    }
}

impl Notifier for FakeNotifier {
    fn notify(&self, notice: Notice) -> BoxFuture<'_, Result<String, ToolError>> {
        Box::pin(async move {
            if let Some((kind, message)) = lock(&self.failure).clone() {
                return Err(ToolError::new(kind, message));
            }
            lock(&self.shown).push(notice);
            Ok("shown on the fake desktop".into())
        })
    }
}
