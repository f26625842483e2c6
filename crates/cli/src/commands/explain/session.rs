//! `haft explain --session ID`: what a session was allowed, what has tainted it, and which tools it was shown, by its recorded calls.

use haft_engine::RecordedTaint;
use haft_policy::Verdict;
use haft_store::{CallFilter, CallLog, CallRecord, StateStore, StoreError};
use haft_text::display;
use serde_json::{Value, json};

use super::prose;
use crate::commands::block_on;
use crate::effects;
use crate::failure::{Exit, Failure};
use crate::output::{Output, STRONG};
use crate::table::{ColumnFit, Table, TableCell};
use crate::text_builder::{INDENT, TextBuilder};
use crate::wire;

/// What the records cannot tell.
const NOT_RECORDED: &str = "From the recorded calls. Not recorded: which tools were shown from the start. Grants for the session and \
                            taint end with the process: a resumed session begins without.";

pub(super) fn run(id: &str, output: &Output) -> Result<Exit, Failure> {
    let (session, calls) = block_on(async {
        let store = wire::store(&wire::data_folder()?)?;
        Ok(calls_of(&store, id).await?)
    })?;
    let facts = SessionFacts::collect(&calls);
    output.show(|| facts.to_json(&session, calls.len()), || facts.in_words(&session, calls.len(), output.width))
}

/// The calls of a session, the oldest first. A call from the command line has a session that is no conversation.
async fn calls_of(store: &StateStore, id: &str) -> Result<(String, Vec<CallRecord>), StoreError> {
    let (session, missing) = match store.sessions().open(id).await {
        Ok(session) => (session.id, None),
        Err(error @ StoreError::Missing { .. }) => (id.to_owned(), Some(error)),
        Err(error) => return Err(error),
    };
    let mut calls = store.list(CallFilter { session: Some(session.clone()), ..CallFilter::default() }).await?;
    calls.reverse();
    match missing {
        Some(error) if calls.is_empty() => Err(error),
        _ => Ok((session, calls)),
    }
}

/// Something that a call did to its session.
struct SessionFact<'a> {
    call: &'a CallRecord,
    what: String,
}

/// What the calls of a session tell about it.
#[derive(Default)]
struct SessionFacts<'a> {
    grants: Vec<SessionFact<'a>>,
    private: Vec<SessionFact<'a>>,
    untrusted: Vec<SessionFact<'a>>,
    disclosed: Vec<SessionFact<'a>>,
    made: Vec<SessionFact<'a>>,
    refused: Vec<SessionFact<'a>>,
}

impl<'a> SessionFacts<'a> {
    fn collect(calls: &'a [CallRecord]) -> Self {
        let mut facts = Self::default();
        for call in calls.iter().filter(|call| has_run(call)) {
            let fact = |what: String| SessionFact { call, what };
            facts.grants.extend(approvals(call).filter(|how| *how != "once").map(|how| fact(how.to_owned())));
            let taint = RecordedTaint::of_effects(&call.effects);
            let target = || effects::all(&call.effects).first().map(|effect| effects::describe(effect, &call.workspace).1);
            if taint.private {
                facts.private.push(fact(target().unwrap_or_default()));
            }
            if taint.untrusted {
                facts.untrusted.push(fact(target().unwrap_or_default()));
            }
            facts.disclosed.extend(found_tools(call).into_iter().map(fact));
            for connection in call.decision["connections"].as_array().into_iter().flatten() {
                let list = if connection["made"] == true { &mut facts.made } else { &mut facts.refused };
                list.push(fact(destination(connection)));
            }
        }
        facts
    }

    fn sections(&self) -> [(&'static str, &'static str, &[SessionFact<'a>]); 6] {
        [
            ("grants", "Granted by the user", &self.grants),
            ("private", "Tainted: private data, read by", &self.private),
            ("untrusted", "Tainted: untrusted content, brought in by", &self.untrusted),
            ("disclosed", "Tools disclosed by tool_search", &self.disclosed),
            ("connections", "Connections that commands made", &self.made),
            ("refused_connections", "Connections that commands were refused", &self.refused),
        ]
    }

    fn in_words(&self, session: &str, calls: usize, width: Option<usize>) -> String {
        let inner = width.map(|width| width.saturating_sub(INDENT.len()));
        let mut page = TextBuilder::default();
        page.line(format_args!("{STRONG}session {}{STRONG:#} with {calls} recorded call(s)", display::escape_line(session)));
        for (_, title, facts) in self.sections() {
            page.section(title, &if facts.is_empty() { "none".to_owned() } else { rows(facts).render(inner) });
        }
        page.section("Where this is from", &prose(Some(NOT_RECORDED), inner));
        page.finish()
    }

    fn to_json(&self, session: &str, calls: usize) -> Value {
        let mut value = json!({ "session": session, "calls": calls });
        for (name, _, facts) in self.sections() {
            let fact = |fact: &SessionFact<'_>| json!({ "call": fact.call.id, "tool": fact.call.tool, "what": fact.what });
            value[name] = facts.iter().map(fact).collect();
        }
        value["note"] = json!(NOT_RECORDED);
        value
    }
}

fn rows(facts: &[SessionFact<'_>]) -> Table {
    let mut table = Table::new(&[("", ColumnFit::Keep), ("", ColumnFit::Keep), ("", ColumnFit::Wrap)]);
    for SessionFact { call, what } in facts {
        table.row(vec![TableCell::new(&call.id), TableCell::new(&call.tool), TableCell::new(&display::escape_line(what))]);
    }
    table
}

/// Whether a call was let through: refused ones bring nothing in.
fn has_run(call: &CallRecord) -> bool {
    call.decision["verdict"] == Verdict::Allow.as_str() || approvals(call).next().is_some()
}

/// How the user allowed a call.
fn approvals(call: &CallRecord) -> impl Iterator<Item = &str> {
    let trace = call.decision["trace"].as_array().into_iter().flatten();
    trace.filter(|step| step["step"] == "approval" && step["outcome"] == "pass").filter_map(|step| step["entry"].as_str())
}

/// The host and port of a connection, and why it was refused, if it was.
fn destination(connection: &Value) -> String {
    let (host, port) = (connection["host"].as_str().unwrap_or_default(), &connection["port"]);
    connection["why"].as_str().map_or_else(|| format!("{host}:{port}"), |why| format!("{host}:{port}: {why}"))
}

/// The tools that a call of `tool_search` found. The summary may be cut behind them.
fn found_tools(call: &CallRecord) -> Vec<String> {
    let Some(rest) = call.summary.strip_prefix("{\"matches\":").filter(|_| call.tool == "tool_search") else { return Vec::new() };
    serde_json::Deserializer::from_str(rest).into_iter().next().and_then(Result::ok).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, SystemTime};

    use haft_store::CallStatus;

    use super::*;

    fn call(id: &str, tool: &str, effects: Value, decision: Value, summary: &str) -> CallRecord {
        CallRecord {
            id: id.into(),
            call_id: String::new(),
            session: "s".into(),
            agent: "main".into(),
            tool: tool.into(),
            workspace: "/w".into(),
            arguments: json!({}),
            original_arguments: None,
            effects,
            decision,
            started: SystemTime::UNIX_EPOCH,
            elapsed: Duration::ZERO,
            status: CallStatus::Success,
            summary: summary.into(),
            undone: false,
        }
    }

    #[test]
    fn calls_that_ran_tell_grants_taint_and_disclosed_tools() {
        let (allow, ask) = (json!({"verdict": "allow"}), json!({"verdict": "ask"}));
        let approved = |how: &str| json!({"verdict": "ask", "trace": [{"step": "approval", "outcome": "pass", "entry": how}]});
        let read = json!([{"effect": "read", "path": "/w/a"}]);
        let connect = json!([{"effect": "connect", "host": "example.org", "port": 443, "method": "GET"}]);
        let cut = "{\"matches\":[\"notify\",\"noop\"],\"query\":\"no";
        let calls = [
            call("1", "read_file", read.clone(), allow.clone(), ""),
            call("2", "web_fetch", connect.clone(), ask, ""),
            call("3", "web_fetch", connect.clone(), approved("for this session: connect(example.org)"), ""),
            call("4", "web_fetch", connect, approved("once"), ""),
            call("5", "read_file", read, json!({"verdict": "deny"}), ""),
            call("6", "tool_search", json!([]), allow.clone(), cut),
            call("7", "noop", json!([]), allow, cut),
        ];
        let fact = |call: &str, tool: &str, what: &str| json!({"call": call, "tool": tool, "what": what});
        let facts = SessionFacts::collect(&calls).to_json("s", 7);
        assert_eq!(facts["grants"], json!([fact("3", "web_fetch", "for this session: connect(example.org)")]));
        assert_eq!(facts["private"], json!([fact("1", "read_file", "a")]));
        let fetched = facts["untrusted"][0]["what"].as_str().unwrap();
        assert!(fetched.contains("example.org"), "{fetched}");
        assert_eq!(facts["untrusted"], json!([fact("3", "web_fetch", fetched), fact("4", "web_fetch", fetched)]));
        assert_eq!(facts["disclosed"], json!([fact("6", "tool_search", "notify"), fact("6", "tool_search", "noop")]));
    }
}
