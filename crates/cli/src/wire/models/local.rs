//! Model servers on this machine.

use std::time::Duration;

use haft_provider::{Endpoint, Model, ModelClient, Options, Protocol};

/// Default addresses.
const LOCAL: &[(&str, &str)] = &[("ollama", "127.0.0.1:11434"), ("lmstudio", "127.0.0.1:1234"), ("llama.cpp", "127.0.0.1:8080")];
/// Other addresses, separated by commas; empty means none.
pub(crate) const LOCAL_VARIABLE: &str = "HAFT_LOCAL_MODELS";
const MOST_SERVERS: usize = 16;
/// Timeout of a server on this machine.
const WAIT: Duration = Duration::from_millis(500);

/// The address of a model server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct LocalServer {
    pub(super) name: String,
    pub(super) address: String,
}

/// A server that answers, and its models.
#[derive(Debug)]
pub(super) struct LocalModels {
    pub(super) server: LocalServer,
    pub(super) models: Vec<String>,
}

impl LocalServer {
    /// Plain HTTP, without a key.
    pub(super) fn endpoint(&self) -> Endpoint {
        let mut endpoint = Endpoint::new(format!("http://{}/v1", self.address));
        endpoint.allow_plain = true;
        endpoint
    }

    async fn models(self) -> Option<LocalModels> {
        let mut endpoint = self.endpoint();
        (endpoint.timeouts.connect, endpoint.timeouts.first_byte) = (WAIT, WAIT);
        let model = Model::new(self.name.as_str(), Protocol::OpenAi, "");
        let client = ModelClient::new(Options::default());
        let models = tokio::time::timeout(WAIT, client.models(&endpoint, &model)).await.ok()?.ok()?;
        Some(LocalModels { server: self, models })
    }
}

/// The servers to ask, in this order.
pub(super) fn servers() -> Vec<LocalServer> {
    match std::env::var(LOCAL_VARIABLE) {
        Ok(addresses) => parse_addresses(&addresses),
        Err(_) => default_servers(),
    }
}

/// The server of this name, also one that is not asked.
pub(super) fn server(name: &str) -> Option<LocalServer> {
    servers().into_iter().chain(default_servers()).find(|server| server.name == name)
}

fn default_servers() -> Vec<LocalServer> {
    LOCAL.iter().map(|(name, address)| LocalServer { name: (*name).to_owned(), address: (*address).to_owned() }).collect()
}

/// Names the addresses `local`, `local2` and so on.
fn parse_addresses(addresses: &str) -> Vec<LocalServer> {
    let name = |index: usize| if index == 0 { "local".to_owned() } else { format!("local{}", index + 1) };
    let addresses = addresses.split(',').map(str::trim).filter(|address| !address.is_empty()).take(MOST_SERVERS);
    addresses.enumerate().map(|(index, address)| LocalServer { name: name(index), address: address.to_owned() }).collect()
}

/// Servers that answer with a list of models, asked in parallel.
pub(super) async fn find() -> Vec<LocalModels> {
    let asked: Vec<_> = servers().into_iter().map(|server| tokio::spawn(server.models())).collect();
    let mut servers = Vec::new();
    for server in asked {
        servers.extend(server.await.ok().flatten());
    }
    servers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_its_own_name() {
        let named = |name: &str, address: &str| LocalServer { name: name.into(), address: address.into() };
        assert_eq!(parse_addresses(" 127.0.0.1:1 ,, [::1]:2"), [named("local", "127.0.0.1:1"), named("local2", "[::1]:2")]);
        assert_eq!(parse_addresses(""), []);
    }
}
