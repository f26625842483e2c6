//! The database of this user: a file in the data folder, or a server.

use std::path::Path;
use std::sync::Arc;
#[cfg(feature = "postgres")]
use std::sync::Once;

#[cfg(feature = "postgres")]
use haft_store::TenantRole;
use haft_store::{FileBlobs, OpenedState, StateStore, StoreError};

use crate::failure::Failure;
use crate::output::warn;
#[cfg(feature = "postgres")]
use crate::tenants;

/// The database of calls, conversations and jobs. A damaged one is replaced, with a warning.
pub(crate) fn store(folder: &Path) -> Result<Arc<StateStore>, Failure> {
    let OpenedState { store, notice } = open_store(folder)?;
    if let Some(notice) = &notice {
        warn(notice);
    }
    Ok(Arc::new(store))
}

/// The same, with the warning. `HAFT_STORE` names a server to use instead of the file in the folder.
pub(crate) fn open_store(folder: &Path) -> Result<OpenedState, StoreError> {
    let address = store_address();
    let opened = StateStore::open(address.as_deref(), folder)?;
    if address.is_some() {
        // Signals and spills lie in the folder also then: it has to be private before anything else makes it.
        FileBlobs::open(folder)?;
    }
    Ok(opened)
}

/// The address of the server that the user names, which may hold a password.
pub(crate) fn store_address() -> Option<String> {
    std::env::var("HAFT_STORE").ok().filter(|address| !address.is_empty())
}

/// Removes everything of a store on a server, with its schema.
pub(crate) fn remove_store(address: &str) -> Result<(), Failure> {
    Ok(StateStore::remove_schema(address)?)
}

/// Where the state of a tenant is on a server, with the role of the tenant if it has one; `None` without a server.
#[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "a server is asked"))]
pub(crate) async fn tenant_address(operators: &StateStore, route: &str) -> Result<Option<String>, StoreError> {
    match operators {
        StateStore::Sqlite(_) => {
            let _ = route;
            Ok(None)
        }
        #[cfg(feature = "postgres")]
        StateStore::Postgres(log) => {
            let role = log.work().find_tenant_role(&tenants::schema(route)).await?;
            Ok(tenant_address_with(route, role))
        }
    }
}

/// The same, for the server of the tenants: the role is made if it is missing.
#[cfg_attr(not(feature = "postgres"), expect(clippy::unused_async, reason = "a server is asked"))]
pub(crate) async fn make_tenant_address(operators: &StateStore, route: &str) -> Result<Option<String>, StoreError> {
    match operators {
        StateStore::Sqlite(_) => {
            let _ = route;
            Ok(None)
        }
        #[cfg(feature = "postgres")]
        StateStore::Postgres(log) => {
            let role = log.work().make_tenant_role(&tenants::schema(route)).await?;
            Ok(tenant_address_with(route, Some(role)))
        }
    }
}

/// The address with this role. A tenant without one has the operator's.
#[cfg(feature = "postgres")]
pub(crate) fn tenant_address_with(route: &str, role: Option<TenantRole>) -> Option<String> {
    static WARNED: Once = Once::new();
    let login = match role {
        Some(TenantRole::Own(login)) => Some(login),
        Some(TenantRole::Operators(why)) => {
            WARNED
                .call_once(|| warn(&format!("tenants share the database role of HAFT_STORE, so only their schemas separate them: {why}")));
            None
        }
        None => None,
    };
    let login = login.as_ref().map(|login| (login.role.as_str(), login.password.as_str()));
    store_address().map(|address| tenants::store_address(&address, route, login))
}
