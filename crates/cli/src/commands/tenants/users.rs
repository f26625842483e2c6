//! Users and teams of a tenant.

use haft_gateway::{Scope, TenantUser};
use haft_text::display;
use serde_json::{Value, json};

use crate::arguments::InviteArgs;
use crate::commands::serve::SERVER_FILE;
use crate::failure::{Exit, Failure};
use crate::output::{Output, note};
use crate::tenants::{MOST_USERS, TenantRecord, TenantsFolder};
use crate::wire;

/// What a user without a team gets, if nothing is said.
const USUAL: [Scope; 3] = [Scope::View, Scope::Chat, Scope::Approve];
/// The longest name of a user or a team.
const MOST_NAME: usize = 60;

pub(super) fn invite(tenants: &TenantsFolder, request: &InviteArgs, output: &Output) -> Result<Exit, Failure> {
    let _lock = tenants.lock()?;
    let tenant = tenants.find(&request.name)?;
    let mut record = tenant.record()?;
    check_name(&request.user)?;
    if record.users.iter().any(|user| user.name == request.user) {
        return Err(Failure::failed("conflict", format!("'{}' is a user already", request.user))
            .help(format!("`haft tenants dismiss {} {}` first, if a link or a token is lost", request.name, request.user)));
    }
    if record.users.len() >= MOST_USERS {
        return Err(Failure::failed("conflict", format!("a tenant has at most {MOST_USERS} users")));
    }
    let scopes = scopes(&record, request)?;
    let invited = TenantUser::invite(&request.user, scopes, &record.prefix());
    let (mut user, invitation) = invited.map_err(|why| Failure::failed("execution_error", why))?;
    user.team.clone_from(&request.team);
    let scopes = user.scopes.clone();
    record.users.push(user);
    tenant.write(&record)?;
    let link = format!("{}/#token={}", server_url(), invitation.link);
    let text = || format!("{link}\nAuthorization: Bearer {}\n", invitation.secret);
    let shown = output.show(|| json!({ "user": request.user, "scopes": scopes, "link": link, "token": invitation.secret }), text)?;
    note("The link works once, in one browser; the token is for programs. Neither is shown again.");
    Ok(shown)
}

/// Those that were asked for, within those of the team.
fn scopes(record: &TenantRecord, request: &InviteArgs) -> Result<Vec<Scope>, Failure> {
    let of_team = match &request.team {
        None => None,
        Some(team) => Some(record.teams.get(team).ok_or_else(|| {
            Failure::failed("not_found", format!("there is no team '{}'", display::escape_line(team)))
                .help(format!("`haft tenants team {} {team} --scopes view,chat` makes it", request.name))
        })?),
    };
    let Some(most) = of_team else {
        return Ok(if request.scopes.is_empty() { USUAL.to_vec() } else { request.scopes.clone() });
    };
    match request.scopes.iter().find(|scope| !most.contains(scope)) {
        Some(beyond) => Err(Failure::usage(format!("the team does not have the scope '{}'", beyond.as_str()))),
        None if request.scopes.is_empty() => Ok(most.clone()),
        None => Ok(request.scopes.clone()),
    }
}

pub(super) fn dismiss(tenants: &TenantsFolder, name: &str, user: &str, output: &Output) -> Result<Exit, Failure> {
    let _lock = tenants.lock()?;
    let tenant = tenants.find(name)?;
    let mut record = tenant.record()?;
    let before = record.users.len();
    record.users.retain(|known| known.name != user);
    if record.users.len() == before {
        let message = format!("the tenant '{name}' has no user '{}'", display::escape_line(user));
        return Err(Failure::failed("not_found", message).help(format!("`haft tenants show {name}` lists them")));
    }
    tenant.write(&record)?;
    output.show(|| json!({ "dismissed": user }), || format!("'{user}' is signed out, and the tokens that '{user}' made are revoked.\n"))
}

pub(super) fn set_team(tenants: &TenantsFolder, name: &str, team: &str, scopes: &[Scope], output: &Output) -> Result<Exit, Failure> {
    let _lock = tenants.lock()?;
    let tenant = tenants.find(name)?;
    let mut record = tenant.record()?;
    check_name(team)?;
    let beyond = record.users.iter().filter(|user| user.team.as_deref() == Some(team));
    let beyond: Vec<&str> =
        beyond.filter(|user| user.scopes.iter().any(|scope| !scopes.contains(scope))).map(|user| user.name.as_str()).collect();
    if !beyond.is_empty() {
        return Err(Failure::failed("conflict", format!("these users of the team have more: {}", beyond.join(", ")))
            .help(format!("`haft tenants dismiss {name} USER`, and invite them again")));
    }
    match scopes {
        [] => drop(record.teams.remove(team)),
        scopes => drop(record.teams.insert(team.to_owned(), scopes.to_vec())),
    }
    tenant.write(&record)?;
    let words: Vec<&str> = scopes.iter().map(|scope| scope.as_str()).collect();
    output.show(
        || json!({ "team": team, "scopes": scopes }),
        || if words.is_empty() { format!("The team '{team}' is removed.\n") } else { format!("{team}: {}\n", words.join(", ")) },
    )
}

fn check_name(name: &str) -> Result<(), Failure> {
    let is_plain = |ch: char| ch.is_alphanumeric() || matches!(ch, '-' | '_' | '.' | '@' | ' ');
    if !name.trim().is_empty() && name.chars().count() <= MOST_NAME && name.chars().all(is_plain) {
        return Ok(());
    }
    Err(Failure::usage(format!("'{}' is no name", display::escape_line(name))).help("use letters, digits, '-', '_', '.' and '@'"))
}

/// Where the server is that runs now, or would be.
fn server_url() -> String {
    let known = || {
        let bytes = std::fs::read(wire::data_folder().ok()?.join("run").join(SERVER_FILE)).ok()?;
        Some(serde_json::from_slice::<Value>(&bytes).ok()?["url"].as_str()?.to_owned())
    };
    known().unwrap_or_else(|| "http://127.0.0.1:7318".to_owned())
}
