//! Chooses the model: the named one, or else a configured one, one whose key is set, one on this machine, or the demo model.

mod embeddings;
mod key;
mod limits;
mod list;
mod local;
mod prices;
mod providers;
mod setup;
pub(crate) mod speech;
pub(crate) mod vision;

use std::sync::Arc;

use haft_agent::{DemoModel, HttpProvider, Provider};
use haft_contract::ThinkingLevel;
use haft_provider::Model;
use haft_provider::known::KNOWN;

pub(crate) use self::embeddings::ProviderEmbedder;
pub(crate) use self::key::{KeySource, words as command_words};
use self::limits::model;
pub(crate) use self::list::{ListedModel, ModelStatus, list, names_without_asking};
pub(super) use self::local::LOCAL_VARIABLE;
use self::local::LocalModels;
pub(crate) use self::prices::prices;
pub(crate) use self::providers::{ListedProvider, providers, try_provider};
use self::setup::{ProviderSetup, own_providers, text_at};
use super::Settings;
use crate::failure::Failure;

/// The name of the demo model.
const DEMO: &str = "demo";

/// The model that answers, and why.
pub(crate) struct ChosenModel {
    pub(crate) provider: Arc<dyn Provider>,
    /// A clause: `ANTHROPIC_API_KEY is set`.
    pub(crate) reason: String,
}

/// The name of a chosen model, and why.
struct ModelName {
    name: String,
    reason: String,
}

/// The model that answers, or the named one.
pub(crate) async fn provider(settings: &Settings, named: Option<&str>) -> Result<Arc<dyn Provider>, Failure> {
    Ok(choose(settings, named).await?.provider)
}

/// The same, with the reason.
pub(crate) async fn choose(settings: &Settings, named: Option<&str>) -> Result<ChosenModel, Failure> {
    let ModelName { name, reason } = match named.map(by_flag).or_else(|| configured_or_keyed(settings)) {
        Some(choice) => choice,
        None => local_or_demo(&local_models(settings).await),
    };
    Ok(ChosenModel { provider: by_name(settings, &name).await?, reason })
}

/// Whether the configuration names a model.
pub(crate) fn is_configured(settings: &Settings) -> bool {
    configured(settings).is_some()
}

fn by_flag(name: &str) -> ModelName {
    ModelName { name: name.to_owned(), reason: "--model names it".to_owned() }
}

/// A model that the configuration or an environment variable selects.
fn configured_or_keyed(settings: &Settings) -> Option<ModelName> {
    configured(settings).or_else(|| first_of_own(settings)).or_else(|| first_with_key(settings))
}

/// Models of servers on this machine, without servers whose name is configured for another address.
async fn local_models(settings: &Settings) -> Vec<LocalModels> {
    let is_same = |local: &LocalModels| ProviderSetup::new(settings, &local.server.name).is_ok_and(|setup| setup.is_at(&local.server));
    local::find().await.into_iter().filter(is_same).collect()
}

/// The first model on this machine, or the demo model.
fn local_or_demo(servers: &[LocalModels]) -> ModelName {
    let first = servers.iter().find_map(|LocalModels { server, models }| Some((server, models.first()?)));
    match first {
        Some((server, model)) => {
            ModelName { name: format!("{}/{model}", server.name), reason: format!("a model server answers at {}", server.address) }
        }
        None => ModelName {
            name: DEMO.to_owned(),
            reason: "no model is configured, no key is set, and no model server answers on this machine".to_owned(),
        },
    }
}

/// The model of the agent's table, or else of the configuration.
fn configured(settings: &Settings) -> Option<ModelName> {
    let agent = ["agents", settings.agent.as_str(), "model"];
    [&agent[..], &["model"]].into_iter().find_map(|path| {
        let name = text_at(&settings.provenance, path)?;
        let source = &settings.provenance.get_at(path)?.source;
        Some(ModelName { name: name.to_owned(), reason: format!("{} names it ({source})", path.join(".")) })
    })
}

/// The first model of a configured provider with a key.
fn first_of_own(settings: &Settings) -> Option<ModelName> {
    own_providers(&settings.provenance).into_iter().find_map(|provider| {
        let model = settings.provenance.value_at(&["providers", &provider, "models"]).entries().first()?;
        let usable = ProviderSetup::new(settings, &provider).is_ok_and(|setup| setup.key.is_set());
        let reason = format!("it is the first of providers.{provider}.models");
        usable.then(|| ModelName { name: format!("{provider}/{}", model.value), reason })
    })
}

fn first_with_key(settings: &Settings) -> Option<ModelName> {
    KNOWN.iter().find_map(|known| {
        let reason = match ProviderSetup::new(settings, known.name).ok().filter(|setup| setup.key.is_set())?.key {
            KeySource::Variable(variable) => format!("{variable} is set"),
            KeySource::Command(_) | KeySource::None => format!("providers.{}.api_key_command gives its key", known.name),
        };
        Some(ModelName { name: format!("{}/{}", known.name, known.default_model), reason })
    })
}

async fn by_name(settings: &Settings, name: &str) -> Result<Arc<dyn Provider>, Failure> {
    with_thinking(settings, name, None).await
}

/// The named model, which thinks so much before it answers.
pub(crate) async fn thinking_provider(settings: &Settings, name: &str, level: ThinkingLevel) -> Result<Arc<dyn Provider>, Failure> {
    with_thinking(settings, name, Some(level)).await
}

async fn with_thinking(settings: &Settings, name: &str, thinking: Option<ThinkingLevel>) -> Result<Arc<dyn Provider>, Failure> {
    // The demo model has rules, and no thoughts.
    if name == DEMO || name.starts_with("demo/") {
        return Ok(Arc::new(DemoModel::default()));
    }
    let (provider, name) = parts(name)?;
    let setup = ProviderSetup::new(settings, provider)?;
    let mut model = model(settings, &setup, name);
    model.thinking = thinking;
    Ok(Arc::new(HttpProvider::new(model, setup.endpoint().await?, setup.client()?)))
}

/// Refuses a model that the configuration does not have: a conversation that changes its model goes to no other provider than those
/// of the user's configuration, and where that lists models, to one of them.
pub(crate) async fn check_listed(settings: &Settings, name: &str) -> Result<(), Failure> {
    if name == DEMO {
        return Ok(());
    }
    let (provider, model) = parts(name)?;
    let is_default = || async { choose(settings, None).await.is_ok_and(|chosen| chosen.provider.model().provider == provider) };
    if !own_providers(&settings.provenance).iter().any(|known| known == provider) && !is_default().await {
        return Err(Failure::usage(format!("the provider '{provider}' is not in the configuration, so no conversation changes to it"))
            .help(format!("ask the user to add [providers.{provider}], or to choose the model")));
    }
    let value = settings.provenance.value_at(&["providers", provider, "models"]);
    let listed: Vec<String> = value.entries().iter().map(|entry| entry.value.clone()).collect();
    if listed.is_empty() || listed.iter().any(|known| known == model) {
        return Ok(());
    }
    Err(Failure::usage(format!("'{name}' is not among the models of the provider '{provider}'"))
        .help(format!("providers.{provider}.models has: {}", listed.join(", "))))
}

/// A model of a provider, to see what its form of a tool is.
pub(crate) fn example(settings: &Settings, provider: &str) -> Result<Model, Failure> {
    let setup = ProviderSetup::new(settings, provider)?;
    let name = KNOWN.iter().find(|known| known.name == provider).map_or("model", |known| known.default_model);
    Ok(model(settings, &setup, name))
}

/// Checks the form of a model name, and its provider.
pub(crate) fn check_name(settings: &Settings, name: &str) -> Result<(), Failure> {
    if name == DEMO { Ok(()) } else { parts(name).and_then(|(provider, _)| ProviderSetup::new(settings, provider)).map(drop) }
}

/// Splits `provider/model`.
fn parts(name: &str) -> Result<(&str, &str), Failure> {
    name.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty()).ok_or_else(|| {
        Failure::usage(format!("'{name}' is not a model")).help("write it as provider/model, such as anthropic/claude-sonnet-4-5")
    })
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
