//! The tool that is decided on.

use std::borrow::Cow;

use haft_contract::{ToolDefinition, ToolSource};

use crate::name::folded;

/// A tool whose availability is decided.
#[derive(Debug, Clone)]
pub struct Candidate<'a> {
    /// What is known of it.
    pub definition: &'a ToolDefinition,
    /// Where it came from.
    pub source: &'a ToolSource,
    /// Its names, aliases and the names of its forms in their folded spelling, the canonical one first.
    pub names: Cow<'a, [String]>,
    /// Whether it is switched off for everyone.
    pub switched_off: bool,
}

impl<'a> Candidate<'a> {
    /// A tool whose names were not folded before.
    pub fn new(definition: &'a ToolDefinition, source: &'a ToolSource) -> Self {
        Self { definition, source, names: Cow::Owned(names(definition)), switched_off: false }
    }
    /// The canonical name.
    pub fn name(&self) -> &'a str {
        &self.definition.name
    }
    /// Whether it comes with Haft.
    pub fn is_core(&self) -> bool {
        *self.source == ToolSource::BuiltIn
    }
}

/// Every name of a tool in its folded spelling: the canonical one, the aliases, and what dialects call it, each once.
pub fn names(definition: &ToolDefinition) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for name in definition.names().into_iter().map(folded) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names
}
