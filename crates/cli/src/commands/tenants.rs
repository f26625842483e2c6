//! `haft tenants`: the tenants of `haft serve`, for its operator.

mod settings;
mod show;
mod users;

use std::path::{Path, PathBuf};

use haft_store::FileBlobs;
use ring::rand::{SecureRandom, SystemRandom};
use serde_json::json;

use crate::arguments::{AddTenantArgs, Common, TenantsCommand};
use crate::failure::{Exit, Failure};
use crate::output::Output;
use crate::tenants::{TenantFolder, TenantRecord, TenantsFolder};
use crate::wire;

pub(crate) fn run(common: &Common, command: &TenantsCommand, output: &Output) -> Result<Exit, Failure> {
    if crate::tenants::current().is_some() {
        return Err(Failure::usage("a tenant has no tenants").help("unset HAFT_TENANT"));
    }
    let tenants = TenantsFolder::new(&wire::data_folder()?);
    match command {
        TenantsCommand::List => show::list(&tenants, output),
        TenantsCommand::Show { name } => show::show(common, &tenants.find(name)?, output),
        TenantsCommand::Add(request) => add(common, &tenants, request, output),
        TenantsCommand::Set { name, settings } => set(common, &tenants, name, settings, output),
        TenantsCommand::Remove { name, yes } => remove(&tenants, name, *yes, output),
        TenantsCommand::Invite(request) => users::invite(&tenants, request, output),
        TenantsCommand::Dismiss { name, user } => users::dismiss(&tenants, name, user, output),
        TenantsCommand::Team { name, team, scopes } => users::set_team(&tenants, name, team, scopes, output),
    }
}

fn add(common: &Common, tenants: &TenantsFolder, request: &AddTenantArgs, output: &Output) -> Result<Exit, Failure> {
    // The data folder is made private, or refused, before there is something in it that is not of the store.
    FileBlobs::open(&wire::data_folder()?)?;
    let _lock = tenants.lock()?;
    let tenant = tenants.folder_for(&request.name)?;
    if tenant.path().exists() {
        return Err(Failure::failed("conflict", format!("there is a tenant '{}' already", request.name)).help("`haft tenants list`"));
    }
    let workspace = workspace(tenants, &tenant, request.folder.as_deref())?;
    let mut record = TenantRecord::new(random_route()?, workspace);
    settings::change(&mut record, &request.settings)?;
    settings::check(common, &record)?;
    tenant.make()?;
    std::fs::create_dir_all(&record.workspace).map_err(|error| unusable(&record.workspace, &error.to_string()))?;
    tenant.write(&record)?;
    let name = &request.name;
    let text =
        || format!("The tenant '{name}' works in {}. `haft tenants invite {name} USER` lets a user in.\n", record.workspace.display());
    output.show(|| json!({ "name": name, "workspace": record.workspace }), text)
}

/// Its own folder, or one that the operator names: no folder of one tenant is in that of another, or holds it.
fn workspace(tenants: &TenantsFolder, tenant: &TenantFolder, named: Option<&Path>) -> Result<PathBuf, Failure> {
    let Some(named) = named else { return Ok(tenant.own_workspace()) };
    let folder = named.canonicalize().map_err(|error| unusable(named, &error.to_string()))?;
    if !folder.is_dir() {
        return Err(unusable(&folder, "it is not a folder"));
    }
    let data_folder = wire::data_folder()?;
    let data_folder = data_folder.canonicalize().unwrap_or(data_folder);
    if overlap(&folder, &data_folder) {
        return Err(unusable(&folder, "the data of Haft and of all tenants is there"));
    }
    for other in tenants.list() {
        if overlap(&folder, &other.record()?.workspace) {
            return Err(unusable(&folder, &format!("the tenant '{}' works there", other.name())));
        }
    }
    Ok(folder)
}

fn overlap(one: &Path, other: &Path) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

fn unusable(folder: &Path, why: &str) -> Failure {
    Failure::usage(format!("the folder {} cannot be used: {why}", folder.display())).help("name another with --folder")
}

fn set(common: &Common, tenants: &TenantsFolder, name: &str, pairs: &[String], output: &Output) -> Result<Exit, Failure> {
    let _lock = tenants.lock()?;
    let tenant = tenants.find(name)?;
    let mut record = tenant.record()?;
    settings::change(&mut record, pairs)?;
    settings::check(common, &record)?;
    tenant.write(&record)?;
    #[cfg(feature = "postgres")]
    if wire::store_address().is_some() {
        tell_workers(&record)?;
    }
    output.show(|| json!({ "name": name, "settings": record.settings }), || record.limits())
}

/// Work that waits for a worker has the limits of when it was given.
#[cfg(feature = "postgres")]
fn tell_workers(record: &TenantRecord) -> Result<(), Failure> {
    let told = super::block_on(async {
        let store = wire::store(&wire::data_folder()?)?;
        Ok::<_, Failure>(wire::renew_limits_in(&store, record.clone()).await?)
    });
    told.map_err(|failure| {
        let message = format!("the settings are saved, but work that waits for a worker keeps the earlier ones: {}", failure.message);
        Failure::failed("execution_error", message).help("run the same command again")
    })
}

fn remove(tenants: &TenantsFolder, name: &str, yes: bool, output: &Output) -> Result<Exit, Failure> {
    let _lock = tenants.lock()?;
    let tenant = tenants.find(name)?;
    let record = tenant.record()?;
    let is_elsewhere = record.workspace != tenant.own_workspace();
    let place = if is_elsewhere { format!("; its folder {} stays", record.workspace.display()) } else { String::new() };
    if !yes {
        return Err(Failure::usage(format!("this removes the tenant '{name}' with everything that it stored{place}")).help("add --yes"));
    }
    // Workers need nothing of the folder; without it the server gives them nothing more.
    tenant.remove()?;
    if let Some(address) = wire::store_address() {
        #[cfg(feature = "postgres")]
        let state = wire::store(&wire::data_folder()?)?;
        #[cfg(feature = "postgres")]
        super::block_on(wire::end_tenant_work(&state, &record.route))?;
        wire::remove_store(&crate::tenants::store_address(&address, &record.route, None))?;
        #[cfg(feature = "postgres")]
        super::block_on(wire::remove_tenant_role(&state, &record.route))?;
    }
    output.show(|| json!({ "removed": name }), || format!("The tenant '{name}' is removed{place}.\n"))
}

/// Nobody guesses it: an attacker who could would know which tenants there are.
fn random_route() -> Result<String, Failure> {
    let mut bytes = [0; 12];
    let filled = SystemRandom::new().fill(&mut bytes);
    filled.map_err(|_| Failure::failed("execution_error", "this machine gives no random numbers"))?;
    Ok(haft_text::hex::encode(bytes))
}
