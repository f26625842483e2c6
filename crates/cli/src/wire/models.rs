//! Which model answers: the one that was named, or else one whose key is set, one on this machine, or the demo model.

use std::sync::Arc;
use std::time::Duration;

use haft_agent::{DemoModel, HttpProvider, Provider};
use haft_config::{Provenance, Value};
use haft_provider::{Client, Endpoint, Key, Model, Options, Protocol};
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::Settings;
use crate::failure::Failure;

/// A provider that everyone knows.
struct Known {
    name: &'static str,
    protocol: Protocol,
    base_url: &'static str,
    key: &'static str,
    /// The model to begin with, when only the key says which provider is meant.
    usual: Option<&'static str>,
}

const KNOWN: &[Known] = &[
    Known {
        name: "anthropic",
        protocol: Protocol::Anthropic,
        base_url: "https://api.anthropic.com/v1",
        key: "ANTHROPIC_API_KEY",
        usual: Some("claude-sonnet-4-5"),
    },
    Known {
        name: "openai",
        protocol: Protocol::OpenAiResponses,
        base_url: "https://api.openai.com/v1",
        key: "OPENAI_API_KEY",
        usual: Some("gpt-5.1"),
    },
    Known {
        name: "gemini",
        protocol: Protocol::Gemini,
        base_url: "https://generativelanguage.googleapis.com/v1beta",
        key: "GEMINI_API_KEY",
        usual: Some("gemini-2.5-pro"),
    },
];

/// Servers that people run on their own machine, by the addresses that they use unless told otherwise.
const LOCAL: &[(&str, &str)] = &[("ollama", "127.0.0.1:11434"), ("lmstudio", "127.0.0.1:1234"), ("llama.cpp", "127.0.0.1:8080")];
/// Where to look for them instead: addresses with commas between; empty means nowhere.
pub(super) const LOCAL_VARIABLE: &str = "HAFT_LOCAL_MODELS";
/// A server on this machine answers at once, or is not there.
const LOCAL_WAIT: Duration = Duration::from_millis(300);
/// A list of models is short.
const LOCAL_BYTES: u64 = 256 * 1024;

/// The name of the demo model, for those who want it although there is another.
const DEMO: &str = "demo";

/// The model that answers for an agent, unless the command line names another.
pub(crate) async fn provider(settings: &Settings, named: Option<&str>) -> Result<Arc<dyn Provider>, Failure> {
    let configured =
        text_at(&settings.provenance, &["agents", &settings.agent, "model"]).or_else(|| text_at(&settings.provenance, &["model"]));
    if let Some(name) = named.or(configured) {
        return by_name(settings, name);
    }
    if let Some(known) = KNOWN.iter().find(|known| variable(known.key).is_some()) {
        return by_name(settings, &format!("{}/{}", known.name, known.usual.unwrap_or_default()));
    }
    match local().await {
        Some(model) => Ok(Arc::new(model)),
        None => Ok(Arc::new(DemoModel::default())),
    }
}

fn by_name(settings: &Settings, name: &str) -> Result<Arc<dyn Provider>, Failure> {
    if name == DEMO {
        return Ok(Arc::new(DemoModel::default()));
    }
    let Some((provider, model)) = name.split_once('/').filter(|(provider, model)| !provider.is_empty() && !model.is_empty()) else {
        return Err(
            Failure::usage(format!("'{name}' is not a model")).help("write it as provider/model, such as anthropic/claude-sonnet-4-5")
        );
    };
    let (protocol, endpoint) = endpoint(settings, provider)?;
    let client = Client::new(Options::from_env(variable).map_err(|error| Failure::config(error.message))?);
    Ok(Arc::new(HttpProvider::new(Model::new(provider, protocol, model), endpoint, client)))
}

/// Where a provider is, and how it is spoken to: the person's own table before what everyone knows.
fn endpoint(settings: &Settings, name: &str) -> Result<(Protocol, Endpoint), Failure> {
    let known = KNOWN.iter().find(|known| known.name == name);
    let at = |key: &str| text_at(&settings.provenance, &["providers", name, key]);
    let configured = settings.provenance.names_beneath(&["providers"]);
    if known.is_none() && !configured.iter().any(|provider| provider == name) {
        let names: Vec<&str> = KNOWN.iter().map(|known| known.name).chain(configured.iter().map(String::as_str)).collect();
        let failure = Failure::usage(format!("there is no provider '{name}'"));
        return Err(failure.help(format!("there are {}; others are named in [providers.{name}]", names.join(", "))));
    }
    let protocol = match at("protocol") {
        Some(protocol) => protocol.parse().map_err(Failure::config)?,
        None => known.map_or(Protocol::OpenAi, |known| known.protocol),
    };
    let base_url = at("base_url").or(known.map(|known| known.base_url)).ok_or_else(|| {
        Failure::config(format!("the provider '{name}' has no address")).help(format!("set base_url in [providers.{name}]"))
    })?;
    let mut endpoint = Endpoint::new(base_url);
    // A server without a named key needs none; one that has a name must have a value.
    if let Some(key) = at("api_key_env").or(known.map(|known| known.key)) {
        endpoint.key = Some(Key::from_env(key, variable).map_err(|error| Failure::config(error.message))?);
    }
    Ok((protocol, endpoint))
}

fn text_at<'a>(settings: &'a Provenance, path: &[&str]) -> Option<&'a str> {
    match &settings.get_at(path)?.value {
        Value::Text(text) => Some(text),
        Value::Choice(word) => Some(word),
        _ => None,
    }
}

fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.trim().is_empty())
}

/// The first model of a server on this machine.
async fn local() -> Option<HttpProvider> {
    let own = std::env::var(LOCAL_VARIABLE).ok();
    let servers: Vec<(&str, &str)> = match &own {
        Some(addresses) => {
            addresses.split(',').filter(|address| !address.trim().is_empty()).map(|address| ("local", address.trim())).collect()
        }
        None => LOCAL.to_vec(),
    };
    for (name, address) in servers {
        if let Ok(Some(model)) = tokio::time::timeout(LOCAL_WAIT, first_model(address)).await {
            let endpoint = Endpoint::new(format!("http://{address}/v1"));
            let client = Client::new(Options::default());
            return Some(HttpProvider::new(Model::new(name, Protocol::OpenAi, model), endpoint, client));
        }
    }
    None
}

/// What `GET /v1/models` names first. Anything else than such a list is not a model server.
async fn first_model(address: &str) -> Option<String> {
    let mut connection = tokio::net::TcpStream::connect(address).await.ok()?;
    let request = format!("GET /v1/models HTTP/1.0\r\nHost: {address}\r\nAccept: application/json\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await.ok()?;
    let mut answer = Vec::new();
    connection.take(LOCAL_BYTES).read_to_end(&mut answer).await.ok()?;
    let text = String::from_utf8(answer).ok()?;
    let (head, body) = text.split_once("\r\n\r\n")?;
    let list: serde_json::Value = serde_json::from_str(body).ok().filter(|_| head.split(' ').nth(1) == Some("200"))?;
    list["data"].as_array()?.first()?["id"].as_str().map(str::to_owned)
}
