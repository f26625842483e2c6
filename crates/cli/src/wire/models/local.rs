//! Model servers that people run on their own machine.

use std::time::Duration;

use haft_provider::{Client, Endpoint, Model, Options, Protocol};

/// By the addresses that they use unless told otherwise.
const LOCAL: &[(&str, &str)] = &[("ollama", "127.0.0.1:11434"), ("lmstudio", "127.0.0.1:1234"), ("llama.cpp", "127.0.0.1:8080")];
/// Where to look for them instead: addresses with commas between; empty means nowhere.
pub(crate) const LOCAL_VARIABLE: &str = "HAFT_LOCAL_MODELS";
/// More are hardly meant.
const MOST_SERVERS: usize = 16;
/// A server on this machine answers at once, or is not there.
const WAIT: Duration = Duration::from_millis(500);

/// A server that may be there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Server {
    pub(super) name: String,
    pub(super) address: String,
}

/// A server that is there, and its models.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) server: Server,
    pub(super) models: Vec<String>,
}

impl Server {
    /// Nothing secret goes there, and whoever names another address wants it so.
    pub(super) fn endpoint(&self) -> Endpoint {
        let mut endpoint = Endpoint::new(format!("http://{}/v1", self.address));
        endpoint.allow_plain = true;
        endpoint
    }

    async fn find(self) -> Option<Found> {
        let mut endpoint = self.endpoint();
        (endpoint.timeouts.connect, endpoint.timeouts.first_byte) = (WAIT, WAIT);
        let model = Model::new(self.name.as_str(), Protocol::OpenAi, "");
        let asked = Client::new(Options::default());
        let models = tokio::time::timeout(WAIT, asked.models(&endpoint, &model)).await.ok()?.ok()?;
        Some(Found { server: self, models })
    }
}

/// The servers to look for, in this order.
pub(super) fn servers() -> Vec<Server> {
    match std::env::var(LOCAL_VARIABLE) {
        Ok(addresses) => own(&addresses),
        Err(_) => usual(),
    }
}

/// The server of this name, also one that is not looked for.
pub(super) fn server(name: &str) -> Option<Server> {
    servers().into_iter().chain(usual()).find(|server| server.name == name)
}

fn usual() -> Vec<Server> {
    LOCAL.iter().map(|(name, address)| Server { name: (*name).to_owned(), address: (*address).to_owned() }).collect()
}

/// `local`, `local2` and so on: a name must lead to one address.
fn own(addresses: &str) -> Vec<Server> {
    let name = |place: usize| if place == 0 { "local".to_owned() } else { format!("local{}", place + 1) };
    let addresses = addresses.split(',').map(str::trim).filter(|address| !address.is_empty()).take(MOST_SERVERS);
    addresses.enumerate().map(|(place, address)| Server { name: name(place), address: address.to_owned() }).collect()
}

/// Those that answer with a list of models, asked all at once.
pub(super) async fn found() -> Vec<Found> {
    let asked: Vec<_> = servers().into_iter().map(|server| tokio::spawn(server.find())).collect();
    let mut found = Vec::new();
    for server in asked {
        found.extend(server.await.ok().flatten());
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_address_has_a_name_of_its_own() {
        let named = |name: &str, address: &str| Server { name: name.into(), address: address.into() };
        assert_eq!(own(" 127.0.0.1:1 ,, [::1]:2"), [named("local", "127.0.0.1:1"), named("local2", "[::1]:2")]);
        assert_eq!(own(""), []);
    }
}
