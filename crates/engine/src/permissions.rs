//! Permissions of the platform (Android): one dialog at a time, the same permission requested once, checked before every call.
//!
//! A call is denied if no host is bound or the program is in the background.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::FutureExt;
use futures_util::future::Shared;
use haft_contract::{
    BoxFuture, ToolError,
    ports::{PermissionAnswer, PermissionHost, PermissionState},
};
use tokio_util::sync::CancellationToken;

type PendingDialog = Shared<BoxFuture<'static, PermissionAnswer>>;

/// Connects the engine with the platform. Cheap to clone; clones share their state.
#[derive(Clone, Default)]
pub struct PermissionBroker {
    inner: Arc<BrokerState>,
}

#[derive(Default)]
struct BrokerState {
    bound: Mutex<Option<BoundPlatform>>,
    /// Dialogs that are open or waiting, by permission: a second request joins the first.
    pending: Mutex<HashMap<String, PendingDialog>>,
    /// One dialog at a time.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Clone)]
struct BoundPlatform {
    host: Arc<dyn PermissionHost>,
    /// Cancelled when this host is unbound or replaced.
    gone: CancellationToken,
}

impl std::fmt::Debug for PermissionBroker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PermissionBroker").field("bound", &self.bound().is_some()).finish()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl PermissionBroker {
    /// A broker with no platform bound: every permission is denied.
    pub fn new() -> Self {
        Self::default()
    }
    /// Binds the platform, as when an activity appears.
    pub fn bind(&self, host: Arc<dyn PermissionHost>) {
        self.unbind();
        *lock(&self.inner.bound) = Some(BoundPlatform { host, gone: CancellationToken::new() });
    }
    /// Unbinds it, as when the activity goes; waiting requests are denied.
    pub fn unbind(&self) {
        if let Some(bound) = lock(&self.inner.bound).take() {
            bound.gone.cancel();
        }
    }
    fn bound(&self) -> Option<BoundPlatform> {
        lock(&self.inner.bound).clone()
    }

    /// Makes sure that all of these are granted, asking where it can. Called before every call of a tool that needs any.
    pub async fn ensure(&self, permissions: &[Cow<'static, str>]) -> Result<(), ToolError> {
        let mut denied = Vec::new();
        for permission in permissions {
            if let Err(why) = self.ensure_one(permission).await {
                denied.push((permission.as_ref(), why));
            }
        }
        if denied.is_empty() {
            return Ok(());
        }
        let names: Vec<&str> = denied.iter().map(|(name, _)| *name).collect();
        let hints: Vec<String> = denied.iter().map(|(_, why)| why.clone()).collect();
        Err(ToolError::denied(format!("Required permissions were denied: {}. {}", names.join(", "), hints.join(" "))))
    }

    async fn ensure_one(&self, permission: &str) -> Result<(), String> {
        let Some(BoundPlatform { host, .. }) = self.bound() else {
            return Err(format!("Nothing here can grant '{permission}': no host is bound."));
        };
        match host.state(permission) {
            PermissionState::Granted => return Ok(()),
            PermissionState::DeniedForGood => return Err(host.settings_hint(permission)),
            PermissionState::Missing => {}
        }
        match self.request(permission).await {
            PermissionAnswer::Granted => Ok(()),
            PermissionAnswer::Denied => Err(format!("Permission '{permission}' was denied by the user.")),
            PermissionAnswer::DeniedForGood => Err(host.settings_hint(permission)),
        }
    }

    /// Joins the dialog that is already open for this permission, or opens one when it is its turn.
    async fn request(&self, permission: &str) -> PermissionAnswer {
        let dialog = {
            let mut pending = lock(&self.inner.pending);
            if let Some(open) = pending.get(permission) {
                open.clone()
            } else {
                // A task of its own: the dialog must continue when its caller is dropped.
                let task = tokio::spawn(Self::dialog(self.clone(), permission.to_owned()));
                let dialog = task.map(|answer| answer.unwrap_or(PermissionAnswer::Denied)).boxed().shared();
                pending.insert(permission.to_owned(), dialog.clone());
                dialog
            }
        };
        dialog.await
    }

    async fn dialog(broker: Self, permission: String) -> PermissionAnswer {
        let open = DialogGuard { broker: &broker, permission: &permission };
        let _turn = broker.inner.turn.lock().await;
        match open.broker.bound() {
            Some(bound) => bound.ask(&permission).await,
            None => PermissionAnswer::Denied,
        }
    }
}

/// An open dialog; closed when it ends, by a panic too, so that the next call can ask again.
struct DialogGuard<'a> {
    broker: &'a PermissionBroker,
    permission: &'a str,
}

impl Drop for DialogGuard<'_> {
    fn drop(&mut self) {
        lock(&self.broker.inner.pending).remove(self.permission);
    }
}

impl BoundPlatform {
    async fn ask(&self, permission: &str) -> PermissionAnswer {
        match self.host.state(permission) {
            PermissionState::Granted => PermissionAnswer::Granted,
            PermissionState::DeniedForGood => PermissionAnswer::DeniedForGood,
            PermissionState::Missing if !self.host.can_ask() => PermissionAnswer::Denied,
            PermissionState::Missing => tokio::select! {
                answer = self.host.request(permission) => answer,
                () = self.gone.cancelled() => PermissionAnswer::Denied,
            },
        }
    }
}

type StateFn = dyn Fn(&str) -> PermissionState + Send + Sync;
type RequestFn = dyn Fn(String) -> BoxFuture<'static, PermissionAnswer> + Send + Sync;

/// A platform made of two callbacks, for embedding programs.
pub struct CallbackPermissions {
    state: Box<StateFn>,
    request: Box<RequestFn>,
}

haft_contract::opaque_debug!(CallbackPermissions);

impl CallbackPermissions {
    /// `state` says where a permission stands; `request` shows the dialog.
    pub fn new(
        state: impl Fn(&str) -> PermissionState + Send + Sync + 'static,
        request: impl Fn(String) -> BoxFuture<'static, PermissionAnswer> + Send + Sync + 'static,
    ) -> Self {
        Self { state: Box::new(state), request: Box::new(request) }
    }
}

impl PermissionHost for CallbackPermissions {
    fn state(&self, permission: &str) -> PermissionState {
        (self.state)(permission)
    }
    fn request<'a>(&'a self, permission: &'a str) -> BoxFuture<'a, PermissionAnswer> {
        (self.request)(permission.to_owned())
    }
}
