//! `[tool_settings.NAME]`: how single tools are run.

use std::time::Duration;

use haft_config::{ConfigValue, Provenance};
use haft_engine::{Registry, ToolSettings};

/// Sets what the configuration says about single tools.
pub(super) fn apply(settings: &Provenance, registry: &Registry) {
    for name in settings.names_beneath(&["tool_settings"]) {
        let value = |key| settings.value_at(&["tool_settings", &name, key]);
        let mut own = ToolSettings::new();
        own.timeout = value("timeout_seconds").as_count().map(Duration::from_secs);
        own.output_bytes = value("output_bytes").as_count().and_then(|bytes| usize::try_from(bytes).ok());
        own.access = if let ConfigValue::Access(access) = value("access") { Some(*access) } else { None };
        registry.set_settings(&name, own);
    }
}

/// How often the model is asked in one turn at most.
pub(crate) fn max_rounds(settings: &Provenance) -> Option<u32> {
    settings.value("max_rounds").as_count().and_then(|rounds| u32::try_from(rounds).ok())
}
