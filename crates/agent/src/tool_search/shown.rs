//! The tools that a model is shown, from one round to the next: nearly always the same, and they take long to describe.

use std::sync::Arc;

use haft_contract::Dialect;
use haft_engine::ToolEntry;
use haft_provider::OfferedTool;

use super::{DisclosedTools, visible_tools};
use crate::context_budget::shown_bytes;
use crate::provider::Provider;
use crate::structured_output::{self, OutputSchema};

/// Everything that decides which tools a model is shown.
pub(crate) struct ToolFacts<'a> {
    /// Those that the policy offers.
    pub(crate) offered: Vec<Arc<ToolEntry>>,
    pub(crate) dialect: Dialect,
    pub(crate) provider: &'a Arc<dyn Provider>,
    pub(crate) disclosed: &'a DisclosedTools,
    pub(crate) output: Option<&'a Arc<OutputSchema>>,
}

/// The tools that a model is shown, and what they were made of.
pub(crate) struct ShownTools {
    pub(crate) tools: Vec<OfferedTool>,
    /// To the user, about the others.
    pub(crate) warning: Option<String>,
    /// About how many bytes they take in a request.
    pub(crate) bytes: usize,
    offered: Vec<Arc<ToolEntry>>,
    dialect: Dialect,
    provider: Arc<dyn Provider>,
    found: Vec<String>,
    budget_percent: u64,
    output: Option<Arc<OutputSchema>>,
}

impl ShownTools {
    pub(crate) fn new(facts: ToolFacts<'_>) -> Self {
        let (found, budget_percent) = (facts.disclosed.names(), facts.disclosed.budget_percent());
        let (tools, warning) = select(&facts);
        let ToolFacts { offered, dialect, provider, output, .. } = facts;
        let bytes = tools.iter().map(shown_bytes).sum();
        let (provider, output) = (Arc::clone(provider), output.cloned());
        Self { tools, warning, bytes, offered, dialect, provider, found, budget_percent, output }
    }

    /// Whether these facts lead to the same tools.
    pub(crate) fn is_of(&self, facts: &ToolFacts<'_>) -> bool {
        let same = |(one, other): (&Arc<ToolEntry>, &Arc<ToolEntry>)| Arc::ptr_eq(one, other);
        self.offered.len() == facts.offered.len()
            && self.offered.iter().zip(&facts.offered).all(same)
            && self.dialect == facts.dialect
            && std::ptr::addr_eq(Arc::as_ptr(&self.provider), Arc::as_ptr(facts.provider))
            && self.output.as_ref().map(Arc::as_ptr) == facts.output.map(Arc::as_ptr)
            && self.budget_percent == facts.disclosed.budget_percent()
            && self.found == facts.disclosed.names()
    }
}

fn select(facts: &ToolFacts<'_>) -> (Vec<OfferedTool>, Option<String>) {
    let ToolFacts { offered, dialect, disclosed, .. } = facts;
    let model = facts.provider.model();
    let Some(output) = facts.output else { return visible_tools(offered, *dialect, model, disclosed) };
    let (own, offered): (Vec<_>, Vec<_>) = offered.iter().cloned().partition(|entry| entry.name() == structured_output::NAME);
    let mut others = model.clone();
    others.max_tools = others.max_tools.saturating_sub(own.len());
    let (mut tools, warning) = visible_tools(&offered, *dialect, &others, disclosed);
    tools.extend(own.iter().map(|entry| output.offer(entry.definition().name_in(*dialect))));
    (tools, warning)
}
