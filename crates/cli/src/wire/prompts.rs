//! Skills, instructions and commands of the user and the project. They are read on first use.

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use haft_config::Config;
use haft_contract::ports::{SkillContent, SkillLibrary, SkillSummary};
use haft_contract::{BoxFuture, Location, ToolError};
use haft_engine::Registry;
use haft_host::{LocalFiles, WorkspaceOptions};
use haft_policy::StandardPolicy;
use haft_policy::catalog::Vocabulary;
use haft_prompts::{FolderSkills, PromptFiles, PromptFolders, Skills, UserCommands, repository_root};

use super::policy::{home, vocabulary};
use super::trust::TrustedFolders;
use super::{Settings, settings};
use crate::failure::Failure;

/// Where files of prompts come from, and what was read of them.
pub(crate) struct Prompts {
    config: Arc<Config>,
    policy: Arc<StandardPolicy>,
    registry: Arc<Registry>,
    agent: String,
    workspace: PathBuf,
    data_folder: PathBuf,
    sources: OnceLock<Result<(PromptFolders, PromptFiles), String>>,
    skills: OnceLock<Arc<Skills>>,
    vocabulary: OnceLock<Arc<Vocabulary>>,
}

impl Prompts {
    pub(super) fn new(settings: &Settings, policy: &Arc<StandardPolicy>, registry: &Arc<Registry>) -> Self {
        Self {
            config: Arc::clone(&settings.config),
            policy: Arc::clone(policy),
            registry: Arc::clone(registry),
            agent: settings.agent.clone(),
            workspace: settings.workspace.clone(),
            data_folder: settings.data_folder.clone(),
            sources: OnceLock::new(),
            skills: OnceLock::new(),
            vocabulary: OnceLock::new(),
        }
    }

    /// The folders, and what reads files in them.
    pub(crate) fn sources(&self) -> Result<&(PromptFolders, PromptFiles), Failure> {
        self.sources.get_or_init(|| self.open()).as_ref().map_err(|why| Failure::failed("execution_error", why.clone()))
    }

    fn open(&self) -> Result<(PromptFolders, PromptFiles), String> {
        let folders = prompt_folders(&self.workspace, &self.data_folder);
        let workspace = &self.config.workspace;
        let files = LocalFiles::open(WorkspaceOptions {
            root: self.workspace.clone(),
            read_only_roots: folders.roots(),
            deny_read: workspace.deny_read.clone(),
            denied_by_rules: self.policy.denied_reads(&[&self.agent], &self.workspace),
            allow_secrets: workspace.allow_secrets,
            ..WorkspaceOptions::default()
        });
        let files = files.map_err(|error| error.message().to_owned())?;
        Ok((folders, PromptFiles::new(Arc::new(files))))
    }

    /// All skills. Read on a thread with a runtime of its own, because a plan, which wants them, cannot wait.
    pub(crate) fn skills(&self) -> Arc<Skills> {
        let read = || {
            let Ok((folders, files)) = self.sources() else { return Arc::default() };
            let read = || Some(tokio::runtime::Builder::new_current_thread().build().ok()?.block_on(Skills::read(folders, files)));
            let skills = std::thread::scope(|scope| scope.spawn(read).join());
            Arc::new(skills.ok().flatten().unwrap_or_default())
        };
        Arc::clone(self.skills.get_or_init(read))
    }

    /// Whether a folder, without links, is that of a skill.
    pub(crate) fn has_skill_in(&self, folder: &Path) -> bool {
        self.skills().skills.iter().any(|skill| skill.folder.canonicalize().is_ok_and(|real| real == folder))
    }

    /// All commands of the user; those of the program have the names in `taken`.
    pub(crate) async fn commands(&self, taken: &[&str]) -> Result<UserCommands, Failure> {
        let (folders, files) = self.sources()?;
        Ok(UserCommands::read(folders, files, &self.skills(), taken).await)
    }

    /// The canonical name of a tool.
    pub(crate) fn canonical(&self, name: &str) -> Option<String> {
        self.vocabulary().canonical(name).map(str::to_owned)
    }

    fn vocabulary(&self) -> &Arc<Vocabulary> {
        self.vocabulary.get_or_init(|| Arc::new(vocabulary(&self.registry, &[])))
    }
}

/// The folders of the user and of the project in this workspace.
pub(crate) fn prompt_folders(workspace: &Path, data_folder: &Path) -> PromptFolders {
    PromptFolders {
        config: settings::user_file().ok().and_then(|file| file.parent().map(Path::to_owned)),
        home: home(),
        workspace: workspace.to_owned(),
        repository: repository_root(workspace).unwrap_or_else(|| workspace.to_owned()),
        is_trusted: TrustedFolders::read(data_folder).is_ok_and(|trusted| trusted.knows(workspace)),
    }
}

/// The skills as a service of a host.
pub(super) struct SkillService {
    prompts: Arc<Prompts>,
    library: OnceLock<Result<FolderSkills, String>>,
}

impl SkillService {
    pub(super) fn new(prompts: Arc<Prompts>) -> Self {
        Self { prompts, library: OnceLock::new() }
    }

    fn library(&self) -> Result<&FolderSkills, ToolError> {
        let open = || {
            let (_, files) = self.prompts.sources().map_err(|failure| failure.message.clone())?;
            let vocabulary = Arc::clone(self.prompts.vocabulary());
            let canonical = move |name: &str| vocabulary.canonical(name).map(str::to_owned);
            Ok(FolderSkills::new(self.prompts.skills(), files.clone(), canonical))
        };
        self.library.get_or_init(open).as_ref().map_err(|why: &String| ToolError::execution(why.clone()))
    }
}

impl SkillLibrary for SkillService {
    fn list(&self) -> Vec<SkillSummary> {
        self.library().map(SkillLibrary::list).unwrap_or_default()
    }
    fn locate(&self, skill: &str, file: Option<&str>) -> Result<Location, ToolError> {
        self.library()?.locate(skill, file)
    }
    fn read<'a>(&'a self, skill: &'a str, file: Option<&'a str>, at: &'a Location) -> BoxFuture<'a, Result<SkillContent, ToolError>> {
        match self.library() {
            Ok(library) => library.read(skill, file, at),
            Err(error) => Box::pin(std::future::ready(Err(error))),
        }
    }
}
