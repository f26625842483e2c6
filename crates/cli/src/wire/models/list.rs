//! Lists models that are configured or found, and whether their providers answer.

use std::collections::HashMap;
use std::time::Duration;

use haft_agent::Price;
use haft_provider::{Model, ProviderError, ProviderErrorKind};
use tokio::task::JoinHandle;

use super::setup::{ProviderSetup, own_providers, text_at};
use super::{DEMO, KNOWN, ModelName, Settings, configured_or_keyed, local_models, local_or_demo, model, parts, prices};

/// Timeout of a provider.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether a model can be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ModelStatus {
    /// Its provider lists it.
    Ok,
    /// The demo model.
    BuiltIn,
    /// Its provider answers and does not list it.
    NotListed,
    /// Its provider answers and has no list of models.
    NoList,
    /// The provider was not asked.
    NotAsked,
    /// The variable of the key is not set, or its command failed for this reason.
    NoKey(Option<String>),
    /// The provider rejects the key.
    WrongKey(Option<u16>),
    /// The provider cannot be reached.
    Unreachable(String),
    /// The provider answers with another error.
    Failed(String),
    /// The configuration of the provider is invalid.
    Misconfigured(String),
}

/// A model in the list.
#[derive(Debug)]
pub(crate) struct ListedModel {
    /// As `provider/model`.
    pub(crate) name: String,
    /// Absent for the demo model, or an invalid configuration.
    pub(crate) remote: Option<(ProviderSetup, Model)>,
    pub(crate) price: Option<Price>,
    pub(crate) status: ModelStatus,
    /// Why it is the default model; `None` for all others.
    pub(crate) active: Option<String>,
}

/// Every model. Only providers on this machine are asked, unless `ask_all`.
pub(crate) async fn list(settings: &Settings, ask_all: bool) -> Vec<ListedModel> {
    let servers = local_models(settings).await;
    let chosen = configured_or_keyed(settings).unwrap_or_else(|| local_or_demo(&servers));
    let mut names = names(settings, &chosen);
    let local = servers.iter().flat_map(|local| local.models.iter().map(|model| format!("{}/{model}", local.server.name)));
    local.chain([DEMO.to_owned()]).for_each(|name| push(&mut names, name));
    let prices = prices(settings);
    let mut listed: Vec<ListedModel> = names.into_iter().map(|name| unasked(settings, name)).collect();
    for one in &mut listed {
        one.price = prices.find(&one.name).copied();
        one.active = (one.name == chosen.name).then(|| chosen.reason.clone());
    }
    let mut answers: HashMap<String, ProviderModels> = servers.into_iter().map(|local| (local.server.name, Ok(local.models))).collect();
    ask(&listed, ask_all, &mut answers).await;
    for one in &mut listed {
        set_status(one, &answers);
    }
    listed
}

/// The names of all models that are known without asking a server.
pub(crate) fn names_without_asking(settings: &Settings) -> Vec<String> {
    let chosen = configured_or_keyed(settings).unwrap_or_else(|| local_or_demo(&[]));
    let mut names = names(settings, &chosen);
    push(&mut names, DEMO.to_owned());
    names
}

/// Configured models, and default models of providers with a key; each once.
fn names(settings: &Settings, chosen: &ModelName) -> Vec<String> {
    let provenance = &settings.provenance;
    let mut names = vec![chosen.name.clone()];
    let agents = provenance.names_beneath(&["agents"]);
    let of_agents = agents.iter().filter_map(|agent| text_at(provenance, &["agents", agent, "model"]));
    text_at(provenance, &["model"]).into_iter().chain(of_agents).for_each(|name| push(&mut names, name.to_owned()));
    for provider in own_providers(provenance) {
        for model in provenance.value_at(&["providers", &provider, "models"]).entries() {
            push(&mut names, format!("{provider}/{}", model.value));
        }
    }
    let with_key = KNOWN.iter().filter(|known| ProviderSetup::new(settings, known.name).is_ok_and(|setup| setup.key.is_set()));
    with_key.for_each(|known| push(&mut names, format!("{}/{}", known.name, known.default_model)));
    names
}

fn push(names: &mut Vec<String>, name: String) {
    if !names.contains(&name) {
        names.push(name);
    }
}

fn unasked(settings: &Settings, name: String) -> ListedModel {
    let set_up = parts(&name).and_then(|(provider, name)| {
        let setup = ProviderSetup::new(settings, provider)?;
        let model = model(settings, &setup, name);
        Ok((setup, model))
    });
    let (remote, status) = match set_up {
        _ if name == DEMO => (None, ModelStatus::BuiltIn),
        Ok(remote) => (Some(remote), ModelStatus::NotAsked),
        Err(failure) => (None, ModelStatus::Misconfigured(failure.message.clone())),
    };
    ListedModel { name, remote, price: None, status, active: None }
}

/// The models of a provider, or the status of all of them.
pub(super) type ProviderModels = Result<Vec<String>, ModelStatus>;

/// Asks each provider once, all in parallel.
async fn ask(listed: &[ListedModel], ask_all: bool, answers: &mut HashMap<String, ProviderModels>) {
    let mut asked: HashMap<&str, JoinHandle<ProviderModels>> = HashMap::new();
    for (setup, model) in listed.iter().filter_map(|one| one.remote.as_ref()) {
        let may = ask_all || setup.is_local() && setup.key.program().is_none();
        if may && !answers.contains_key(&setup.name) && !asked.contains_key(setup.name.as_str()) {
            asked.insert(&setup.name, tokio::spawn(models_of(setup.clone(), model.clone())));
        }
    }
    for (provider, answer) in asked {
        let answer = answer.await.unwrap_or_else(|error| Err(ModelStatus::Failed(error.to_string())));
        answers.insert(provider.to_owned(), answer);
    }
}

pub(super) async fn models_of(setup: ProviderSetup, model: Model) -> ProviderModels {
    if !setup.key.is_set() {
        return Err(ModelStatus::NoKey(None));
    }
    let client = setup.client().map_err(|failure| ModelStatus::Misconfigured(failure.message.clone()))?;
    let mut endpoint = setup.endpoint().await.map_err(|failure| ModelStatus::NoKey(Some(failure.message.clone())))?;
    let timeouts = &mut endpoint.timeouts;
    (timeouts.connect, timeouts.first_byte, timeouts.idle, timeouts.total) = (PATIENCE, PATIENCE, PATIENCE, PATIENCE);
    client.models(&endpoint, &model).await.map_err(|error| error_status(&error))
}

fn error_status(error: &ProviderError) -> ModelStatus {
    let sentence = error.message.split_once(". ").map_or(error.message.as_str(), |(first, _)| first).trim_end_matches('.').to_owned();
    match (error.kind, error.status) {
        (ProviderErrorKind::Key, status) => ModelStatus::WrongKey(status),
        (ProviderErrorKind::NotFound, Some(404)) => ModelStatus::NoList,
        (ProviderErrorKind::Network | ProviderErrorKind::Timeout, None) => ModelStatus::Unreachable(sentence),
        (ProviderErrorKind::BadRequest, None) => ModelStatus::Misconfigured(sentence),
        _ => ModelStatus::Failed(sentence),
    }
}

fn set_status(one: &mut ListedModel, answers: &HashMap<String, ProviderModels>) {
    let Some((setup, model)) = &one.remote else { return };
    one.status = match answers.get(&setup.name) {
        Some(Ok(models)) if models.iter().any(|listed| is_same(listed, &model.name)) => ModelStatus::Ok,
        Some(Ok(_)) => ModelStatus::NotListed,
        Some(Err(status)) => status.clone(),
        None if !setup.key.is_set() => ModelStatus::NoKey(None),
        None => ModelStatus::NotAsked,
    };
}

/// Whether a listed name is this model with a date or a tag.
fn is_same(listed: &str, name: &str) -> bool {
    let Some(rest) = listed.strip_prefix(name.trim_end_matches("-latest")) else { return false };
    let digits = rest.bytes().filter(u8::is_ascii_digit).count();
    let is_date = rest.starts_with('-') && digits == 8 && rest.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    rest.is_empty() || is_date || rest.starts_with(':')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn model_name_matches_with_date_or_tag() {
        for (listed, name, same) in [
            ("qwen3", "qwen3", true),
            ("qwen3:latest", "qwen3", true),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4-5", true),
            ("gpt-5-2025-08-07", "gpt-5", true),
            ("claude-3-5-haiku-20241022", "claude-3-5-haiku-latest", true),
            ("gpt-5-mini", "gpt-5", false),
            ("claude-sonnet-4-5-20250929", "claude-sonnet-4", false),
            ("qwen", "qwen3", false),
        ] {
            assert_eq!(is_same(listed, name), same, "{listed} and {name}");
        }
    }
}
