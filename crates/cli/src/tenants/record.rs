//! What the operator has written down about a tenant: its users, its teams and its limits.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use haft_gateway::{Scope, TenantUser, UserDirectory};
use serde::{Deserialize, Serialize};

use super::TenantFolder;

/// Users of one tenant: a server holds so many tokens, and half of them are the users' own.
pub(crate) const MOST_USERS: usize = 100;

/// A tenant, as its file has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct TenantRecord {
    /// What the secrets of its users begin with. It is random, so that nobody finds out by trying which tenants there are.
    pub(crate) route: String,
    /// The folder that its tools work in.
    pub(crate) workspace: PathBuf,
    /// Keys of the configuration that tighten what holds for it, as a file would have them.
    #[serde(default)]
    pub(crate) settings: BTreeMap<String, String>,
    /// The scopes that the users of a team have.
    #[serde(default)]
    pub(crate) teams: BTreeMap<String, Vec<Scope>>,
    #[serde(default)]
    pub(crate) users: Vec<TenantUser>,
}

impl TenantRecord {
    pub(crate) fn new(route: String, workspace: PathBuf) -> Self {
        Self { route, workspace, settings: BTreeMap::new(), teams: BTreeMap::new(), users: Vec::new() }
    }

    /// What each of its secrets begins with.
    pub(crate) fn prefix(&self) -> String {
        format!("{}.", self.route)
    }

    /// What a worker has to know: nothing of its users.
    #[cfg(feature = "postgres")]
    pub(crate) fn for_workers(self) -> Self {
        Self { teams: BTreeMap::new(), users: Vec::new(), ..self }
    }

    /// Its settings as a file.
    pub(crate) fn limits(&self) -> String {
        let mut text = String::new();
        for (key, value) in &self.settings {
            writeln!(text, "{key} = {value}").ok();
        }
        text
    }
}

/// The users of a tenant, as its file has them now.
#[derive(Debug)]
pub(crate) struct FollowedUsers {
    tenant: TenantFolder,
    /// What tells two states of the file apart.
    seen: Mutex<Option<(u64, i64, i64)>>,
}

impl FollowedUsers {
    pub(crate) fn new(tenant: TenantFolder) -> Self {
        Self { tenant, seen: Mutex::default() }
    }
}

impl UserDirectory for FollowedUsers {
    /// A tenant whose file is gone has no users any more; one whose file cannot be read keeps those that it had.
    fn changed_users(&self) -> Option<Vec<TenantUser>> {
        let facts = self.tenant.record_file().metadata().ok().map(|facts| (facts.ino(), facts.mtime(), facts.mtime_nsec()));
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        if facts.is_none() {
            *seen = None;
            return Some(Vec::new());
        }
        if *seen == facts {
            return None;
        }
        let users = self.tenant.record().ok()?.users;
        *seen = facts;
        Some(users)
    }
}
