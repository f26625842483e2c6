//! Prices of models: the user's, then the built-in ones.

use haft_agent::{Price, Prices};

use super::Settings;

/// Every price that is known.
pub(crate) fn prices(settings: &Settings) -> Prices {
    let mut prices = Prices::shipped();
    for name in settings.provenance.names_beneath(&["prices"]) {
        let at = |key: &str| settings.provenance.value_at(&["prices", &name, key]).as_money();
        // The configuration refuses incomplete prices.
        if let (Some(input), Some(output)) = (at("input"), at("output")) {
            prices.set(name.as_str(), Price::new(input, output).with_cache(at("cached"), at("cache_writes")));
        }
    }
    prices
}
