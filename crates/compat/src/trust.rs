//! What a call plans when its tool cannot say.

use haft_contract::{Access, Effect, Hints, Plan, ToolDefinition};

/// Whether the embedding program vouches that a tool touches nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Trust {
    /// Nobody knows what a call will do.
    Unknown,
    /// The embedding program says that a call touches nothing.
    TouchesNothing,
}

impl Trust {
    /// What a call plans. `adapter` and `original` say to the person who is asked where the tool comes from.
    pub(crate) fn plan(self, adapter: &str, original: &str) -> Plan {
        match self {
            Self::TouchesNothing => Plan::nothing(),
            Self::Unknown => {
                let why = format!("'{original}' was adapted from the {adapter} trait, which cannot say beforehand what a call will do");
                Plan::nothing().with(Effect::Unknown { why })
            }
        }
    }

    /// Writes into a definition what its calls will need: a tool is offered only where a call of it can be allowed.
    pub(crate) fn declare(self, definition: &mut ToolDefinition) {
        let (access, hints) = match self {
            Self::TouchesNothing => (Access::ReadOnly, Hints { read_only: true, ..Hints::default() }),
            Self::Unknown => (Access::FullAccess, Hints { destructive: true, open_world: true, ..Hints::default() }),
        };
        definition.access = access;
        definition.hints = hints;
    }
}
