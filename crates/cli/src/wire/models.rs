//! Which model answers: the one that was named, or else one that is configured, one whose key is set, one on this machine, or
//! the demo model.

mod key;
mod known;
mod limits;
mod listed;
mod local;
mod prices;
mod setup;

use std::sync::Arc;

use haft_agent::{DemoModel, HttpProvider, Provider};

pub(crate) use self::key::KeySource;
use self::known::KNOWN;
use self::limits::model;
pub(crate) use self::listed::{Listed, Status, list};
use self::local::Found;
pub(super) use self::local::LOCAL_VARIABLE;
pub(crate) use self::prices::prices;
use self::setup::{Setup, own_providers, text_at};
use super::Settings;
use crate::failure::Failure;

/// The name of the demo model, for those who want it although there is another.
const DEMO: &str = "demo";

/// The model that answers, and why it is that one.
pub(crate) struct Chosen {
    pub(crate) provider: Arc<dyn Provider>,
    /// A clause: `ANTHROPIC_API_KEY is set`.
    pub(crate) reason: String,
}

/// The name of a model, and why it is that one.
struct Choice {
    name: String,
    reason: String,
}

/// The model that answers for an agent, unless the command line names another.
pub(crate) async fn provider(settings: &Settings, named: Option<&str>) -> Result<Arc<dyn Provider>, Failure> {
    Ok(chosen(settings, named).await?.provider)
}

/// The same, with the reason why it is that one.
pub(crate) async fn chosen(settings: &Settings, named: Option<&str>) -> Result<Chosen, Failure> {
    let Choice { name, reason } = match named.map(by_flag).or_else(|| written(settings)) {
        Some(choice) => choice,
        None => otherwise(&found(settings).await),
    };
    Ok(Chosen { provider: by_name(settings, &name).await?, reason })
}

/// Whether the person has written down which model is to answer.
pub(crate) fn is_configured(settings: &Settings) -> bool {
    configured(settings).is_some()
}

fn by_flag(name: &str) -> Choice {
    Choice { name: name.to_owned(), reason: "--model names it".to_owned() }
}

/// What somebody wrote down, into a file or the environment.
fn written(settings: &Settings) -> Option<Choice> {
    configured(settings).or_else(|| first_of_own(settings)).or_else(|| first_with_key(settings))
}

/// The servers on this machine. One whose name the person gave to another address cannot be meant by it.
async fn found(settings: &Settings) -> Vec<Found> {
    let is_meant = |found: &Found| Setup::of(settings, &found.server.name).is_ok_and(|setup| setup.is_at(&found.server));
    local::found().await.into_iter().filter(is_meant).collect()
}

/// The first model on this machine, or the one that is always there.
fn otherwise(found: &[Found]) -> Choice {
    let first = found.iter().find_map(|Found { server, models }| Some((server, models.first()?)));
    match first {
        Some((server, model)) => {
            Choice { name: format!("{}/{model}", server.name), reason: format!("a model server answers at {}", server.address) }
        }
        None => Choice {
            name: DEMO.to_owned(),
            reason: "no model is configured, no key is set, and no model server answers on this machine".to_owned(),
        },
    }
}

/// What the agent's own table names, or else what holds for all.
fn configured(settings: &Settings) -> Option<Choice> {
    let agent = ["agents", settings.agent.as_str(), "model"];
    [&agent[..], &["model"]].into_iter().find_map(|path| {
        let name = text_at(&settings.provenance, path)?;
        let source = &settings.provenance.get_at(path)?.source;
        Some(Choice { name: name.to_owned(), reason: format!("{} names it ({source})", path.join(".")) })
    })
}

/// Whoever lists the models of a provider means to use them.
fn first_of_own(settings: &Settings) -> Option<Choice> {
    own_providers(&settings.provenance).into_iter().find_map(|provider| {
        let model = settings.provenance.entries_at(&["providers", &provider, "models"]).first()?;
        let usable = Setup::of(settings, &provider).is_ok_and(|setup| setup.key.is_there());
        let reason = format!("it is the first of providers.{provider}.models");
        usable.then(|| Choice { name: format!("{provider}/{}", model.value), reason })
    })
}

fn first_with_key(settings: &Settings) -> Option<Choice> {
    KNOWN.iter().find_map(|known| {
        let reason = match Setup::of(settings, known.name).ok().filter(|setup| setup.key.is_there())?.key {
            KeySource::Variable(variable) => format!("{variable} is set"),
            KeySource::Command(_) | KeySource::None => format!("providers.{}.api_key_command gives its key", known.name),
        };
        Some(Choice { name: format!("{}/{}", known.name, known.usual), reason })
    })
}

async fn by_name(settings: &Settings, name: &str) -> Result<Arc<dyn Provider>, Failure> {
    if name == DEMO {
        return Ok(Arc::new(DemoModel::default()));
    }
    let (provider, name) = parts(name)?;
    let setup = Setup::of(settings, provider)?;
    let model = model(settings, &setup, name);
    Ok(Arc::new(HttpProvider::new(model, setup.endpoint().await?, setup.client()?)))
}

/// Whether there can be a model of this name: what is wrong with its form, or its provider.
pub(crate) fn fit(settings: &Settings, name: &str) -> Result<(), Failure> {
    if name == DEMO { Ok(()) } else { parts(name).and_then(|(provider, _)| Setup::of(settings, provider)).map(drop) }
}

/// The provider and the model of a name.
fn parts(name: &str) -> Result<(&str, &str), Failure> {
    name.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty()).ok_or_else(|| {
        Failure::usage(format!("'{name}' is not a model")).help("write it as provider/model, such as anthropic/claude-sonnet-4-5")
    })
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}
