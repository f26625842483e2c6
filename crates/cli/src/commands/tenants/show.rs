//! Lists and shows tenants.

use std::sync::Arc;

use haft_gateway::TenantUser;
use haft_store::StateStore;
use serde_json::{Value, json};

use crate::arguments::Common;
use crate::commands::block_on;
use crate::failure::{Exit, Failure};
use crate::output::{DIM, Output, STRONG, note};
use crate::table::{ColumnFit, Table, TableCell};
use crate::tenants::{TenantFolder, TenantRecord, TenantsFolder};
use crate::wire;

pub(super) fn list(tenants: &TenantsFolder, output: &Output) -> Result<Exit, Failure> {
    let all = tenants.list().into_iter().map(|tenant| Ok((tenant.name(), tenant.record()?))).collect::<Result<Vec<_>, Failure>>()?;
    if all.is_empty() {
        note("there is no tenant; `haft tenants add NAME` makes one");
    }
    let mut table = Table::new(&[
        ("TENANT", ColumnFit::Keep),
        ("USERS", ColumnFit::Keep),
        ("SETTINGS", ColumnFit::Wrap),
        ("FOLDER", ColumnFit::Drop(1)),
    ]);
    for (name, record) in &all {
        let folder = record.workspace.display().to_string();
        table.row(vec![
            TableCell::styled(name, STRONG),
            TableCell::new(&record.users.len().to_string()),
            TableCell::new(&settings_line(record)),
            TableCell::styled(&folder, DIM),
        ]);
    }
    let data = || all.iter().map(|(name, record)| to_json(name, record)).collect::<Vec<_>>();
    output.show(data, || table.render(output.width))
}

pub(super) fn show(common: &Common, tenant: &TenantFolder, output: &Output) -> Result<Exit, Failure> {
    let (name, record) = (tenant.name(), tenant.record()?);
    let quotas = quotas(common, tenant, &record)?;
    let text = || {
        let mut lines = vec![format!("tenant    {name}"), format!("folder    {}", record.workspace.display())];
        lines.extend(record.settings.iter().map(|(key, value)| format!("setting   {key} = {value}")));
        let used =
            |row: &Value| format!("used      {}: {}", row["quota"].as_str().unwrap_or_default(), row["text"].as_str().unwrap_or_default());
        lines.extend(quotas.iter().map(used));
        lines.extend(record.teams.iter().map(|(team, scopes)| format!("team      {team}: {}", words(scopes))));
        lines.extend(record.users.iter().map(|user| format!("user      {}", user_line(user))));
        lines.join("\n") + "\n"
    };
    let data = || {
        let mut data = to_json(&name, &record);
        data["quotas"] = json!(quotas);
        data
    };
    output.show(data, text)
}

/// What of its quotas is used, counted in its own store.
fn quotas(common: &Common, tenant: &TenantFolder, record: &TenantRecord) -> Result<Vec<Value>, Failure> {
    let settings = wire::check_limits(common, &record.workspace, &record.limits())?.config.quota;
    if !settings.is_any() {
        return Ok(Vec::new());
    }
    let address = match wire::store_address() {
        None => None,
        Some(_) => block_on(async { Ok(wire::tenant_address(&*wire::store(&wire::data_folder()?)?, &record.route).await?) })?,
    };
    let store = StateStore::open(address.as_deref(), &tenant.state())?.store;
    let folders = vec![tenant.path().to_owned(), record.workspace.clone()];
    let quotas = wire::Quotas::new(settings, Arc::new(store), tenant.state(), folders);
    block_on(async { Ok(quotas.report().await) })
}

fn user_line(user: &TenantUser) -> String {
    let team = user.team.as_ref().map(|team| format!(" of {team}")).unwrap_or_default();
    format!("{}{team}: {}", user.name, words(&user.scopes))
}

fn words(scopes: &[haft_gateway::Scope]) -> String {
    scopes.iter().map(|scope| scope.as_str()).collect::<Vec<_>>().join(", ")
}

fn settings_line(record: &TenantRecord) -> String {
    record.settings.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ")
}

/// No hash of a secret is shown.
fn to_json(name: &str, record: &TenantRecord) -> Value {
    let users: Vec<Value> =
        record.users.iter().map(|user| json!({ "name": user.name, "team": user.team, "scopes": user.scopes })).collect();
    json!({ "name": name, "workspace": record.workspace, "settings": record.settings, "teams": record.teams, "users": users })
}
