//! What the platform must grant before a tool may run (Android's permissions, a desktop's portals).

use crate::BoxFuture;

/// Whether the platform has granted a permission.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PermissionState {
    /// Granted.
    Granted,
    /// Not granted, but the person can be asked.
    Missing,
    /// Denied for good: only the platform's settings can change it.
    DeniedForGood,
}

/// What the person answered to the platform's dialog.
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
    /// Where a permission stands now; asked before every call.
    fn state(&self, permission: &str) -> PermissionState;
    /// Shows the platform's dialog for one permission.
    fn request<'a>(&'a self, permission: &'a str) -> BoxFuture<'a, PermissionAnswer>;
    /// Where the person can enable a permission that was denied for good.
    fn settings_hint(&self, permission: &str) -> String {
        format!("Enable '{permission}' in the system settings, then try again.")
    }
    /// Whether a dialog can be shown now; `false` while the program is in the background.
    fn can_ask(&self) -> bool {
        true
    }
}
