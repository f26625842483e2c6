//! Permissions of the platform (Android): one dialog at a time, the same permission requested once, checked before every call.
//!
//! A call is denied if no host is bound, the program is in the background, or nobody answers in time; its error says which. All
//! permissions that a call lacks are in one dialog.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::Shared;
use haft_contract::{
    BoxFuture, ToolError,
    ports::{PermissionAnswer, PermissionHost, PermissionState},
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::stop::within;

/// How the dialog about each permission ended.
type DialogEnds = HashMap<String, DialogEnd>;
type PendingDialog = Shared<BoxFuture<'static, Arc<DialogEnds>>>;

/// How long a dialog may stay open, unless it is set.
const TIME_LIMIT: Duration = Duration::from_mins(2);

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
    limit: Mutex<Option<Duration>>,
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

    /// Sets how long a dialog may stay open; two minutes unless it is set.
    pub fn set_time_limit(&self, limit: Duration) {
        *lock(&self.inner.limit) = Some(limit);
    }

    /// Makes sure that all of these are granted, asking where it can: for all that are missing at once. Called before every call of a
    /// tool that needs any.
    pub async fn ensure(&self, permissions: &[Cow<'static, str>]) -> Result<(), ToolError> {
        let Some(BoundPlatform { host, .. }) = self.bound() else {
            return Err(denied(permissions.iter().map(|permission| (permission.as_ref(), DialogEnd::Unbound)), None));
        };
        let states: Vec<_> = permissions.iter().map(|permission| (permission.as_ref(), host.state(permission))).collect();
        let missing = states.iter().filter(|(_, state)| *state == PermissionState::Missing).map(|(permission, _)| *permission);
        let dialogs = self.request(missing);
        let mut refused = Vec::new();
        for (permission, state) in states {
            let end = match state {
                PermissionState::Granted => continue,
                PermissionState::DeniedForGood => DialogEnd::Answered(PermissionAnswer::DeniedForGood),
                PermissionState::Missing => match dialogs.get(permission) {
                    Some(dialog) => dialog.clone().await.get(permission).copied().unwrap_or(DialogEnd::Failed),
                    None => DialogEnd::Failed,
                },
            };
            if end != DialogEnd::Answered(PermissionAnswer::Granted) {
                refused.push((permission, end));
            }
        }
        if refused.is_empty() { Ok(()) } else { Err(denied(refused.into_iter(), Some(&*host))) }
    }

    /// The dialog of each permission: one that is open already, or else one new dialog for all the others, when it is its turn.
    fn request<'a>(&self, permissions: impl Iterator<Item = &'a str>) -> HashMap<&'a str, PendingDialog> {
        let mut pending = lock(&self.inner.pending);
        let (mut dialogs, mut asked) = (HashMap::new(), Vec::new());
        for permission in permissions {
            match pending.get(permission) {
                Some(open) => drop(dialogs.insert(permission, open.clone())),
                None => asked.push(permission),
            }
        }
        if !asked.is_empty() {
            // A task of its own: the dialog must continue when its caller is dropped.
            let task = tokio::spawn(Self::dialog(self.clone(), asked.iter().map(ToString::to_string).collect()));
            let dialog = task.map(|ends| Arc::new(ends.unwrap_or_default())).boxed().shared();
            pending.extend(asked.iter().map(|permission| ((*permission).to_owned(), dialog.clone())));
            dialogs.extend(asked.into_iter().map(|permission| (permission, dialog.clone())));
        }
        dialogs
    }

    async fn dialog(broker: Self, permissions: Vec<String>) -> DialogEnds {
        let open = DialogGuard { broker: &broker, permissions: &permissions };
        let _turn = broker.inner.turn.lock().await;
        let limit = lock(&broker.inner.limit).unwrap_or(TIME_LIMIT);
        match open.broker.bound() {
            Some(bound) => bound.ask(&permissions, limit).await,
            None => permissions.iter().map(|permission| (permission.clone(), DialogEnd::Unbound)).collect(),
        }
    }
}

/// How a dialog about a permission ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DialogEnd {
    Answered(PermissionAnswer),
    /// No dialog can be shown now.
    Background,
    /// No platform is bound, or it went while the dialog was open.
    Unbound,
    /// It panicked, or gave no answer.
    Failed,
    /// Nobody answered in this time.
    Late(Duration),
}

impl DialogEnd {
    /// For programs.
    fn as_str(self) -> &'static str {
        match self {
            Self::Answered(PermissionAnswer::Granted) => "granted",
            Self::Answered(PermissionAnswer::Denied) => "denied",
            Self::Answered(PermissionAnswer::DeniedForGood) => "denied_for_good",
            Self::Background => "background",
            Self::Unbound => "unbound",
            Self::Failed => "failed",
            Self::Late(_) => "no_answer",
        }
    }

    /// What was wrong, and what to do.
    fn sentence(self, permission: &str, host: Option<&dyn PermissionHost>) -> String {
        match self {
            Self::Answered(PermissionAnswer::DeniedForGood) => host.map_or_else(String::new, |host| host.settings_hint(permission)),
            Self::Answered(_) => format!("Permission '{permission}' was denied by the user."),
            Self::Background => {
                format!(
                    "'{permission}' cannot be asked for while the program is in the background: ask the user to open it, then try again."
                )
            }
            Self::Unbound => format!("Nothing here can grant '{permission}': no host is bound."),
            Self::Failed => format!("The dialog for '{permission}' failed: try again."),
            Self::Late(limit) => format!("Nobody answered the dialog for '{permission}' within {} s.", limit.as_secs()),
        }
    }
}

fn denied<'a>(refused: impl Iterator<Item = (&'a str, DialogEnd)>, host: Option<&dyn PermissionHost>) -> ToolError {
    let refused: Vec<_> = refused.collect();
    let names: Vec<&str> = refused.iter().map(|(permission, _)| *permission).collect();
    let hints: Vec<String> = refused.iter().map(|(permission, end)| end.sentence(permission, host)).collect();
    let reasons: serde_json::Map<_, _> = refused.iter().map(|(permission, end)| ((*permission).to_owned(), json!(end.as_str()))).collect();
    ToolError::denied(format!("Required permissions were denied: {}. {}", names.join(", "), hints.join(" ")))
        .with_details(json!({"permissions": reasons}))
}

/// An open dialog; closed when it ends, by a panic too, so that the next call can ask again.
struct DialogGuard<'a> {
    broker: &'a PermissionBroker,
    permissions: &'a [String],
}

impl Drop for DialogGuard<'_> {
    fn drop(&mut self) {
        let mut pending = lock(&self.broker.inner.pending);
        self.permissions.iter().for_each(|permission| drop(pending.remove(permission)));
    }
}

impl BoundPlatform {
    /// Shows one dialog for all of them that are still missing.
    async fn ask(&self, permissions: &[String], limit: Duration) -> DialogEnds {
        let mut ends = DialogEnds::new();
        let mut missing = Vec::new();
        for permission in permissions {
            let end = match self.host.state(permission) {
                PermissionState::Granted => DialogEnd::Answered(PermissionAnswer::Granted),
                PermissionState::DeniedForGood => DialogEnd::Answered(PermissionAnswer::DeniedForGood),
                PermissionState::Missing if !self.host.can_ask() => DialogEnd::Background,
                PermissionState::Missing => {
                    missing.push(permission.clone());
                    continue;
                }
            };
            ends.insert(permission.clone(), end);
        }
        let answers: Vec<DialogEnd> = if missing.is_empty() { Vec::new() } else { self.answers(&missing, limit).await };
        // A platform that gives fewer answers has failed for the rest.
        let answers = answers.into_iter().chain(std::iter::repeat(DialogEnd::Failed));
        ends.extend(missing.into_iter().zip(answers));
        ends
    }

    async fn answers(&self, missing: &[String], limit: Duration) -> Vec<DialogEnd> {
        let all = |end| vec![end; missing.len()];
        tokio::select! {
            answers = within(limit, self.host.request_all(missing)) => match answers {
                Some(answers) => answers.into_iter().map(DialogEnd::Answered).collect(),
                None => all(DialogEnd::Late(limit)),
            },
            () = self.gone.cancelled() => all(DialogEnd::Unbound),
        }
    }
}

type StateFn = dyn Fn(&str) -> PermissionState + Send + Sync;
type RequestFn = dyn Fn(String) -> BoxFuture<'static, PermissionAnswer> + Send + Sync;

/// A platform made of callbacks, for embedding programs.
pub struct CallbackPermissions {
    state: Box<StateFn>,
    request: Box<RequestFn>,
    can_ask: Box<dyn Fn() -> bool + Send + Sync>,
}

haft_contract::opaque_debug!(CallbackPermissions);

impl CallbackPermissions {
    /// `state` says where a permission stands; `request` shows the dialog.
    pub fn new(
        state: impl Fn(&str) -> PermissionState + Send + Sync + 'static,
        request: impl Fn(String) -> BoxFuture<'static, PermissionAnswer> + Send + Sync + 'static,
    ) -> Self {
        Self { state: Box::new(state), request: Box::new(request), can_ask: Box::new(|| true) }
    }
    /// Says whether a dialog can be shown now.
    pub fn can_ask(mut self, can_ask: impl Fn() -> bool + Send + Sync + 'static) -> Self {
        self.can_ask = Box::new(can_ask);
        self
    }
}

impl PermissionHost for CallbackPermissions {
    fn state(&self, permission: &str) -> PermissionState {
        (self.state)(permission)
    }
    fn request<'a>(&'a self, permission: &'a str) -> BoxFuture<'a, PermissionAnswer> {
        (self.request)(permission.to_owned())
    }
    fn can_ask(&self) -> bool {
        (self.can_ask)()
    }
}
