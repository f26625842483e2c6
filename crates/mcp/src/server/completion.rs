//! Completion of the parts that a client fills in: names of resources.

use rmcp::model::{ArgumentInfo, CompleteResult, CompletionInfo, Reference};

use super::backend::ClientAgent;

/// Values that begin like what was typed.
pub(super) fn complete(agent: &ClientAgent, reference: &Reference, argument: &ArgumentInfo) -> CompleteResult {
    let values = match reference {
        Reference::Resource(template) => names(agent, &template.uri),
        _ => Vec::new(),
    };
    let mut values: Vec<String> = values.into_iter().filter(|value| value.starts_with(&argument.value)).collect();
    let total = values.len();
    values.truncate(CompletionInfo::MAX_VALUES);
    let mut info = CompletionInfo::default();
    info.total = u32::try_from(total).ok();
    info.has_more = Some(total > values.len());
    info.values = values;
    CompleteResult::new(info)
}

/// The names of resources that a template stands for: what follows its fixed part in their addresses.
fn names(agent: &ClientAgent, template: &str) -> Vec<String> {
    let fixed = template.split('{').next().unwrap_or_default();
    let listed = agent.resources.iter().flat_map(|source| source.list());
    listed.filter(|listing| listing.uri.starts_with(fixed)).map(|listing| listing.name).collect()
}
