//! Tenants of `haft serve`: each has a folder with its state, its workspace and its home, and a process of its own.
//!
//! Nothing separates tenants by a condition in a query: the process of a tenant has the addresses of its own state alone. What it may do is
//! bounded by limits that come after every other layer of the configuration and can only tighten.

mod address;
mod folder;
#[cfg(feature = "postgres")]
mod lines;
mod process;
mod record;

use std::path::PathBuf;
use std::sync::LazyLock;

#[cfg(feature = "postgres")]
pub(crate) use self::address::schema;
pub(crate) use self::address::{blob_address, store_address};
#[cfg(feature = "postgres")]
pub(crate) use self::folder::make_private;
pub(crate) use self::folder::{TenantFolder, TenantsFolder};
#[cfg(feature = "postgres")]
pub(crate) use self::lines::{LineSender, NO_WORKER, ServerAsk, ServerWord, TurnOrder, TurnReport, WorkerSeat, own_lines, write_lines};
pub(crate) use self::process::command;
pub(crate) use self::record::{FollowedUsers, MOST_USERS, TenantRecord};

/// The folder of the tenant whose process this is.
pub(crate) const VARIABLE: &str = "HAFT_TENANT";

/// The folder with the folders of all sessions of the tenant, where a worker has a folder for each session.
pub(crate) const VOLUMES_VARIABLE: &str = "HAFT_TENANT_VOLUMES";

/// What holds for every tenant, whatever the operator's own file says. A call beyond the workspace is denied and not asked about, because
/// those who would be asked are the tenant's; commands run in the sandbox or not at all; tools that belong to the operator's machine are off.
const LIMITS: &str = "\
access = \"workspace-write\"
ask = \"rules\"
sandbox.mode = \"required\"
tools.disabled = [\"message\", \"notify\", \"gateway\", \"nodes\"]
";

/// What problems with these limits name as their file.
pub(crate) const EVERY_TENANT: &str = "limits of every tenant";

static CURRENT: LazyLock<Option<TenantFolder>> =
    LazyLock::new(|| std::env::var_os(VARIABLE).filter(|value| !value.is_empty()).map(|path| TenantFolder::new(PathBuf::from(path))));

/// The tenant whose process this is.
pub(crate) fn current() -> Option<&'static TenantFolder> {
    CURRENT.as_ref()
}

/// The folders of the sessions of the tenant on this worker.
pub(crate) fn volumes() -> Option<PathBuf> {
    std::env::var_os(VOLUMES_VARIABLE).filter(|value| !value.is_empty()).map(PathBuf::from)
}

/// The files that limit this process: what holds for every tenant, and what the operator has set for this one. A record that cannot be
/// read leaves a text that is no configuration, so that nothing runs without its limits.
pub(crate) fn limits() -> Vec<(PathBuf, String)> {
    let Some(tenant) = current() else { return Vec::new() };
    let own = tenant.record().map_or_else(|failure| format!("# {}\n=", failure.message), |record| record.limits());
    vec![(PathBuf::from(EVERY_TENANT), LIMITS.to_owned()), (tenant.record_file(), own)]
}
