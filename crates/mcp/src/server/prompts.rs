//! Prompts: instructions that a client offers its user. Skills are prompts.

use std::collections::BTreeMap;
use std::sync::Arc;

use haft_contract::ports::SkillLibrary;
use haft_contract::{BoxFuture, Content};
use rmcp::ErrorData;
use rmcp::model::{GetPromptResult, JsonObject, Prompt, PromptArgument, PromptMessage, Role};
use serde_json::Value;

use super::backend::ClientAgent;
use crate::convert;

/// A prompt in a listing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptListing {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What the user fills in.
    pub parameters: Vec<PromptParameter>,
}

/// A parameter of a prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptParameter {
    /// Its name.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// Whether the prompt needs it.
    pub required: bool,
}

/// Why there is no prompt.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum PromptFault {
    /// The source has no prompt of this name.
    Unknown,
    /// It may not or cannot be read.
    Refused(String),
}

/// Gives prompts.
pub trait PromptSource: Send + Sync {
    /// Every prompt.
    fn list(&self) -> Vec<PromptListing>;
    /// A number that changes with the list. It is asked for every few seconds, and may read the disk.
    fn version(&self) -> u64 {
        0
    }
    /// The text of a prompt with these arguments.
    fn get<'a>(&'a self, name: &'a str, arguments: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Vec<Content>, PromptFault>>;
}

/// The argument of a skill: what to do with it.
const TASK: &str = "task";

/// Skills as prompts.
pub struct SkillPrompts(pub Arc<dyn SkillLibrary>);

haft_contract::opaque_debug!(SkillPrompts);

impl PromptSource for SkillPrompts {
    fn list(&self) -> Vec<PromptListing> {
        let task = || PromptParameter { name: TASK.to_owned(), description: "What to do with the skill".to_owned(), required: false };
        let skills = self.0.list().into_iter();
        skills.map(|skill| PromptListing { name: skill.name, description: skill.description, parameters: vec![task()] }).collect()
    }

    fn get<'a>(&'a self, name: &'a str, arguments: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Vec<Content>, PromptFault>> {
        Box::pin(async move {
            if !self.0.list().iter().any(|skill| skill.name == name) {
                return Err(PromptFault::Unknown);
            }
            let refused = |error: haft_contract::ToolError| PromptFault::Refused(error.message().to_owned());
            let location = self.0.locate(name, None).map_err(refused)?;
            let skill = self.0.read(name, None, &location).await.map_err(refused)?;
            let task = arguments.get(TASK).filter(|task| !task.trim().is_empty());
            Ok(std::iter::once(skill.text).chain(task.cloned()).map(Content::Text).collect())
        })
    }
}

/// Every prompt of an agent.
pub(super) fn list(agent: &ClientAgent) -> Vec<Prompt> {
    agent.prompts.iter().flat_map(|source| source.list()).map(listed).collect()
}

fn listed(listing: PromptListing) -> Prompt {
    let parameters = listing
        .parameters
        .into_iter()
        .map(|parameter| PromptArgument::new(parameter.name).with_description(parameter.description).with_required(parameter.required));
    Prompt::new(listing.name, Some(listing.description), Some(parameters.collect()))
}

/// The prompt of the first source that has it.
pub(super) async fn get(agent: &ClientAgent, name: &str, arguments: Option<JsonObject>) -> Result<GetPromptResult, ErrorData> {
    let arguments = texts(arguments.unwrap_or_default())?;
    for source in &agent.prompts {
        match source.get(name, &arguments).await {
            Ok(content) => {
                let blocks = content.into_iter().filter_map(convert::block);
                return Ok(GetPromptResult::new(blocks.map(|block| PromptMessage::new(Role::User, block)).collect()));
            }
            Err(PromptFault::Unknown) => {}
            Err(PromptFault::Refused(why)) => return Err(ErrorData::invalid_params(why, None)),
        }
    }
    Err(ErrorData::invalid_params("There is no such prompt: prompts/list lists them.", None))
}

fn texts(arguments: JsonObject) -> Result<BTreeMap<String, String>, ErrorData> {
    let text = |(name, value): (String, Value)| match value {
        Value::String(value) => Ok((name, value)),
        _ => Err(ErrorData::invalid_params(format!("The argument '{}' is not a text.", haft_text::display::escape_line(&name)), None)),
    };
    arguments.into_iter().map(text).collect()
}
