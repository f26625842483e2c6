//! What models cost: the person's own prices before those that are shipped.

use haft_agent::{Price, Prices};
use haft_config::Value;

use super::Settings;

/// Every price that is known.
pub(crate) fn prices(settings: &Settings) -> Prices {
    let mut prices = Prices::shipped();
    for name in settings.provenance.names_beneath(&["prices"]) {
        let at = |key: &str| match settings.provenance.get_at(&["prices", &name, key])?.value {
            Value::Money(micros) => Some(micros),
            _ => None,
        };
        // The configuration refuses half a price; of a project's table nothing is left.
        if let (Some(input), Some(output)) = (at("input"), at("output")) {
            prices.set(name.as_str(), Price::new(input, output).with_cache(at("cached"), at("cache_writes")));
        }
    }
    prices
}
