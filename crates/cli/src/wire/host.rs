//! The machine that tools reach, as configured.

use std::path::Path;
use std::sync::Arc;

use haft_contract::Access;
use haft_host::{GuardedClient, HostParts, HttpOptions, LocalFiles, LocalHost, NetworkRules, SystemResolver, WorkspaceOptions};
use haft_jobs::{LocalProcesses, ShellOptions};

use super::command_rules::CommandRules;
use super::shell::{self, Calls};
use super::{JobSettings, Wire, settings, web};
use crate::failure::Failure;

impl Wire {
    /// Files are opened now; the HTTP client, commands and jobs on first use.
    pub(super) fn host(
        &self,
        root: &Path,
        spills: Option<&Path>,
        jobs: impl FnOnce() -> JobSettings + Send + 'static,
        calls: Calls,
    ) -> Result<Arc<LocalHost>, Failure> {
        let workspace = self.workspace_options(root, spills)?;
        let data_folder = self.settings.data_folder.clone();
        let page_cache = data_folder.join("cache").join("web");
        let roots = [&workspace.root, &data_folder].into_iter().chain(&workspace.read_only_roots);
        let hidden = roots.chain(&workspace.writable_roots).cloned().collect();
        let network = self.network_rules()?;
        let files = Arc::new(LocalFiles::open(workspace).map_err(|error| Failure::config(error.message()))?);
        let (alert_log, config, workspace_files) = (data_folder.join("alerts.log"), Arc::clone(&self.settings.config), Arc::clone(&files));
        let limits = CommandRules::new(&self.policy, files.root());
        let parts = move || {
            let options = HttpOptions { parallel_per_host: config.web.parallel_per_host, ..HttpOptions::default() };
            let http = Arc::new(GuardedClient::with(network, options, Arc::new(SystemResolver)));
            let processes = match shell::options(&config, &data_folder, calls) {
                Ok(options) => {
                    let JobSettings { jobs, wait_for_exit } = jobs();
                    let options = limits.apply(ShellOptions { jobs, wait_for_exit, ..options });
                    LocalProcesses::default().with_helpers(&options, hidden).with_shell(options, workspace_files, Arc::clone(&http))
                }
                Err(failure) => LocalProcesses::unavailable(failure.message.clone()),
            };
            HostParts { http, processes: Arc::new(processes) }
        };
        let web = web::settings(&self.settings.config.web, &|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()));
        Ok(Arc::new(LocalHost::with_parts(files, alert_log, parts).with_web(web, page_cache)))
    }

    fn network_rules(&self) -> Result<NetworkRules, Failure> {
        let network = &self.settings.config.network;
        if network.allow.is_empty() && network.deny.is_empty() {
            return Ok(NetworkRules::default());
        }
        NetworkRules::parse(&network.allow, &network.deny).map_err(|error| Failure::config(error.to_string()))
    }

    /// How commands run.
    pub(crate) fn shell(&self) -> Result<ShellOptions, Failure> {
        shell::options(&self.settings.config, &self.settings.data_folder, Calls::OfUser)
    }

    fn workspace_options(&self, root: &Path, spills: Option<&Path>) -> Result<WorkspaceOptions, Failure> {
        let workspace = &self.settings.config.workspace;
        let roots = |access| workspace.roots.iter().filter(move |root| root.access == access).map(|root| root.path.clone());
        Ok(WorkspaceOptions {
            root: root.to_owned(),
            read_only_roots: roots(Access::ReadOnly).chain(spills.map(Path::to_owned)).collect(),
            writable_roots: roots(Access::WorkspaceWrite).collect(),
            allow_secrets: workspace.allow_secrets,
            deny_read: workspace.deny_read.iter().cloned().chain(self.denied_reads()?).collect(),
            hidden: self.policy.hidden_reads(&root.canonicalize().unwrap_or_else(|_| root.to_owned())),
            protected: self.settings.own_paths(),
        })
    }

    /// Patterns of `rules.deny` that forbid reading, so that a search through a tree skips those files too.
    fn denied_reads(&self) -> Result<Vec<String>, Failure> {
        let checked = |pattern: String| match settings::glob(&pattern) {
            Ok(()) => Ok(pattern),
            Err(complaint) => {
                let message = format!("rules.deny has read({pattern}), which the file system cannot enforce: {}", complaint.message);
                Err(Failure::config(message).help("write another pattern in rules.deny, such as \"read(**/*.key)\""))
            }
        };
        self.policy.denied_reads().into_iter().map(checked).collect()
    }
}
