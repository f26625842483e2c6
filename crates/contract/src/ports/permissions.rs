//! Port for permissions of the platform, such as those of Android or of a desktop portal.

use crate::BoxFuture;

/// Whether the platform has granted a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionState {
    /// Granted.
    Granted,
    /// Not granted, but the user can be asked.
    Missing,
    /// Denied permanently: only the platform's settings can change it.
    DeniedForGood,
}

/// The answer of the user to the platform's dialog.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionAnswer {
    /// Granted.
    Granted,
    /// Denied this time.
    Denied,
    /// Denied, and not to be asked again.
    DeniedForGood,
}

/// The platform, or the embedding program that speaks for it. Requests reach it one at a time.
pub trait PermissionHost: Send + Sync {
    /// The state of a permission; read before every call.
    fn state(&self, permission: &str) -> PermissionState;
    /// Shows the platform's dialog for one permission.
    fn request<'a>(&'a self, permission: &'a str) -> BoxFuture<'a, PermissionAnswer>;
    /// Shows the platform's dialog for several permissions of one call; answers in the same order. By default one dialog follows the
    /// other.
    fn request_all<'a>(&'a self, permissions: &'a [String]) -> BoxFuture<'a, Vec<PermissionAnswer>> {
        Box::pin(async move {
            let mut answers = Vec::with_capacity(permissions.len());
            for permission in permissions {
                answers.push(self.request(permission).await);
            }
            answers
        })
    }
    /// Where the user can enable a permission that was denied permanently.
    fn settings_hint(&self, permission: &str) -> String {
        format!("Enable '{permission}' in the system settings, then try again.")
    }
    /// Whether a dialog can be shown now; `false` while the program is in the background.
    fn can_ask(&self) -> bool {
        true
    }
}
