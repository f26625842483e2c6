//! The cost of a sub-agent counts against the budget of the conversations above it.

use std::sync::Arc;

use haft_contract::BoxFuture;
use haft_provider::Usage;

use crate::cost::Micros;
use crate::meter::Meter;

/// Counts for a sub-agent, and asks the meter of its parent whether more may be spent.
pub struct InheritedMeter {
    own: Arc<dyn Meter>,
    parent: Arc<dyn Meter>,
}

haft_contract::opaque_debug!(InheritedMeter);

impl InheritedMeter {
    /// `own` counts what the sub-agent uses; the budget is that of the parent.
    pub fn new(own: Arc<dyn Meter>, parent: Arc<dyn Meter>) -> Self {
        Self { own, parent }
    }
}

impl Meter for InheritedMeter {
    fn begin(&self) {
        self.own.begin();
    }

    fn permit(&self) -> BoxFuture<'_, Result<(), String>> {
        self.parent.permit()
    }

    fn count<'a>(&'a self, model: &'a str, usage: Usage) -> BoxFuture<'a, Result<Option<Micros>, String>> {
        Box::pin(async move {
            let cost = self.own.count(model, usage).await?;
            self.parent.add_below(cost.unwrap_or_default());
            Ok(cost)
        })
    }

    fn add_below(&self, cost: Micros) {
        self.parent.add_below(cost);
    }
}
