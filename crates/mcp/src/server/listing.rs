//! The tools as clients are shown them.

use std::collections::HashMap;
use std::io;
use std::sync::{Arc, OnceLock};

use haft_contract::{Dialect, ToolSource};
use haft_engine::ToolEntry;
use rmcp::model::{JsonObject, RequestId, Tool, ToolAnnotations};
use serde::Serialize;
use serde_json::Value;

use super::backend::ToolBackend;
use super::paging::PAGE;
use crate::convert::{self, ResultShape};

/// The tools of a server at one version of them.
pub(super) struct ToolListing {
    pub(super) version: u64,
    entries: Vec<Arc<ToolEntry>>,
    dialect: Dialect,
    places: HashMap<String, usize>,
    /// As the SDK has them: each with its own copy of its schemas.
    tools: OnceLock<Vec<Tool>>,
}

impl ToolListing {
    pub(super) fn new(version: u64, backend: &dyn ToolBackend) -> Self {
        let (entries, dialect) = (backend.tools(), backend.dialect());
        let places = entries.iter().enumerate().map(|(place, entry)| (entry.definition().name_in(dialect).to_owned(), place)).collect();
        Self { version, entries, dialect, places, tools: OnceLock::new() }
    }

    /// All tools in the SDK's form.
    pub(super) fn tools(&self) -> &[Tool] {
        self.tools.get_or_init(|| self.entries.iter().map(|entry| convert::tool(entry.definition(), self.dialect)).collect())
    }

    /// One tool in the SDK's form.
    pub(super) fn get(&self, name: &str) -> Option<&Tool> {
        self.places.get(name).map(|place| &self.tools()[*place])
    }

    /// The form of the results of a tool.
    pub(super) fn shape(&self, name: &str) -> ResultShape {
        let entry = self.places.get(name).map(|place| &self.entries[*place]);
        match entry.filter(|entry| convert::output_schema(entry.definition()).is_some()).map(|entry| entry.source()) {
            Some(ToolSource::Mcp(_)) => ResultShape::Foreign,
            Some(_) => ResultShape::Structured,
            None => ResultShape::Plain,
        }
    }

    /// Whether all tools are one page.
    pub(super) fn is_one_page(&self) -> bool {
        self.entries.len() <= PAGE
    }

    /// Adds the answer to a request for all tools. Nothing of them is copied.
    pub(super) fn push_answer(&self, text: &mut Vec<u8>, id: &RequestId) -> io::Result<()> {
        let forms: Vec<_> = self.entries.iter().map(|entry| entry.definition().in_dialect(self.dialect)).collect();
        let none = Value::Object(JsonObject::new());
        let listed = self.entries.iter().zip(&forms).map(|(entry, form)| ListedTool {
            name: form.name,
            title: &entry.definition().label,
            description: form.description,
            input_schema: Some(&*form.parameters).filter(|schema| schema.is_object()).unwrap_or(&none),
            output_schema: convert::output_schema(entry.definition()),
            annotations: convert::annotations(entry.definition()),
        });
        text.extend_from_slice(b"{\"jsonrpc\":\"2.0\",\"id\":");
        serde_json::to_writer(&mut *text, id)?;
        text.extend_from_slice(b",\"result\":{\"tools\":");
        serde_json::to_writer(&mut *text, &listed.collect::<Vec<_>>())?;
        text.extend_from_slice(b"}}");
        Ok(())
    }
}

/// A tool without copies of what is said of it.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct ListedTool<'a> {
    name: &'a str,
    title: &'a str,
    description: &'a str,
    input_schema: &'a Value,
    #[serde(skip_serializing_if = "Option::is_none")]
    output_schema: Option<&'a Value>,
    annotations: ToolAnnotations,
}
