//! One hook's turn: whatever it does, the call goes on to its one result.

use std::cmp::Reverse;
use std::future::pending;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use haft_contract::{ErrorKind, ToolError, ToolResult};

use super::{Before, Hook, HookCall, HookEvent, OnFailure, Persist, in_short};
use crate::events::{Event, EventSink};
use crate::redact::redact;
use crate::stages::settle::tell;
use crate::stop::{Over, within};

/// All hooks of an engine, in the order in which they are asked.
#[derive(Default)]
pub(crate) struct Hooks {
    all: Vec<Asked>,
}

/// A hook, and what it says of itself once.
pub(crate) struct Asked {
    hook: Arc<dyn Hook>,
    name: String,
    limit: Duration,
    needs_effects: bool,
    on_failure: [OnFailure; 3],
}

impl Hooks {
    pub(crate) fn new(mut hooks: Vec<Arc<dyn Hook>>, limit: Duration) -> Self {
        hooks.sort_by_cached_key(|hook| Reverse(hook.priority()));
        let asked = |hook: Arc<dyn Hook>| Asked {
            name: hook.name().to_owned(),
            limit: hook.time_limit().unwrap_or(limit),
            needs_effects: hook.needs_effects(),
            on_failure: HookEvent::ALL.map(|event| hook.on_failure(event)),
            hook,
        };
        Self { all: hooks.into_iter().map(asked).collect() }
    }
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }
    pub(crate) fn len(&self) -> usize {
        self.all.len()
    }
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Asked> {
        self.all.iter()
    }
}

impl Asked {
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
    pub(crate) fn needs_effects(&self) -> bool {
        self.needs_effects
    }

    /// Whether it would be asked before a call. Nothing is asked.
    pub(crate) fn would_be_asked(&self, call: &HookCall<'_>) -> bool {
        let wants = || self.hook.wants(call, HookEvent::BeforeToolCall);
        // One that cannot even say so is asked, and then fails.
        std::panic::catch_unwind(AssertUnwindSafe(wants)).unwrap_or(true)
    }

    /// Asks before a call; a hook that could not run blocks it, unless it says otherwise.
    pub(crate) async fn before(&self, call: HookCall<'_>, events: Option<&dyn EventSink>) -> Result<Before, ToolError> {
        let event = HookEvent::BeforeToolCall;
        let said = self.turn(call, event, async { self.hook.before(call).await }, pending()).await;
        let why = match said {
            Ok(said) => return Ok(said.unwrap_or(Before::Continue)),
            Err(why) => self.failed(call, event, &why, events),
        };
        match self.on_failure[event as usize] {
            OnFailure::Continue => Ok(Before::Continue),
            OnFailure::Block => Err(ToolError::new(
                ErrorKind::Blocked,
                format!("The hook '{}' could not run, so the call was not made: {why}. Tell the person.", self.name),
            )),
        }
    }

    /// Tells it about a result, which its failure cannot change; nobody waits for it when the call is over.
    pub(crate) async fn after(&self, call: HookCall<'_>, result: &ToolResult, events: Option<&dyn EventSink>, over: Over<'_>) {
        let event = HookEvent::AfterToolCall;
        if let Err(why) = self.turn(call, event, async { self.hook.after(call, result).await }, over).await {
            self.failed(call, event, &why, events);
        }
    }

    /// Lets it rewrite what is stored, at most `limit` bytes; when it could not run nothing is stored, unless it says otherwise.
    pub(crate) async fn persist(
        &self,
        call: HookCall<'_>,
        stored: String,
        limit: usize,
        events: Option<&dyn EventSink>,
        over: Over<'_>,
    ) -> String {
        let event = HookEvent::ToolResultPersist;
        match self.turn(call, event, async { self.hook.persist(call, &stored).await }, over).await {
            Ok(None | Some(Persist::Keep)) => stored,
            Ok(Some(Persist::Replace(text))) => {
                let clean = redact(&text);
                clean[..clean.floor_char_boundary(limit)].to_owned()
            }
            Ok(Some(Persist::Withhold(reason))) => format!("[withheld by the hook '{}': {}]", self.name, in_short(&reason)),
            Err(why) => {
                let why = self.failed(call, event, &why, events);
                match self.on_failure[event as usize] {
                    OnFailure::Continue => stored,
                    OnFailure::Block => format!("[withheld: the hook '{}' could not run: {why}]", self.name),
                }
            }
        }
    }

    /// What the hook says, `None` if it does not want to be asked, or why it could not say.
    async fn turn<T>(
        &self,
        call: HookCall<'_>,
        event: HookEvent,
        asking: impl Future<Output = Result<T, String>>,
        over: impl Future<Output = ()>,
    ) -> Result<Option<T>, String> {
        let turn = async {
            if !self.hook.wants(&call, event) {
                return Ok(None);
            }
            let late = || Err(format!("it took longer than {} s", self.limit.as_secs_f64()));
            tokio::select! {
                biased;
                said = within(self.limit, asking) => said.unwrap_or_else(late).map(Some),
                () = over => Err("the call was cancelled, and nobody waits for it any longer".to_owned()),
            }
        };
        AssertUnwindSafe(turn).catch_unwind().await.unwrap_or_else(|_| Err("it panicked".to_owned()))
    }

    /// Tells whoever watches, and says why in words that may be passed on.
    fn failed(&self, call: HookCall<'_>, event: HookEvent, why: &str, events: Option<&dyn EventSink>) -> String {
        let why = in_short(why);
        tell(events, &Event::HookFailed { call: call.call, hook: &self.name, event, why: why.clone() });
        why
    }
}
