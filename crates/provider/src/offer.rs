//! Selects the tools of a request and warns about those that are left out.

use crate::schema::{self, ProjectedSchema};
use crate::{ModelTurn, OfferedTool};

/// Number of tools that a warning names before it only counts.
const MAX_NAMES: usize = 5;

/// The tools of a request in their order, with their schemas.
pub(crate) struct Offer<'a> {
    pub(crate) tools: Vec<(&'a OfferedTool, ProjectedSchema)>,
    pub(crate) warnings: Vec<String>,
}

/// Leaves out tools that the protocol cannot describe, and tools excess the limit of the model.
pub(crate) fn offer<'a>(turn: &ModelTurn<'a>) -> Offer<'a> {
    let mut offer = Offer { tools: Vec::new(), warnings: Vec::new() };
    for tool in turn.tools {
        match schema::project(turn.model, &tool.parameters) {
            Ok(projected) => offer.tools.push((tool, projected)),
            Err(why) => offer.warnings.push(format!("the tool '{}' is not offered to {}: {why}", tool.name, turn.model.name)),
        }
    }
    let excess = offer.tools.split_off(turn.model.max_tools.min(offer.tools.len()));
    offer.warnings.extend(over_limit(turn, &excess));
    offer
}

fn over_limit(turn: &ModelTurn<'_>, excess: &[(&OfferedTool, ProjectedSchema)]) -> Option<String> {
    let mut names: Vec<&str> = excess.iter().take(MAX_NAMES).map(|(tool, _)| tool.name.as_str()).collect();
    names.extend((excess.len() > MAX_NAMES).then_some("…"));
    (!excess.is_empty()).then(|| {
        let (model, most) = (&turn.model.name, turn.model.max_tools);
        format!("{model} accepts at most {most} tools: {} are not offered ({})", excess.len(), names.join(", "))
    })
}
