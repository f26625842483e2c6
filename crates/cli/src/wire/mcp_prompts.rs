//! Skills as prompts of `haft mcp`. A server lives for days, so they are read again when their files change.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

use haft_contract::{BoxFuture, Content};
use haft_mcp::server::{PromptFault, PromptListing, PromptSource, SkillPrompts};
use haft_prompts::Skills;

use super::Wire;
use super::prompts::{Prompts, SkillService, prompt_folders};

/// The skills of a client.
pub(super) struct FollowedSkills {
    wire: Arc<Wire>,
    read: Mutex<Option<(u64, Arc<SkillPrompts>)>>,
}

impl FollowedSkills {
    /// The skills that this wire leads to; read when they are first asked for.
    pub(super) fn new(wire: Arc<Wire>) -> Self {
        Self { wire, read: Mutex::default() }
    }

    /// The skills as they are now.
    fn current(&self) -> Arc<SkillPrompts> {
        let stamp = self.version();
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, prompts)) = read.as_ref().filter(|(known, _)| *known == stamp) {
            return Arc::clone(prompts);
        }
        let wire = &self.wire;
        // Folders may have come that were not there before, so the roots are opened anew as well.
        let prompts = Arc::new(Prompts::new(&wire.settings, &wire.policy, &wire.registry));
        let prompts = Arc::new(SkillPrompts(Arc::new(SkillService::new(prompts))));
        *read = Some((stamp, Arc::clone(&prompts)));
        prompts
    }
}

impl PromptSource for FollowedSkills {
    fn list(&self) -> Vec<PromptListing> {
        self.current().list()
    }

    fn version(&self) -> u64 {
        Skills::stamp(&prompt_folders(&self.wire.settings.workspace, &self.wire.settings.data_folder))
    }

    fn get<'a>(&'a self, name: &'a str, arguments: &'a BTreeMap<String, String>) -> BoxFuture<'a, Result<Vec<Content>, PromptFault>> {
        let current = self.current();
        Box::pin(async move { current.get(name, arguments).await })
    }
}
