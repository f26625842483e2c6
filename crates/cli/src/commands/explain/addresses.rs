//! The addresses behind the hosts that a call connects to, each evaluated.

use std::time::Duration;

use haft_contract::ports::{HttpClient, ResolvedAddress};
use haft_engine::Explanation;
use haft_policy::Verdict;
use serde_json::{Value, json};

/// A resolver that does not answer must not hold up the explanation.
const PATIENCE: Duration = Duration::from_secs(5);

/// Whether names may be looked up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookups {
    Allowed,
    Never,
}

/// What the hosts of a call resolve to now; none for a call that is denied anyway: its names may hold what must not leave the machine.
pub(super) async fn of_hosts(explanation: &Explanation, lookups: Lookups, http: &dyn HttpClient) -> HostAddresses {
    if lookups == Lookups::Never || explanation.verdict == Verdict::Deny {
        return HostAddresses(Vec::new());
    }
    let mut addresses = Vec::new();
    for (host, port) in hosts(explanation) {
        let found = look_up(http, &host, port).await;
        addresses.push((host, found));
    }
    HostAddresses(addresses)
}

/// The addresses of each host, or why they are not known.
pub(super) struct HostAddresses(Vec<(String, Result<Vec<ResolvedAddress>, String>)>);

/// Hosts and ports of the connections, each once.
fn hosts(explanation: &Explanation) -> Vec<(String, u16)> {
    let mut hosts = Vec::new();
    for effect in explanation.effects.as_array().into_iter().flatten().filter(|effect| effect["effect"] == "connect") {
        // Port 0 is no address of a network: an MCP server on this machine is meant.
        let port = effect["port"].as_u64().and_then(|port| u16::try_from(port).ok()).filter(|port| *port != 0);
        if let (Some(host), Some(port)) = (effect["host"].as_str(), port)
            && !hosts.contains(&(host.to_owned(), port))
        {
            hosts.push((host.to_owned(), port));
        }
    }
    hosts
}

async fn look_up(http: &dyn HttpClient, host: &str, port: u16) -> Result<Vec<ResolvedAddress>, String> {
    match tokio::time::timeout(PATIENCE, http.addresses(host, port)).await {
        Ok(Ok(found)) => Ok(found),
        Ok(Err(error)) => Err(error.message().to_owned()),
        Err(_) => Err(format!("no answer about {host} within {} s", PATIENCE.as_secs())),
    }
}

impl HostAddresses {
    /// A section of the explanation; nothing for a call without connections.
    pub(super) fn in_words(&self) -> String {
        let verdict = |found: &ResolvedAddress| format!("{}  {}", found.address, found.refused.as_deref().unwrap_or("may be connected to"));
        let mut lines = Vec::new();
        for (host, addresses) in &self.0 {
            match addresses {
                Ok(addresses) => lines.extend(addresses.iter().map(|found| format!("  {host}  {}\n", verdict(found)))),
                Err(why) => lines.push(format!("  {host}  {why}\n")),
            }
        }
        if lines.is_empty() { String::new() } else { format!("\nAddresses\n{}", lines.concat()) }
    }

    /// The explanation with its addresses.
    pub(super) fn to_json(&self, explanation: &Explanation) -> Value {
        let mut value = serde_json::to_value(explanation).unwrap_or_default();
        let address = |found: &ResolvedAddress| json!({"address": found.address.to_string(), "refused": found.refused});
        let entry = |(host, addresses): &(String, Result<Vec<ResolvedAddress>, String>)| match addresses {
            Ok(addresses) => json!({"host": host, "addresses": addresses.iter().map(address).collect::<Vec<_>>()}),
            Err(why) => json!({"host": host, "error": why}),
        };
        if !self.0.is_empty() {
            value["addresses"] = self.0.iter().map(entry).collect();
        }
        value
    }
}
