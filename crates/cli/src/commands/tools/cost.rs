//! `haft tools --cost`: what descriptions of tools take of every request.

use std::collections::BTreeMap;

use haft_agent::tool_tokens;
use haft_contract::ToolSource;
use serde_json::{Value, json};

use super::ListedTool;
use crate::failure::Failure;
use crate::output::{DIM, Output, STRONG, print};
use crate::table::{ColumnFit, Table, TableCell};

/// Prints the tokens of each tool that is offered, of each source, and of all.
pub(super) fn show(tools: &[ListedTool], output: &Output) -> Result<(), Failure> {
    let mut costs: Vec<(&str, String, usize)> = tools
        .iter()
        .filter(|tool| tool.is_offered())
        .map(|tool| (tool.entry.name(), source(tool.entry.source()), tool_tokens(&tool.entry, tool.dialect)))
        .collect();
    costs.sort_by(|one, other| other.2.cmp(&one.2).then(one.0.cmp(other.0)));
    let mut sources: BTreeMap<&str, usize> = BTreeMap::new();
    for (_, source, tokens) in &costs {
        *sources.entry(source).or_default() += tokens;
    }
    let total: usize = costs.iter().map(|(_, _, tokens)| tokens).sum();
    if output.json {
        let tools: Vec<Value> =
            costs.iter().map(|(name, source, tokens)| json!({ "tool": name, "source": source, "tokens": tokens })).collect();
        return output.data(&json!({ "tools": tools, "sources": sources, "tokens": total }));
    }
    let mut table = Table::new(&[("TOOL", ColumnFit::Keep), ("TOKENS", ColumnFit::Keep), ("FROM", ColumnFit::Drop(1))]);
    for (name, source, tokens) in &costs {
        table.row(vec![TableCell::new(name), TableCell::new(&tokens.to_string()), TableCell::styled(source, DIM)]);
    }
    for (source, tokens) in &sources {
        table.row(vec![TableCell::styled(&format!("all of {source}"), STRONG), TableCell::new(&tokens.to_string()), TableCell::new("")]);
    }
    table.row(vec![TableCell::styled("all", STRONG), TableCell::new(&total.to_string()), TableCell::new("")]);
    print(&table.render(output.width))
}

fn source(source: &ToolSource) -> String {
    match source {
        ToolSource::Mcp(name) => format!("mcp {name}"),
        ToolSource::Plugin(name) => format!("plugin {name}"),
        _ => "haft".to_owned(),
    }
}
