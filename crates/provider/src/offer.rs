//! Which tools a request shows, and what is said of those that it does not.

use crate::schema::{self, Projected};
use crate::{ToolSpec, Turn};

/// How many tools a warning names before it only counts.
const NAMED: usize = 5;

/// The tools that go, in their order.
pub(crate) struct Offer<'a> {
    pub(crate) tools: Vec<(&'a ToolSpec, Projected)>,
    pub(crate) warnings: Vec<String>,
}

/// A tool that the protocol cannot describe is left out, and so is what the model has no room for: callers that have more tools
/// choose among them before.
pub(crate) fn offer<'a>(turn: &Turn<'a>) -> Offer<'a> {
    let mut offer = Offer { tools: Vec::new(), warnings: Vec::new() };
    for tool in turn.tools {
        match schema::project(turn.model, &tool.parameters) {
            Ok(projected) => offer.tools.push((tool, projected)),
            Err(why) => offer.warnings.push(format!("the tool '{}' is not offered to {}: {why}", tool.name, turn.model.name)),
        }
    }
    let beyond = offer.tools.split_off(turn.model.max_tools.min(offer.tools.len()));
    offer.warnings.extend(no_room(turn, &beyond));
    offer
}

fn no_room(turn: &Turn<'_>, beyond: &[(&ToolSpec, Projected)]) -> Option<String> {
    let mut names: Vec<&str> = beyond.iter().take(NAMED).map(|(tool, _)| tool.name.as_str()).collect();
    names.extend((beyond.len() > NAMED).then_some("…"));
    (!beyond.is_empty()).then(|| {
        let (model, most) = (&turn.model.name, turn.model.max_tools);
        format!("{model} takes {most} tools at most: {} are not offered ({})", beyond.len(), names.join(", "))
    })
}
