//! The setup of a provider: the user's table, then built-in values.

use std::time::Duration;

use haft_config::Provenance;
use haft_contract::Connect;
use haft_provider::known::{self, KNOWN};
use haft_provider::{Endpoint, ModelClient, Options, Protocol};

use super::key::KeySource;
use super::{Settings, local, variable};
use crate::failure::Failure;

/// Address, protocol and key source of a provider.
#[derive(Debug, Clone)]
pub(crate) struct ProviderSetup {
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    pub(crate) key: KeySource,
    endpoint: Endpoint,
    retries: Option<u32>,
}

impl ProviderSetup {
    /// The provider of this name.
    pub(super) fn new(settings: &Settings, name: &str) -> Result<Self, Failure> {
        Self::with_defaults(settings, name, None)
    }

    /// The same; without a table it has this address and this variable for its key.
    pub(super) fn with_defaults(settings: &Settings, name: &str, defaults: Option<(&str, &str)>) -> Result<Self, Failure> {
        let table = ProviderTable { settings: &settings.provenance, name };
        let (known, server) = (known::provider(name), local::server(name));
        let own = own_providers(&settings.provenance);
        if known.is_none() && server.is_none() && defaults.is_none() && !own.iter().any(|own| own == name) {
            return Err(unknown(name, &own));
        }
        let protocol = match table.text("protocol") {
            Some(protocol) => protocol.parse().map_err(Failure::config)?,
            None => known.map_or(Protocol::OpenAi, |known| known.protocol),
        };
        let base_url = table.text("base_url").or(known.map(|known| known.base_url)).or(defaults.map(|(address, _)| address));
        let endpoint = base_url.map(Endpoint::new).or_else(|| server.map(|server| server.endpoint()));
        let mut endpoint = endpoint.ok_or_else(|| {
            Failure::config(format!("the provider '{name}' has no address")).help(format!("set base_url in [providers.{name}]"))
        })?;
        table.apply_timeouts(&mut endpoint);
        endpoint.allow_plain |= settings.provenance.value_at(&["providers", name, "allow_plain_http"]).is_true();
        let retries = table.count("retries").and_then(|retries| u32::try_from(retries).ok());
        Ok(Self {
            name: name.to_owned(),
            protocol,
            key: table.key(known.map(|known| known.key).or(defaults.map(|(_, key)| key)))?,
            endpoint,
            retries,
        })
    }

    /// Where it is, for plans.
    pub(super) fn connect(&self) -> Result<Connect, Failure> {
        let (scheme, host, port) = self.endpoint.address().ok_or_else(|| {
            Failure::config(format!("the address of the provider '{}' cannot be used", self.name)).help("correct its base_url")
        })?;
        Ok(Connect::provider(scheme, host, port))
    }

    /// Whether it is on this machine.
    pub(super) fn is_local(&self) -> bool {
        self.endpoint.is_local()
    }

    /// Whether it is this server.
    pub(super) fn is_at(&self, server: &local::LocalServer) -> bool {
        self.endpoint.base_url.trim_end_matches('/') == server.endpoint().base_url
    }

    /// The endpoint with the key.
    pub(super) async fn endpoint(&self) -> Result<Endpoint, Failure> {
        let mut endpoint = self.endpoint.clone();
        endpoint.key = self.key.read(&self.name).await?;
        Ok(endpoint)
    }

    pub(super) fn client(&self) -> Result<ModelClient, Failure> {
        let mut options = Options::from_env(variable).map_err(|error| Failure::config(error.message))?;
        options.retries = self.retries.unwrap_or(options.retries);
        Ok(ModelClient::new(options))
    }
}

/// The user's table of a provider.
struct ProviderTable<'a> {
    settings: &'a Provenance,
    name: &'a str,
}

impl<'a> ProviderTable<'a> {
    fn text(&self, key: &str) -> Option<&'a str> {
        text_at(self.settings, &["providers", self.name, key])
    }

    fn count(&self, key: &str) -> Option<u64> {
        count_at(self.settings, &["providers", self.name, key])
    }

    /// A longer idle timeout also applies to the first byte.
    fn apply_timeouts(&self, endpoint: &mut Endpoint) {
        if let Some(idle) = self.count("idle_seconds").map(Duration::from_secs) {
            (endpoint.timeouts.idle, endpoint.timeouts.first_byte) = (idle, endpoint.timeouts.first_byte.max(idle));
        }
        if let Some(total) = self.count("total_seconds").map(Duration::from_secs) {
            endpoint.timeouts.total = total;
        }
    }

    /// Without a configured or known key, the provider needs none.
    fn key(&self, default: Option<&str>) -> Result<KeySource, Failure> {
        match (self.text("api_key_env"), self.text("api_key_command")) {
            (Some(_), Some(_)) => {
                let message = format!("the provider '{}' has both api_key_env and api_key_command", self.name);
                Err(Failure::config(message).help(format!("remove one of them from [providers.{}]", self.name)))
            }
            (None, Some(command)) => Ok(KeySource::Command(command.to_owned())),
            (name, None) => Ok(name.or(default).map_or(KeySource::None, |name| KeySource::Variable(name.to_owned()))),
        }
    }
}

/// Configured providers, in order of appearance.
pub(super) fn own_providers(settings: &Provenance) -> Vec<String> {
    let is_configured =
        |name: &String| settings.settings().iter().any(|setting| setting.path.starts_with(&["providers".to_owned(), name.clone()]));
    settings.names_beneath(&["providers"]).into_iter().filter(is_configured).collect()
}

fn unknown(name: &str, own: &[String]) -> Failure {
    let names: Vec<&str> = KNOWN.iter().map(|known| known.name).chain(own.iter().map(String::as_str)).collect();
    let help = format!("known providers: {}; configure others in [providers.{name}]", names.join(", "));
    Failure::usage(format!("there is no provider '{name}'")).help(help)
}

pub(super) fn text_at<'a>(settings: &'a Provenance, path: &[&str]) -> Option<&'a str> {
    settings.value_at(path).as_text()
}

pub(super) fn count_at(settings: &Provenance, path: &[&str]) -> Option<u64> {
    settings.value_at(path).as_count()
}
