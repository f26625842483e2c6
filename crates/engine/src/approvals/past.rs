//! Past calls that a rule would have covered, for the user who is about to save it.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use haft_contract::ports::{GrantWidth, SIMILAR_DAYS};
use haft_contract::{Connect, Effect, ErrorKind, Exec, ExecHost, Extent, Location, PathEffect, Zone};
use haft_policy::Policy;
use haft_store::{CallFilter, CallLog, CallRecord, CallStatus};
use haft_text::truncate::ellipsize;
use serde_json::Value;

use crate::Registry;
use crate::stop::within;

/// How many past calls are looked at.
const LOOKED_AT: usize = 1_000;
/// How many of them are named.
const NAMED: usize = 3;
/// Characters of one.
const CHARACTERS: usize = 120;
/// How long reading them may take; the question waits for it.
const PATIENCE: Duration = Duration::from_millis(500);

/// The part of the history in which similar calls are counted.
const SIMILAR: Duration = Duration::from_hours(24 * SIMILAR_DAYS);

/// The history, as far as questions look at it.
#[derive(Clone, Copy)]
pub(crate) struct PastCalls<'a> {
    pub(crate) log: &'a dyn CallLog,
    pub(crate) registry: Option<&'a Registry>,
}

impl PastCalls<'_> {
    /// Says of each width which past calls its rules would have covered. Without the history the question is asked all the same.
    pub(crate) async fn show_covered(self, policy: &dyn Policy, widths: &mut [GrantWidth]) {
        let Some(registry) = self.registry.filter(|_| !widths.is_empty()) else { return };
        let filter = CallFilter { limit: Some(LOOKED_AT), ..CallFilter::default() };
        let Some(Ok(records)) = within(PATIENCE, self.log.list(filter)).await else { return };
        let since = SystemTime::now().checked_sub(SIMILAR).unwrap_or(SystemTime::UNIX_EPOCH);
        for record in records {
            let (Some(entry), effects) = (registry.get(&record.tool), effects_of(&record)) else { continue };
            for width in widths.iter_mut() {
                if policy.covers(&width.rules, &entry.candidate(), &effects) {
                    add(width, &record, since);
                }
            }
        }
    }
}

fn add(width: &mut GrantWidth, record: &CallRecord, since: SystemTime) {
    width.past_calls += 1;
    let text = described(record);
    if width.past.len() < NAMED && !width.past.contains(&text) {
        width.past.push(text);
    }
    match &record.status {
        _ if record.started < since => {}
        CallStatus::Error(kind) if *kind == ErrorKind::PermissionDenied.as_str() => width.denied += 1,
        // Nobody decided.
        CallStatus::Error(kind) if *kind == ErrorKind::ApprovalTimeout.as_str() => {}
        _ => width.allowed += 1,
    }
}

/// Whether these rules would have covered a past call.
pub fn covers_past_call(policy: &dyn Policy, registry: &Registry, rules: &[String], record: &CallRecord) -> bool {
    registry.get(&record.tool).is_some_and(|entry| policy.covers(rules, &entry.candidate(), &effects_of(record)))
}

/// A past call in a few words: its command, or its tool and what it touched.
fn described(record: &CallRecord) -> String {
    let text = |name: &str| record.arguments[name].as_str();
    let what = match (text("command"), text("path").or_else(|| text("url"))) {
        (Some(command), _) => command.to_owned(),
        (None, Some(target)) => format!("{} {target}", record.tool),
        (None, None) => record.tool.clone(),
    };
    ellipsize(&what, CHARACTERS).into_owned()
}

/// The recorded effects, as far as rules match them.
fn effects_of(record: &CallRecord) -> Vec<Effect> {
    record.effects.as_array().into_iter().flatten().filter_map(|effect| recorded(effect, &record.workspace)).collect()
}

fn recorded(effect: &Value, workspace: &Path) -> Option<Effect> {
    let text = |name: &str| effect[name].as_str().map(str::to_owned);
    let path = || {
        let path = std::path::PathBuf::from(text("path")?);
        let shown = path.strip_prefix(workspace).unwrap_or(&path).display().to_string();
        let zone = if effect["outside"] == true { Zone::Outside } else { Zone::Workspace };
        let extent = if effect["tree"] == true { Extent::Tree } else { Extent::File };
        // Only rules look at it: the handle opens nothing.
        Some(PathEffect { location: Location::new(path.clone(), path, shown, zone, Arc::new(())), extent })
    };
    Some(match effect["effect"].as_str()? {
        "read" => Effect::Read(path()?),
        "write" => Effect::Write(path()?),
        "delete" => Effect::Delete(path()?),
        "exec" => Effect::Exec(exec(effect)?),
        "connect" => {
            let port = u16::try_from(effect["port"].as_u64()?).ok()?;
            let (host, method) = (text("host")?, text("method")?);
            Effect::Connect(Connect::new(if port == 80 { "http" } else { "https" }, host, port, method))
        }
        "send" => Effect::Send { channel: text("channel")?, to: text("to")?, outward: true },
        "spawn" => Effect::Spawn { agent: text("agent")? },
        "configure" => Effect::Configure { key: text("key")? },
        "node" => Effect::Node { node: text("node")?, action: text("action")?, target: text("target")? },
        _ => return None,
    })
}

fn exec(effect: &Value) -> Option<Exec> {
    let words = |name: &str| -> Vec<String> {
        effect[name].as_array().into_iter().flatten().filter_map(|word| word.as_str().map(str::to_owned)).collect()
    };
    let mut exec = Exec::new(effect["program"].as_str()?, words("arguments"), effect["directory"].as_str().unwrap_or_default());
    if let Some(named) = effect["named"].as_str() {
        named.clone_into(&mut exec.named);
    }
    exec.environment = words("environment");
    exec.host = effect["host"].as_str().and_then(|host| host.parse::<ExecHost>().ok()).unwrap_or_default();
    Some(exec)
}

#[cfg(test)]
mod tests {
    use haft_contract::Plan;
    use serde_json::json;

    use super::*;

    /// What a rule sees of an effect is the same before it runs and in history.
    #[test]
    fn recorded_effects_read_as_what_they_were() {
        let at = |path: &str, zone| Location::new(path.into(), path.into(), path.into(), zone, Arc::new(()));
        let mut git = Exec::new("/usr/bin/git", vec!["push".into(), "a b".into()], "/w");
        git.named = "git".into();
        git.host = ExecHost::Sandbox;
        git.environment = vec!["LANG".into()];
        let plan = Plan::nothing()
            .exec(git)
            .read_tree(at("/w/src", Zone::Workspace))
            .write(at("/etc/x", Zone::Outside))
            .connect(Connect::new("https", "a.org", 443, "POST"))
            .send("mail", "ann", true)
            .with(Effect::Configure { key: "theme".into() });
        let json = |effects: &[Effect]| effects.iter().map(|effect| serde_json::to_value(effect).unwrap()).collect::<Vec<_>>();
        let written = json(plan.effects());
        let read: Vec<Effect> = written.iter().filter_map(|effect| recorded(effect, Path::new("/w"))).collect();
        assert_eq!(json(&read), written);
        assert!(recorded(&json!({"effect": "unknown", "why": "x"}), Path::new("/w")).is_none());
        assert!(recorded(&json!({"effect": "connect", "host": "a", "port": 99_999, "method": "GET"}), Path::new("/w")).is_none());
    }
}
