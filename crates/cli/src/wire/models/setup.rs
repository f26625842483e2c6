//! A provider as it is set up: the person's own table before what everyone knows.

use std::time::Duration;

use haft_config::{Provenance, Value};
use haft_provider::{Client, Endpoint, Options, Protocol};

use super::key::KeySource;
use super::known::{KNOWN, known};
use super::{Settings, local, variable};
use crate::failure::Failure;

/// Where a provider is, how it is spoken to, and where its key comes from.
#[derive(Debug, Clone)]
pub(crate) struct Setup {
    pub(crate) name: String,
    pub(crate) protocol: Protocol,
    pub(crate) key: KeySource,
    endpoint: Endpoint,
    retries: Option<u32>,
}

impl Setup {
    /// The provider of this name.
    pub(super) fn of(settings: &Settings, name: &str) -> Result<Self, Failure> {
        let table = Table { settings: &settings.provenance, name };
        let (known, server) = (known(name), local::server(name));
        let own = own_providers(&settings.provenance);
        if known.is_none() && server.is_none() && !own.iter().any(|own| own == name) {
            return Err(unknown(name, &own));
        }
        let protocol = match table.text("protocol") {
            Some(protocol) => protocol.parse().map_err(Failure::config)?,
            None => known.map_or(Protocol::OpenAi, |known| known.protocol),
        };
        let base_url = table.text("base_url").or(known.map(|known| known.base_url));
        let endpoint = base_url.map(Endpoint::new).or_else(|| server.map(|server| server.endpoint()));
        let mut endpoint = endpoint.ok_or_else(|| {
            Failure::config(format!("the provider '{name}' has no address")).help(format!("set base_url in [providers.{name}]"))
        })?;
        table.times(&mut endpoint);
        let retries = table.count("retries").and_then(|retries| u32::try_from(retries).ok());
        Ok(Self { name: name.to_owned(), protocol, key: table.key(known.map(|known| known.key))?, endpoint, retries })
    }

    /// Whether it is on this machine.
    pub(super) fn is_local(&self) -> bool {
        self.endpoint.is_local()
    }

    /// Whether it is this server.
    pub(super) fn is_at(&self, server: &local::Server) -> bool {
        self.endpoint.base_url.trim_end_matches('/') == server.endpoint().base_url
    }

    /// Where to send requests, with the key.
    pub(super) async fn endpoint(&self) -> Result<Endpoint, Failure> {
        let mut endpoint = self.endpoint.clone();
        endpoint.key = self.key.read(&self.name).await?;
        Ok(endpoint)
    }

    /// What sends them.
    pub(super) fn client(&self) -> Result<Client, Failure> {
        let mut options = Options::from_env(variable).map_err(|error| Failure::config(error.message))?;
        options.retries = self.retries.unwrap_or(options.retries);
        Ok(Client::new(options))
    }
}

/// A provider's own table.
struct Table<'a> {
    settings: &'a Provenance,
    name: &'a str,
}

impl<'a> Table<'a> {
    fn text(&self, key: &str) -> Option<&'a str> {
        text_at(self.settings, &["providers", self.name, key])
    }

    fn count(&self, key: &str) -> Option<u64> {
        count_at(self.settings, &["providers", self.name, key])
    }

    /// Whoever may pause for long may also take as long to begin.
    fn times(&self, endpoint: &mut Endpoint) {
        if let Some(idle) = self.count("idle_seconds").map(Duration::from_secs) {
            (endpoint.timeouts.idle, endpoint.timeouts.first_byte) = (idle, endpoint.timeouts.first_byte.max(idle));
        }
        if let Some(total) = self.count("total_seconds").map(Duration::from_secs) {
            endpoint.timeouts.total = total;
        }
    }

    /// A server without a named key needs none.
    fn key(&self, usual: Option<&str>) -> Result<KeySource, Failure> {
        match (self.text("api_key_env"), self.text("api_key_command")) {
            (Some(_), Some(_)) => {
                let message = format!("the provider '{}' has both api_key_env and api_key_command", self.name);
                Err(Failure::config(message).help(format!("remove one of them from [providers.{}]", self.name)))
            }
            (None, Some(command)) => Ok(KeySource::Command(command.to_owned())),
            (name, None) => Ok(name.or(usual).map_or(KeySource::None, |name| KeySource::Variable(name.to_owned()))),
        }
    }
}

/// The providers of which the person's own layers say something, in order of appearance.
pub(super) fn own_providers(settings: &Provenance) -> Vec<String> {
    let says = |name: &String| settings.settings().iter().any(|setting| setting.path.starts_with(&["providers".to_owned(), name.clone()]));
    settings.names_beneath(&["providers"]).into_iter().filter(says).collect()
}

fn unknown(name: &str, own: &[String]) -> Failure {
    let names: Vec<&str> = KNOWN.iter().map(|known| known.name).chain(own.iter().map(String::as_str)).collect();
    let help = format!("there are {}; others are named in [providers.{name}]", names.join(", "));
    Failure::usage(format!("there is no provider '{name}'")).help(help)
}

pub(super) fn text_at<'a>(settings: &'a Provenance, path: &[&str]) -> Option<&'a str> {
    match &settings.get_at(path)?.value {
        Value::Text(text) => Some(text),
        Value::Choice(word) => Some(word),
        _ => None,
    }
}

pub(super) fn count_at(settings: &Provenance, path: &[&str]) -> Option<u64> {
    match settings.get_at(path)?.value {
        Value::Count(count) => Some(count),
        _ => None,
    }
}
