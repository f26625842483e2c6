//! `haft explain --resolve`: the addresses behind the hosts that a call connects to, each evaluated.

use std::time::Duration;

use haft_contract::Arguments;
use haft_contract::ports::{HttpClient, ResolvedAddress};
use haft_engine::Explanation;
use serde_json::{Value, json};

use super::in_words;
use crate::arguments::CallerArgs;
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::wire::Wire;

/// A resolver that does not answer must not hold up the explanation.
const PATIENCE: Duration = Duration::from_secs(5);

/// One call, and what its hosts resolve to now.
pub(super) async fn one(wire: &Wire, tool: &str, arguments: Option<Arguments>, who: &CallerArgs, output: &Output) -> Result<Exit, Failure> {
    let explainer = wire.explainer()?;
    let session = explainer.session(None, who)?;
    let explanation = explainer.engine.explain(tool, arguments, &session).await?;
    let mut found = Vec::new();
    for (host, port) in hosts(&explanation) {
        found.push((host.clone(), look_up(session.host().http(), &host, port).await));
    }
    let words = || format!("{}\n\nAddresses\n{}", in_words(&explanation, session.workspace(), output.width).trim_end(), lines(&found));
    output.show(|| to_json(&explanation, &found), words)
}

type Found = Result<Vec<ResolvedAddress>, String>;

/// Hosts and ports of the connections, each once.
fn hosts(explanation: &Explanation) -> Vec<(String, u16)> {
    let mut hosts = Vec::new();
    for effect in explanation.effects.as_array().into_iter().flatten().filter(|effect| effect["effect"] == "connect") {
        let port = effect["port"].as_u64().and_then(|port| u16::try_from(port).ok());
        if let (Some(host), Some(port)) = (effect["host"].as_str(), port)
            && !hosts.contains(&(host.to_owned(), port))
        {
            hosts.push((host.to_owned(), port));
        }
    }
    hosts
}

async fn look_up(http: &dyn HttpClient, host: &str, port: u16) -> Found {
    match tokio::time::timeout(PATIENCE, http.addresses(host, port)).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(error.message().to_owned()),
        Err(_) => Err(format!("no answer about {host} within {} s", PATIENCE.as_secs())),
    }
}

fn lines(found: &[(String, Found)]) -> String {
    let verdict = |found: &ResolvedAddress| format!("{}  {}", found.address, found.refused.as_deref().unwrap_or("may be connected to"));
    let mut lines = Vec::new();
    for (host, addresses) in found {
        match addresses {
            Ok(addresses) => lines.extend(addresses.iter().map(|found| format!("  {host}  {}\n", verdict(found)))),
            Err(why) => lines.push(format!("  {host}  {why}\n")),
        }
    }
    if lines.is_empty() { "  the call connects to none\n".to_owned() } else { lines.concat() }
}

fn to_json(explanation: &Explanation, found: &[(String, Found)]) -> Value {
    let mut value = serde_json::to_value(explanation).unwrap_or_default();
    let address = |found: &ResolvedAddress| json!({"address": found.address.to_string(), "refused": found.refused});
    value["addresses"] = found
        .iter()
        .map(|(host, addresses)| match addresses {
            Ok(addresses) => json!({"host": host, "addresses": addresses.iter().map(address).collect::<Vec<_>>()}),
            Err(why) => json!({"host": host, "error": why}),
        })
        .collect();
    value
}
