//! Builds the configured hooks.

use std::path::Path;
use std::sync::Arc;

use haft_config::Provenance;
use haft_engine::{CommandHook, CommandHookSpec, Hook};
use haft_jobs::LocalProcesses;
use haft_policy::StandardPolicy;

use crate::failure::Failure;

/// Every configured hook; each runs in the folder of the call.
pub(super) fn hooks(settings: &Provenance, policy: &StandardPolicy, folder: &Path) -> Result<Vec<Arc<dyn Hook>>, Failure> {
    if settings.hooks().is_empty() {
        return Ok(Vec::new());
    }
    let groups: Vec<(String, Vec<String>)> =
        settings.groups().map(|(name, members)| (name.to_owned(), members.iter().map(|member| member.value.clone()).collect())).collect();
    let runner = Arc::new(LocalProcesses::default());
    let hook = |hook: &haft_config::HookSettings| -> Result<Arc<dyn Hook>, Failure> {
        let made = CommandHook::new(spec(hook, folder), Arc::clone(&runner) as _, policy.vocabulary(), &groups);
        Ok(Arc::new(made.map_err(|why| Failure::config(format!("{}: {why}", hook.source)))?))
    };
    settings.hooks().iter().map(hook).collect()
}

fn spec(hook: &haft_config::HookSettings, folder: &Path) -> CommandHookSpec {
    CommandHookSpec {
        name: hook.name.clone().unwrap_or_else(|| hook.command.clone()),
        event: hook.event,
        matches: hook.matches.iter().map(|entry| entry.value.clone()).collect(),
        command: hook.command.clone(),
        timeout: hook.timeout,
        on_failure: hook.on_failure,
        priority: hook.priority,
        directory: folder.to_owned(),
    }
}
