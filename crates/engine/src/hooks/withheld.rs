//! A configured hook that does not run, because the user has not trusted it or it changed since: it says so on every call that it
//! would have guarded.

use haft_contract::BoxFuture;
use haft_policy::catalog::Vocabulary;

use super::matcher::HookMatcher;
use super::{CommandHookSpec, Hook, HookCall, HookDecision, HookEvent, OnFailure};

/// A hook that is configured and may not run.
#[derive(Debug)]
pub struct WithheldHook {
    spec: CommandHookSpec,
    matcher: HookMatcher,
    why: String,
}

impl WithheldHook {
    /// Reports, for every call that the hook matches, that it did not run, and why. `groups` as in
    /// [`CommandHook::new`](super::CommandHook::new).
    pub fn new(
        spec: CommandHookSpec,
        why: impl Into<String>,
        vocabulary: &Vocabulary,
        groups: &[(String, Vec<String>)],
    ) -> Result<Self, String> {
        let matcher = HookMatcher::new(&spec.matches, groups, vocabulary)?;
        Ok(Self { spec, matcher, why: why.into() })
    }

    /// A hook that only observes guards nothing.
    fn is_guard(&self) -> bool {
        self.spec.event != HookEvent::AfterToolCall
    }
}

impl Hook for WithheldHook {
    fn name(&self) -> &str {
        &self.spec.name
    }
    fn priority(&self) -> i64 {
        self.spec.priority
    }
    /// A project must not be able to stop calls with a hook that nobody trusts.
    fn on_failure(&self, _event: HookEvent) -> OnFailure {
        OnFailure::Continue
    }
    fn needs_effects(&self) -> bool {
        self.is_guard() && self.matcher.needs_effects()
    }
    fn wants(&self, call: &HookCall<'_>, event: HookEvent) -> bool {
        event == HookEvent::BeforeToolCall && self.is_guard() && self.matcher.matches(call)
    }
    fn before<'a>(&'a self, _call: HookCall<'a>) -> BoxFuture<'a, Result<HookDecision, String>> {
        Box::pin(async { Err(self.why.clone()) })
    }
}
