//! Providers of models for the page: where each key comes from, never the key, and a request that tries one.

use haft_text::display;
use serde_json::{Value, json};

use super::backend::ServeBackend;
use crate::commands::models::{sentence, works};
use crate::failure::Failure;
use crate::wire::Wire;
use crate::wire::models::{self, KeySource, ListedProvider, ModelStatus};

/// Every provider. Those of a tenant are the operator's, and so is what they are made of.
pub(super) fn list(wire: &Wire) -> Value {
    if crate::tenants::current().is_some() {
        return json!([]);
    }
    models::providers(&wire.settings).iter().map(to_json).collect()
}

fn to_json(provider: &ListedProvider) -> Value {
    let (key, is_usable) = match &provider.key {
        Ok(KeySource::None) => ("needs no key".to_owned(), true),
        Ok(KeySource::Variable(name)) => {
            let is_set = provider.key.as_ref().is_ok_and(KeySource::is_set);
            (format!("variable {name}, {}", if is_set { "set" } else { "not set" }), is_set)
        }
        // Its arguments may hold a secret.
        Ok(command) => (format!("output of the command {}", command.program().unwrap_or_default()), true),
        Err(why) => (why.clone(), false),
    };
    let source = provider.source.as_ref();
    json!({
        "name": provider.name, "key": display::escape_line(&key), "usable": is_usable,
        "file": source.and_then(|source| Some(source.file.as_ref()?.to_string_lossy())), "line": source.and_then(|source| source.line),
    })
}

/// Asks a provider once.
pub(super) async fn test(backend: &ServeBackend, name: &str) -> Result<Value, Failure> {
    if crate::tenants::current().is_some() {
        return Err(Failure::usage("a tenant cannot try providers").help("the operator can, with `haft models --check`"));
    }
    let wire = backend.wire_of(None)?;
    if !models::providers(&wire.settings).iter().any(|known| known.name == name) {
        let message = format!("there is no provider '{}'", display::escape_line(name));
        return Err(Failure::failed("not_found", message).help("GET /api/connections lists the providers"));
    }
    let trial = models::try_provider(&wire.settings, name).await?;
    let text = match &trial.status {
        ModelStatus::Ok => format!("answers and lists {}", haft_text::numbers::count(trial.models, "model")),
        status => sentence(status),
    };
    let is_working = works(&trial.status);
    let was_asked = !matches!(trial.status, ModelStatus::NoKey(_) | ModelStatus::Misconfigured(_));
    Ok(json!({
        "provider": name, "ok": is_working, "latency_ms": was_asked.then(|| haft_tui::time::milliseconds(trial.latency)),
        "text": display::escape_line(&text), "help": help(&trial.status, name),
    }))
}

/// What to do about it.
fn help(status: &ModelStatus, name: &str) -> Option<String> {
    match status {
        ModelStatus::NoKey(None) => Some(format!(
            "Set the variable and start the server again, or name another with api_key_env or api_key_command in [providers.{name}]."
        )),
        ModelStatus::NoKey(Some(_)) => Some("Run the command yourself: its first line has to be the key.".to_owned()),
        ModelStatus::WrongKey(_) => {
            Some("Make a new key at the provider, put it where this one comes from, and start the server again.".to_owned())
        }
        ModelStatus::Unreachable(_) => Some(format!("Check the network, [network] and base_url in [providers.{name}].")),
        ModelStatus::Failed(_) => Some("Try again later; the provider's status page may say more.".to_owned()),
        ModelStatus::Misconfigured(_) => Some(format!("Correct [providers.{name}]; `haft config check` says where.")),
        _ => None,
    }
}
