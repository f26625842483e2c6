//! What a toolbox stands on: the machine, history, and what is kept of changes.

#[cfg(feature = "tools")]
use std::path::{Path, PathBuf};
use std::sync::Arc;

use haft_contract::ports::Host;
#[cfg(feature = "tools")]
use haft_engine::Registry;
use haft_store::{Blobs, CallLog, InMemoryBlobs, InMemoryCallLog};

use super::{ToolboxBuilder, ToolboxError};
use crate::CustomHost;

/// What a toolbox is made on.
pub(super) struct Ground {
    pub(super) host: Arc<dyn Host>,
    pub(super) log: Arc<dyn CallLog>,
    pub(super) blobs: Arc<dyn Blobs>,
    #[cfg(feature = "tools")]
    pub(super) has_commands: bool,
}

impl ToolboxBuilder {
    /// The machine of the program, with the parts that were replaced.
    fn override_parts(&mut self, base: CustomHost) -> Arc<dyn Host> {
        let mut host = base.services(self.services.clone());
        if let Some(files) = self.files.take() {
            host = host.files(files);
        }
        if let Some(http) = self.http.take() {
            host = host.http(http);
        }
        if let Some(clock) = self.clock.take() {
            host = host.clock(clock);
        }
        Arc::new(host)
    }

    /// A machine of what the program gave alone.
    fn bare_ground(&mut self) -> Ground {
        let base = self.host.take().map_or_else(CustomHost::new, CustomHost::over);
        Ground {
            host: self.override_parts(base),
            log: self.log.take().unwrap_or_else(|| Arc::new(InMemoryCallLog::default())),
            blobs: self.blobs.take().unwrap_or_else(|| Arc::new(InMemoryBlobs::default())),
            #[cfg(feature = "tools")]
            has_commands: false,
        }
    }

    #[cfg(not(feature = "tools"))]
    #[allow(clippy::unnecessary_wraps, reason = "with the built-in tools it can fail")]
    pub(super) fn ground(&mut self) -> Result<Ground, ToolboxError> {
        Ok(self.bare_ground())
    }

    #[cfg(feature = "tools")]
    pub(super) fn ground(&mut self) -> Result<Ground, ToolboxError> {
        let Some(workspace) = self.workspace.clone() else { return Ok(self.bare_ground()) };
        let state = self.open_state()?;
        let blobs = self.blobs.take().map_or_else(|| default_blobs(state.as_deref()), Ok)?;
        let (base, has_commands) = match self.host.take() {
            Some(host) => (host, false),
            None => self.local_host(&workspace, state.as_deref(), &*blobs)?,
        };
        let log = self.log.take().unwrap_or_else(|| Arc::new(InMemoryCallLog::default()));
        Ok(Ground { host: self.override_parts(CustomHost::over(base)), log, blobs, has_commands })
    }

    /// Opens the state folder, if there is one.
    #[cfg(all(feature = "tools", feature = "sqlite"))]
    fn open_state(&mut self) -> Result<Option<PathBuf>, ToolboxError> {
        let Some(state) = self.state.take() else { return Ok(None) };
        if self.log.is_none() {
            self.log = Some(Arc::new(haft_store::SqliteCallLog::open(&state)?.log));
        }
        Ok(Some(state))
    }
    #[cfg(all(feature = "tools", not(feature = "sqlite")))]
    #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "with a database it can fail")]
    fn open_state(&mut self) -> Result<Option<PathBuf>, ToolboxError> {
        Ok(None)
    }

    #[cfg(feature = "tools")]
    pub(super) fn add_built_in(&self, registry: &Registry, has_commands: bool) -> Result<(), ToolboxError> {
        if self.workspace.is_none() {
            return Ok(());
        }
        let provided = super::provided::Provided { services: &self.services, commands: has_commands };
        for tool in haft_builtin::all().into_iter().filter(|tool| provided.has(tool.definition())) {
            registry.register(tool, haft_contract::ToolSource::BuiltIn)?;
        }
        for tool in haft_builtin::for_services(&self.services) {
            registry.replace(tool, haft_contract::ToolSource::BuiltIn)?;
        }
        Ok(())
    }

    /// This machine, and whether commands run on it.
    #[cfg(feature = "tools")]
    fn local_host(&self, workspace: &Path, state: Option<&Path>, blobs: &dyn Blobs) -> Result<(Arc<dyn Host>, bool), ToolboxError> {
        use haft_contract::WebSettings;
        use haft_host::{GuardedClient, LocalFiles, LocalHost, NetworkRules, WorkspaceOptions};
        let files = LocalFiles::open(WorkspaceOptions {
            root: workspace.to_owned(),
            read_only_roots: Some(blobs.spill_folder()).filter(|_| state.is_some()).into_iter().map(Path::to_owned).collect(),
            protected: state.into_iter().map(Path::to_owned).collect(),
            ..WorkspaceOptions::default()
        });
        let files = Arc::new(files.map_err(ToolboxError::Workspace)?);
        let rules = NetworkRules::parse(&self.network.0, &self.network.1);
        let rules = rules.map_err(|error| {
            ToolboxError::Setting(format!("{error}. Write another host in `ToolboxBuilder::allow_hosts` or `ToolboxBuilder::deny_hosts`."))
        })?;
        let http = Arc::new(GuardedClient::new(rules));
        let (processes, has_commands) = self.processes(state, &files, &http)?;
        let alerts = state.map_or_else(|| std::env::temp_dir().join("haft-alerts.log"), |state| state.join("alerts.log"));
        let host = LocalHost::new(files, http, processes, alerts);
        let host = match state {
            Some(state) => host.with_web(WebSettings::default(), state.join("cache").join("web")),
            None => host,
        };
        Ok((Arc::new(host), has_commands))
    }

    #[cfg(all(feature = "tools", not(feature = "exec")))]
    #[allow(clippy::unnecessary_wraps, clippy::unused_self, reason = "with commands it can fail")]
    fn processes(
        &self,
        _state: Option<&Path>,
        _files: &Arc<haft_host::LocalFiles>,
        _http: &Arc<haft_host::GuardedClient>,
    ) -> Result<(Arc<dyn haft_contract::ports::ProcessRunner>, bool), ToolboxError> {
        Ok((Arc::new(crate::custom_host::NoMachine), false))
    }

    #[cfg(feature = "exec")]
    fn processes(
        &self,
        state: Option<&Path>,
        files: &Arc<haft_host::LocalFiles>,
        http: &Arc<haft_host::GuardedClient>,
    ) -> Result<(Arc<dyn haft_contract::ports::ProcessRunner>, bool), ToolboxError> {
        use haft_jobs::{LocalProcesses, ShellOptions};
        let wanted = self.commands.unwrap_or_else(|| crate::commands::is_started() && state.is_some());
        let Some(state) = state.filter(|_| wanted) else {
            if wanted {
                let why = "Commands need a folder for what they leave: call `ToolboxBuilder::state`, or `ToolboxBuilder::commands(false)`.";
                return Err(ToolboxError::Setting(why.into()));
            }
            return Ok((Arc::new(LocalProcesses::default()), false));
        };
        if !crate::commands::is_started() {
            let why = "Commands run in a sandbox that this program starts itself: make `haft::start();` the first line of `main`, \
                       before any runtime, or call `ToolboxBuilder::commands(false)`.";
            return Err(ToolboxError::Setting(why.into()));
        }
        let launcher = haft_sandbox::Launcher::current().map_err(|error| ToolboxError::Setting(error.to_string()))?;
        let options = ShellOptions::new(launcher, state);
        let hidden = vec![state.to_owned()];
        let processes = LocalProcesses::default().with_helpers(&options, hidden);
        Ok((Arc::new(processes.with_shell(options, Arc::clone(files), Arc::clone(http))), true))
    }
}

#[cfg(feature = "tools")]
fn default_blobs(state: Option<&Path>) -> Result<Arc<dyn Blobs>, ToolboxError> {
    match state {
        Some(state) => Ok(Arc::new(haft_store::FileBlobs::open(state)?)),
        None => Ok(Arc::new(InMemoryBlobs::default())),
    }
}
