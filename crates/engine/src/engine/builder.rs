//! Construction of an [`Engine`].

use std::sync::Arc;

use haft_policy::Policy;

use super::{Engine, EngineParts};
use crate::CallLimits;
use crate::events::EventSink;
use crate::hooks::{Hook, Hooks};
use crate::journal::JournalStores;

/// Makes an [`Engine`].
pub struct EngineBuilder {
    parts: EngineParts,
    hooks: Vec<Arc<dyn Hook>>,
}

haft_contract::opaque_debug!(EngineBuilder);

impl EngineBuilder {
    pub(super) fn new(parts: EngineParts) -> Self {
        Self { parts, hooks: Vec::new() }
    }
    /// The policy that decides on calls.
    pub fn policy(mut self, policy: Arc<dyn Policy>) -> Self {
        self.parts.policy = policy;
        self
    }
    /// Adds a hook. Hooks with a higher priority run first; equal ones in the order in which they were added.
    pub fn hook(mut self, hook: Arc<dyn Hook>) -> Self {
        self.hooks.push(hook);
        self
    }
    /// The receiver of events.
    pub fn events(mut self, sink: Arc<dyn EventSink>) -> Self {
        self.parts.events = Some(sink);
        self
    }
    /// The limits of each call.
    pub fn limits(mut self, limits: CallLimits) -> Self {
        self.parts.journals = Arc::new(JournalStores::new(Arc::clone(&self.parts.log), Arc::clone(&self.parts.blobs), &limits));
        self.parts.limits = limits;
        self
    }
    /// The engine.
    pub fn build(mut self) -> Engine {
        self.parts.hooks = Hooks::new(self.hooks, self.parts.limits.hook);
        Engine { inner: Arc::new(self.parts) }
    }
}
