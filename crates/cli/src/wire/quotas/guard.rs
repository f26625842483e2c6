//! Where quotas are checked: before the model is asked, and before a call.

use std::sync::Arc;

use haft_agent::{Meter, Micros};
use haft_contract::{BoxFuture, Effect, ToolResult};
use haft_engine::{Hook, HookCall, HookDecision};
use haft_provider::Usage;

use super::{QuotaKind, Quotas, cpu};

/// Checks quotas before each call.
pub(crate) struct QuotaHook(pub(crate) Quotas);

impl Hook for QuotaHook {
    fn name(&self) -> &'static str {
        "quota"
    }
    /// Before hooks that start programs.
    fn priority(&self) -> i64 {
        i64::MAX
    }
    fn needs_effects(&self) -> bool {
        self.0.limit(QuotaKind::Storage).is_some()
    }
    fn before<'a>(&'a self, call: HookCall<'a>) -> BoxFuture<'a, Result<HookDecision, String>> {
        Box::pin(async move {
            // What only reads and removes may continue when nothing more may be stored.
            let adds = call.effects.unwrap_or_default().iter().any(|effect| !matches!(effect, Effect::Read(_) | Effect::Delete(_)));
            let kinds = [QuotaKind::CpuSeconds, QuotaKind::Storage];
            let checked = match self.0.check(&kinds[..if adds { 2 } else { 1 }]).await {
                Ok(()) => self.0.take_call().await,
                refused => refused,
            };
            Ok(checked.map_or_else(|why| HookDecision::Block(format!("{why}.")), |()| HookDecision::Continue))
        })
    }
    fn after<'a>(&'a self, _: HookCall<'a>, _: &'a ToolResult) -> BoxFuture<'a, Result<(), String>> {
        Box::pin(async move {
            if self.0.limit(QuotaKind::CpuSeconds).is_some() {
                // What cannot be counted now counts with the next call.
                cpu::of_today(&self.0.store, &self.0.data_folder, &crate::wire::today().1).await.ok();
            }
            Ok(())
        })
    }
}

/// Checks quotas before each request to a model.
pub(crate) struct QuotaMeter {
    pub(crate) meter: Arc<dyn Meter>,
    pub(crate) quotas: Quotas,
}

impl Meter for QuotaMeter {
    fn begin(&self) {
        self.meter.begin();
    }
    fn permit(&self) -> BoxFuture<'_, Result<(), String>> {
        Box::pin(async move {
            self.quotas.check(&[QuotaKind::Tokens, QuotaKind::Money, QuotaKind::Storage]).await?;
            self.meter.permit().await
        })
    }
    fn count<'a>(&'a self, model: &'a str, usage: Usage) -> BoxFuture<'a, Result<Option<Micros>, String>> {
        self.meter.count(model, usage)
    }
    fn add_below(&self, cost: Micros) {
        self.meter.add_below(cost);
    }
}
