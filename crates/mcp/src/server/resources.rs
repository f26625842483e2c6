//! Resources: what a client may read besides results.

mod session;

use std::path::Path;

use haft_contract::{BoxFuture, EmbeddedDocument};
use rmcp::ErrorData;
use rmcp::model::{JsonObject, MetaObject, ReadResourceResult, Resource, ResourceTemplate};
use serde_json::{Value, json};

use super::backend::ClientAgent;
use crate::convert;

pub use self::session::SessionResources;

/// The key of the address of the next part, in `_meta`.
const NEXT: &str = "haft/next";

/// A resource in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceListing {
    /// Its address.
    pub uri: String,
    /// What to call it.
    pub name: String,
    /// What it is.
    pub description: String,
    /// The media type.
    pub mime: String,
    /// Its size in bytes, if it is known.
    pub size: Option<u64>,
}

/// Addresses of resources with a part that the client fills in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ResourceTemplateListing {
    /// The addresses, as an RFC 6570 template.
    pub uri_template: String,
    /// What to call them.
    pub name: String,
    /// What they are.
    pub description: String,
}

/// A part of a resource.
#[derive(Debug, Clone, PartialEq)]
pub struct ResourcePage {
    /// The part.
    pub document: EmbeddedDocument,
    /// The address of the next part, if there is more.
    pub next: Option<String>,
}

/// Why a resource cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum ResourceFault {
    /// The source has no such resource.
    Unknown,
    /// It may not or cannot be read.
    Refused(String),
}

/// Gives resources.
pub trait ResourceSource: Send + Sync {
    /// The resources that exist now.
    fn list(&self) -> Vec<ResourceListing>;
    /// Addresses that a client may fill in.
    fn templates(&self) -> Vec<ResourceTemplateListing> {
        Vec::new()
    }
    /// Reads a resource, bounded.
    fn read<'a>(&'a self, uri: &'a str) -> BoxFuture<'a, Result<ResourcePage, ResourceFault>>;
    /// A number for each address that differs once its resource has changed; `None` where the source has no such resource.
    fn versions(&self, uris: &[String]) -> Vec<Option<u64>> {
        vec![None; uris.len()]
    }
    /// The resource that a file of this path is, if it is one.
    fn of_path(&self, _path: &Path) -> Option<ResourceListing> {
        None
    }
}

/// Every resource of an agent.
pub(super) fn list(agent: &ClientAgent) -> Vec<Resource> {
    agent.resources.iter().flat_map(|source| source.list()).map(listed).collect()
}

pub(super) fn listed(listing: ResourceListing) -> Resource {
    let resource = Resource::new(listing.uri, listing.name).with_description(listing.description).with_mime_type(listing.mime);
    match listing.size {
        Some(size) => resource.with_size(size),
        None => resource,
    }
}

/// Every template of an agent.
pub(super) fn templates(agent: &ClientAgent) -> Vec<ResourceTemplate> {
    let templates = agent.resources.iter().flat_map(|source| source.templates());
    templates.map(|template| ResourceTemplate::new(template.uri_template, template.name).with_description(template.description)).collect()
}

/// Reads a resource of the first source that has it.
pub(super) async fn read(agent: &ClientAgent, uri: &str) -> Result<ReadResourceResult, ErrorData> {
    for source in &agent.resources {
        match source.read(uri).await {
            Ok(page) => return Ok(ReadResourceResult::new(vec![contents(page)])),
            Err(ResourceFault::Unknown) => {}
            Err(ResourceFault::Refused(why)) => return Err(ErrorData::invalid_params(why, Some(json!({ "uri": uri })))),
        }
    }
    Err(ErrorData::resource_not_found("There is no such resource: resources/list lists them.", Some(json!({ "uri": uri }))))
}

fn contents(page: ResourcePage) -> rmcp::model::ResourceContents {
    let contents = convert::contents(page.document);
    match page.next {
        Some(next) => contents.with_meta(MetaObject(JsonObject::from_iter([(NEXT.to_owned(), Value::from(next))]))),
        None => contents,
    }
}
