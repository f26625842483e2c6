//! Builds the configured hooks.

use std::path::Path;
use std::sync::Arc;

use haft_contract::Access;
use haft_engine::{CommandHook, CommandHookSpec, Hook, WithheldHook};
use haft_jobs::LocalProcesses;
use haft_policy::StandardPolicy;

use super::{Settings, TrustedFolders};
use crate::failure::Failure;

/// Every configured hook; each runs in the folder of the call. One that the user has not trusted says so instead.
pub(super) fn hooks(settings: &Settings, policy: &StandardPolicy, folder: &Path) -> Result<Vec<Arc<dyn Hook>>, Failure> {
    let (configured, withheld) = (settings.provenance.hooks(), &settings.withheld_hooks);
    if configured.is_empty() && withheld.is_empty() {
        return Ok(Vec::new());
    }
    let groups = settings.tool_groups();
    let further = settings.config.workspace.roots.iter().filter(|root| root.access == Access::WorkspaceWrite);
    let roots =
        [folder, settings.workspace.as_path()].into_iter().chain(further.map(|root| root.path.as_path())).map(Path::to_owned).collect();
    let runner = Arc::new(LocalProcesses::default().with_roots(roots));
    let hook = |hook: &haft_config::HookSettings| -> Result<Arc<dyn Hook>, Failure> {
        let made = CommandHook::new(spec(hook, folder), Arc::clone(&runner) as _, policy.vocabulary(), &groups);
        Ok(Arc::new(made.map_err(|why| Failure::config(format!("{}: {why}", hook.source)))?))
    };
    let why = why_withheld(settings);
    let silent = |hook: &haft_config::HookSettings| -> Result<Arc<dyn Hook>, Failure> {
        let made = WithheldHook::new(spec(hook, folder), why, policy.vocabulary(), &groups);
        Ok(Arc::new(made.map_err(|why| Failure::config(format!("{}: {why}", hook.source)))?))
    };
    configured.iter().map(hook).chain(withheld.iter().map(silent)).collect()
}

fn why_withheld(settings: &Settings) -> &'static str {
    let was_trusted = TrustedFolders::read(&settings.data_folder).is_ok_and(|trusted| trusted.knows(&settings.workspace));
    if was_trusted {
        "it did not run, because it changed since you trusted this folder; see `haft trust --show`, and run `haft trust` if you want it"
    } else {
        "it did not run, because you have not trusted this folder; see `haft trust --show`, and run `haft trust` if you want it"
    }
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
