//! Runs one hook. Whatever it does, the call continues to its one result.

use std::cmp::Reverse;
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use haft_contract::{ErrorKind, ToolError, ToolResult};
use haft_redact::redact;

use super::{Hook, HookCall, HookDecision, HookEvent, OnFailure, PersistDecision, shorten};
use crate::events::{Event, EventSink, emit};
use crate::stop::{StopDeadline, within};

/// All hooks of an engine, in the order in which they run.
#[derive(Default)]
pub(crate) struct Hooks {
    all: Vec<RegisteredHook>,
}

/// A hook, with the properties that it reports once.
pub(crate) struct RegisteredHook {
    hook: Arc<dyn Hook>,
    name: String,
    limit: Duration,
    needs_effects: bool,
    on_failure: [OnFailure; 3],
}

impl Hooks {
    pub(crate) fn new(mut hooks: Vec<Arc<dyn Hook>>, limit: Duration) -> Self {
        hooks.sort_by_cached_key(|hook| Reverse(hook.priority()));
        let registered = |hook: Arc<dyn Hook>| RegisteredHook {
            name: hook.name().to_owned(),
            limit: hook.time_limit().unwrap_or(limit),
            needs_effects: hook.needs_effects(),
            on_failure: HookEvent::ALL.map(|event| hook.on_failure(event)),
            hook,
        };
        Self { all: hooks.into_iter().map(registered).collect() }
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &RegisteredHook> {
        self.all.iter()
    }
}

impl RegisteredHook {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
    pub(crate) fn needs_effects(&self) -> bool {
        self.needs_effects
    }

    /// Whether it would run before a call. Nothing runs.
    pub(crate) fn would_run(&self, call: &HookCall<'_>) -> bool {
        let wants = || self.hook.wants(call, HookEvent::BeforeToolCall);
        // A hook that panics here runs, and then fails.
        std::panic::catch_unwind(AssertUnwindSafe(wants)).unwrap_or(true)
    }

    /// Runs it before a call; a hook that could not run blocks the call, unless `on_failure` is `continue`.
    pub(crate) async fn before(&self, call: HookCall<'_>, events: Option<&dyn EventSink>) -> Result<HookDecision, ToolError> {
        let event = HookEvent::BeforeToolCall;
        let outcome = self.invoke(call, event, async { self.hook.before(call).await }, pending()).await;
        let why = match outcome {
            Ok(decision) => return Ok(decision.unwrap_or(HookDecision::Continue)),
            Err(why) => self.report_failure(call, event, &why, events),
        };
        match self.on_failure[event as usize] {
            OnFailure::Continue => Ok(HookDecision::Continue),
            OnFailure::Block => Err(ToolError::new(
                ErrorKind::Blocked,
                format!("The hook '{}' could not run, so the call was not made: {why}. Tell the user.", self.name),
            )),
        }
    }

    /// Runs it after a call. It cannot change the result, and is dropped at the deadline of a stopped call.
    pub(crate) async fn after(&self, call: HookCall<'_>, result: &ToolResult, events: Option<&dyn EventSink>, deadline: StopDeadline<'_>) {
        let event = HookEvent::AfterToolCall;
        if let Err(why) = self.invoke(call, event, async { self.hook.after(call, result).await }, deadline).await {
            self.report_failure(call, event, &why, events);
        }
    }

    /// Lets it rewrite the stored text; `None` leaves it as it is. A hook that could not run withholds it, unless `on_failure` is
    /// `continue`.
    pub(crate) async fn persist(
        &self,
        call: HookCall<'_>,
        stored: &str,
        events: Option<&dyn EventSink>,
        deadline: StopDeadline<'_>,
    ) -> Option<String> {
        let event = HookEvent::ToolResultPersist;
        match self.invoke(call, event, async { self.hook.persist(call, stored).await }, deadline).await {
            Ok(None | Some(PersistDecision::Keep)) => None,
            Ok(Some(PersistDecision::Replace(text))) => Some(redact(&text).into_owned()),
            Ok(Some(PersistDecision::Withhold(reason))) => Some(format!("[withheld by the hook '{}': {}]", self.name, shorten(&reason))),
            Err(why) => {
                let why = self.report_failure(call, event, &why, events);
                match self.on_failure[event as usize] {
                    OnFailure::Continue => None,
                    OnFailure::Block => Some(format!("[withheld: the hook '{}' could not run: {why}]", self.name)),
                }
            }
        }
    }

    /// The decision of the hook, `None` if it does not want this call, or why it could not run.
    async fn invoke<T>(
        &self,
        call: HookCall<'_>,
        event: HookEvent,
        running: impl Future<Output = Result<T, String>>,
        deadline: impl Future<Output = ()>,
    ) -> Result<Option<T>, String> {
        let invoking = async {
            if !self.hook.wants(&call, event) {
                return Ok(None);
            }
            let late = || Err(format!("it took longer than {} s", self.limit.as_secs_f64()));
            tokio::select! {
                biased;
                outcome = within(self.limit, running) => outcome.unwrap_or_else(late).map(Some),
                () = deadline => Err("the call was cancelled while it ran".to_owned()),
            }
        };
        AssertUnwindSafe(invoking).catch_unwind().await.unwrap_or_else(|_| Err("it panicked".to_owned()))
    }

    /// Reports a failure to observers; returns its reason, fit to be passed on.
    fn report_failure(&self, call: HookCall<'_>, event: HookEvent, why: &str, events: Option<&dyn EventSink>) -> String {
        let why = shorten(why);
        emit(events, &Event::HookFailed { call: call.call, hook: &self.name, event, why: why.clone() });
        why
    }
}
