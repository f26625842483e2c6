//! Providers with the source of each key, and a request that tries one.

use std::time::{Duration, Instant};

use haft_config::SettingSource;
use haft_provider::known::KNOWN;

use super::key::KeySource;
use super::list::{ModelStatus, models_of};
use super::setup::{ProviderSetup, own_providers};
use super::{Settings, configured_or_keyed, example, parts};
use crate::failure::Failure;

/// A provider that is configured, or whose key is set.
#[derive(Debug)]
pub(crate) struct ListedProvider {
    pub(crate) name: String,
    /// Where its key comes from, or what is wrong with its table.
    pub(crate) key: Result<KeySource, String>,
    /// Where the configuration says so; `None` for the variable that is known for this provider.
    pub(crate) source: Option<SettingSource>,
}

/// The answer of a provider to one request.
#[derive(Debug)]
pub(crate) struct ProviderTrial {
    pub(crate) status: ModelStatus,
    /// How many models it lists.
    pub(crate) models: usize,
    pub(crate) latency: Duration,
}

/// Providers of the configuration, and known ones with a key.
pub(crate) fn providers(settings: &Settings) -> Vec<ListedProvider> {
    let mut names = own_providers(&settings.provenance);
    let has_key = |name: &str| ProviderSetup::new(settings, name).is_ok_and(|setup| setup.key.is_set());
    let chosen = configured_or_keyed(settings).and_then(|model| Some(parts(&model.name).ok()?.0.to_owned()));
    let known = KNOWN.iter().map(|known| known.name).filter(|name| has_key(name)).map(str::to_owned);
    for name in chosen.into_iter().chain(known) {
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.into_iter().map(|name| list_provider(settings, name)).collect()
}

fn list_provider(settings: &Settings, name: String) -> ListedProvider {
    let key = ProviderSetup::new(settings, &name).map(|setup| setup.key).map_err(|failure| failure.message.clone());
    let source = ["api_key_env", "api_key_command"]
        .iter()
        .find_map(|key| settings.provenance.get_at(&["providers", &name, key]))
        .filter(|setting| setting.value.as_text().is_some())
        .map(|setting| setting.source.clone());
    ListedProvider { name, key, source }
}

/// Asks a provider for its list of models, the cheapest request that needs the key.
pub(crate) async fn try_provider(settings: &Settings, name: &str) -> Result<ProviderTrial, Failure> {
    let (setup, model) = (ProviderSetup::new(settings, name)?, example(settings, name)?);
    let began = Instant::now();
    let answer = models_of(setup, model).await;
    let latency = began.elapsed();
    let (status, models) = match answer {
        Ok(models) => (ModelStatus::Ok, models.len()),
        Err(status) => (status, 0),
    };
    Ok(ProviderTrial { status, models, latency })
}
