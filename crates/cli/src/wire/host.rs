//! The machine that tools reach, as configured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_browser::{BrowserService, BrowserSettings};
use haft_contract::ports::Services;
use haft_contract::{Access, SandboxDemand};
use haft_host::{
    GuardedClient, HostParts, HttpOptions, LocalFiles, LocalHost, NetworkRules, SystemResolver, UpstreamProxy, WorkspaceOptions,
};
use haft_jobs::{LocalProcesses, ShellOptions};

use super::command_rules::CommandRules;
use super::retention::RECORDINGS;
use super::shell::{self, Calls};
use super::{JobSettings, Wire, settings, web};
use crate::failure::Failure;

/// The agent that a machine is for.
#[derive(Debug, Clone)]
pub(super) struct HostOwner<'a> {
    /// The agent, and those that started it: what restricts them restricts it.
    pub(super) agents: Vec<&'a str>,
    /// Where its commands run.
    pub(super) sandbox: SandboxDemand,
    /// The folder that they start in; the workspace, if absent.
    pub(super) cwd: Option<PathBuf>,
}

impl<'a> From<&'a str> for HostOwner<'a> {
    /// An agent that the user started.
    fn from(agent: &'a str) -> Self {
        Self { agents: vec![agent], sandbox: SandboxDemand::Inherit, cwd: None }
    }
}

impl Wire {
    /// The machine for calls without a conversation.
    pub(super) fn host(
        &self,
        agent: &str,
        root: &Path,
        spills: Option<&Path>,
        jobs: impl FnOnce() -> JobSettings + Send + 'static,
        calls: Calls,
    ) -> Result<Arc<LocalHost>, Failure> {
        self.host_with(agent, root, spills, jobs, calls, self.base_services())
    }

    /// As [`Wire::host`], with these services.
    pub(super) fn host_with<'a>(
        &self,
        owner: impl Into<HostOwner<'a>>,
        root: &Path,
        spills: Option<&Path>,
        jobs: impl FnOnce() -> JobSettings + Send + 'static,
        calls: Calls,
        services: Services,
    ) -> Result<Arc<LocalHost>, Failure> {
        Ok(Arc::new(self.open_host(owner, root, spills, jobs, calls)?.with_services(services)))
    }

    /// Files are opened now; the HTTP client, commands and jobs on first use. It has no services yet.
    pub(super) fn open_host<'a>(
        &self,
        owner: impl Into<HostOwner<'a>>,
        root: &Path,
        spills: Option<&Path>,
        jobs: impl FnOnce() -> JobSettings + Send + 'static,
        calls: Calls,
    ) -> Result<LocalHost, Failure> {
        let HostOwner { agents, sandbox, cwd } = owner.into();
        let workspace = self.workspace_options(&agents, root, spills, calls)?;
        let data_folder = self.settings.data_folder.clone();
        let page_cache = data_folder.join("cache").join("web");
        let roots = [&workspace.root, &data_folder].into_iter().chain(&workspace.read_only_roots);
        let hidden = roots.chain(&workspace.writable_roots).cloned().collect();
        let (network, proxy) = (self.network_rules()?, self.upstream_proxy()?);
        let files = Arc::new(LocalFiles::open(workspace).map_err(|error| Failure::config(error.message()))?);
        let (alert_log, config, workspace_files) = (data_folder.join("alerts.log"), Arc::clone(&self.settings.config), Arc::clone(&files));
        let limits = CommandRules::new(&self.policy, &agents, files.root());
        let screens = self.served.as_ref().map(|served| Arc::clone(&served.browsers));
        let parts = move || {
            let options = HttpOptions { parallel_per_host: config.web.parallel_per_host, proxy, ..HttpOptions::default() };
            let http = Arc::new(GuardedClient::with(network, options, Arc::new(SystemResolver)));
            let recordings = (config.browser.record && calls == Calls::OfModel).then(|| data_folder.join(RECORDINGS));
            let browser = BrowserSettings { program: config.browser.program.clone(), scripts: config.browser.evaluate, recordings };
            let processes = match shell::options(&config, &data_folder, calls) {
                Ok(options) => {
                    let JobSettings { jobs, wait_for_exit } = jobs();
                    let options = limits.apply(shell::demanded(ShellOptions { jobs, wait_for_exit, start: cwd, ..options }, sandbox));
                    LocalProcesses::default().with_helpers(&options, hidden).with_shell(options, workspace_files, Arc::clone(&http))
                }
                Err(failure) => LocalProcesses::unavailable(failure.message.clone()),
            };
            let processes = Arc::new(processes);
            let browser = BrowserService::new(Arc::clone(&processes), browser).with_screens(screens);
            HostParts { http, processes, browser: Some(Arc::new(browser)) }
        };
        let web = web::settings(&self.settings.config.web, &|name| std::env::var(name).ok().filter(|value| !value.trim().is_empty()));
        Ok(LocalHost::with_parts(files, alert_log, parts).with_web(web, page_cache))
    }

    /// A machine of files alone, with one more folder that may be read.
    pub(super) fn reading_host(&self, folder: Option<&Path>) -> Result<Arc<LocalHost>, Failure> {
        let mut workspace = self.workspace_options(&[&self.settings.agent], &self.settings.workspace, None, Calls::OfUser)?;
        workspace.read_only_roots.extend(folder.filter(|folder| folder.parent().is_some()).map(Path::to_owned));
        let files = Arc::new(LocalFiles::open(workspace).map_err(|error| Failure::usage(error.message()))?);
        let parts = || HostParts {
            http: Arc::new(GuardedClient::with(NetworkRules::default(), HttpOptions::default(), Arc::new(SystemResolver))),
            processes: Arc::new(LocalProcesses::unavailable("a file is only read here".to_owned())),
            browser: None,
        };
        Ok(Arc::new(LocalHost::with_parts(files, self.settings.data_folder.join("alerts.log"), parts)))
    }

    pub(super) fn network_rules(&self) -> Result<NetworkRules, Failure> {
        let network = &self.settings.config.network;
        if network.allow.is_empty() && network.deny.is_empty() {
            return Ok(NetworkRules::default());
        }
        NetworkRules::parse(&network.allow, &network.deny).map_err(|error| Failure::config(error.to_string()))
    }

    pub(super) fn upstream_proxy(&self) -> Result<Option<UpstreamProxy>, Failure> {
        let network = &self.settings.config.network;
        let proxy = network.proxy.as_deref().map(|url| UpstreamProxy::parse(url, &network.no_proxy));
        proxy.transpose().map_err(Failure::config)
    }

    /// How commands run.
    pub(crate) fn shell(&self) -> Result<ShellOptions, Failure> {
        shell::options(&self.settings.config, &self.settings.data_folder, Calls::OfUser)
    }

    pub(super) fn workspace_options(
        &self,
        agents: &[&str],
        root: &Path,
        spills: Option<&Path>,
        calls: Calls,
    ) -> Result<WorkspaceOptions, Failure> {
        let workspace = &self.settings.config.workspace;
        // The workspace was resolved when the settings were read.
        let real = if *root == *self.settings.workspace { None } else { root.canonicalize().ok() };
        let real = real.unwrap_or_else(|| root.to_owned());
        let roots = |access| workspace.roots.iter().filter(move |root| root.access == access).map(|root| root.path.clone());
        Ok(WorkspaceOptions {
            root: root.to_owned(),
            read_only_roots: roots(Access::ReadOnly).chain(self.memory_folders()).chain(spills.map(Path::to_owned)).collect(),
            writable_roots: roots(Access::WorkspaceWrite).collect(),
            allow_secrets: workspace.allow_secrets,
            deny_read: workspace.deny_read.clone(),
            denied_by_rules: self.denied_reads(agents, &real)?,
            hidden: self.policy.hidden_reads(agents, &real),
            protected: self.protected_paths(calls),
        })
    }

    /// Haft's own files. An undo may restore the user's configuration: only the tool `config` changes it, and stores what was there.
    fn protected_paths(&self, calls: Calls) -> Vec<PathBuf> {
        let own_file = if calls == Calls::Undone { self.settings.own_file().ok() } else { None };
        let Some(own_file) = own_file else { return self.settings.own_paths() };
        let folder = own_file.parent().map(Path::to_owned);
        let others = self.settings.own_paths().into_iter().filter(|path| *path != own_file && Some(path) != folder.as_ref());
        others.collect()
    }

    /// Patterns of `rules.deny` that forbid reading, so that a search through a tree skips those files too.
    fn denied_reads(&self, agents: &[&str], root: &Path) -> Result<Vec<String>, Failure> {
        let checked = |pattern: String| match settings::glob(&pattern) {
            Ok(()) => Ok(pattern),
            Err(complaint) => {
                let message = format!("rules.deny has read({pattern}), which the file system cannot enforce: {}", complaint.message);
                Err(Failure::config(message).help("write another pattern in rules.deny, such as \"read(**/*.key)\""))
            }
        };
        self.policy.denied_reads(agents, root).into_iter().map(checked).collect()
    }
}
