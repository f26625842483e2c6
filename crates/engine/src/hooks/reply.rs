//! The standard output of a hook command: nothing, or exactly one JSON object, in our format or that of other systems.
//!
//! | wanted | ours | also understood |
//! |---|---|---|
//! | continue | `{}`, `"decision": "continue"` | `approve`, `allow`; `permissionDecision: allow` |
//! | block | `"decision": "block", "reason"` | `deny`; `"block": true, "blockReason"`; `"continue": false, "stopReason"`; `permissionDecision: deny` |
//! | require approval | `"decision": "ask", "reason"` | `permissionDecision: ask` |
//! | other arguments | `"arguments": {…}`: all of them | `updatedInput`: all of them; `"params": {…}`: those that change |
//! | answer | `"answer": "…"` | |
//! | store this instead | `"stored": "…"` | |
//!
//! `permissionDecision`, `permissionDecisionReason` and `updatedInput` are fields of `hookSpecificOutput`. The strictest
//! decision counts, and none widens anything: to allow is to have no objection. Unknown fields beside known ones are ignored.
//! Known fields with a wrong value are an error, and so is an object without a single known one (`{"decison": "block"}`),
//! because a guard that is misunderstood is no guard.

use haft_contract::{HookEvent, ToolOutput};
use haft_text::display;
use serde_json::{Map, Value};

use super::{HookDecision, PersistDecision};

type Object = Map<String, Value>;

/// What a command decides about a call, strictest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum ReplyDecision {
    Continue,
    Ask,
    Block,
}

const ASKS_AND_ANSWERS: &str =
    "its output could not be understood: it requires approval and gives the answer itself; print either 'ask' or 'answer'";

/// Known fields.
const KNOWN: &[&str] = &["decision", "reason", "block", "blockReason", "continue", "stopReason", "arguments", "params", "answer", "stored"];
/// Known fields of `hookSpecificOutput`.
const KNOWN_SPECIFIC: &[&str] = &["permissionDecision", "permissionDecisionReason", "updatedInput"];
/// Fields of other systems that say nothing about the call.
const NEUTRAL: &[&str] = &["suppressOutput", "systemMessage", "hookEventName", "additionalContext"];

/// Reads the reply of a command before a call.
pub(super) fn before(stdout: &[u8], arguments: &Value) -> Result<HookDecision, String> {
    let Some(mut reply) = CommandReply::parse(stdout)? else { return Ok(HookDecision::Continue) };
    let decision = reply.decision()?;
    if decision == ReplyDecision::Block {
        return Ok(HookDecision::Block(reply.reason()?));
    }
    match (take_text(&mut reply.general, "answer")?, decision) {
        (Some(_), ReplyDecision::Ask) => return Err(ASKS_AND_ANSWERS.to_owned()),
        (Some(answer), _) => return Ok(HookDecision::Answer(ToolOutput::text(answer))),
        (None, _) => {}
    }
    let rewritten = reply.take_arguments(arguments)?;
    Ok(match (decision, rewritten) {
        (ReplyDecision::Ask, arguments) => HookDecision::Ask { reason: reply.reason()?, arguments },
        (_, Some(arguments)) => HookDecision::Rewrite(arguments),
        (_, None) => HookDecision::Continue,
    })
}

/// Reads the reply of a command after a call, when nothing can be decided any more.
pub(super) fn after(stdout: &[u8]) -> Result<(), String> {
    let Some(reply) = CommandReply::parse(stdout)? else { return Ok(()) };
    if reply.decision()? == ReplyDecision::Block {
        return Err(too_late(&reply.reason()?));
    }
    let given = |name: &&str| [&reply.general, &reply.specific].iter().any(|part| part.get(*name).is_some_and(|value| !value.is_null()));
    match ["arguments", "params", "updatedInput", "answer", "stored"].into_iter().find(given) {
        Some(name) => {
            let event = if name == "stored" { HookEvent::ToolResultPersist } else { HookEvent::BeforeToolCall };
            Err(format!("it gave '{name}' too late: the call was made already; a hook that gives it needs event = \"{}\"", event.as_str()))
        }
        None => Ok(()),
    }
}

/// The error of a command that blocks after the call.
pub(super) fn too_late(reason: &str) -> String {
    format!("it blocked a call that was made already ({reason}); a hook that blocks needs event = \"before_tool_call\"")
}

/// Reads the reply of a command before a result is stored.
pub(super) fn persist(stdout: &[u8]) -> Result<PersistDecision, String> {
    let Some(mut reply) = CommandReply::parse(stdout)? else { return Ok(PersistDecision::Keep) };
    if reply.decision()? == ReplyDecision::Block {
        return Ok(PersistDecision::Withhold(reply.reason()?));
    }
    Ok(take_text(&mut reply.general, "stored")?.map_or(PersistDecision::Keep, PersistDecision::Replace))
}

/// The object, and the nested part that another system uses.
#[derive(Debug, Default)]
struct CommandReply {
    general: Object,
    specific: Object,
}

impl CommandReply {
    fn parse(stdout: &[u8]) -> Result<Option<Self>, String> {
        if stdout.trim_ascii().is_empty() {
            return Ok(None);
        }
        match serde_json::from_slice(stdout) {
            Ok(Value::Object(mut general)) => {
                let specific = take_object(&mut general, "hookSpecificOutput")?.unwrap_or_default();
                let reply = Self { general, specific };
                reply.check_fields().map(|()| Some(reply))
            }
            Ok(_) => Err(not_an_object(stdout, "it is another value")),
            Err(error) => Err(not_an_object(stdout, &error.to_string())),
        }
    }

    /// An object with unknown fields alone is an error: its author meant something.
    fn check_fields(&self) -> Result<(), String> {
        let parts = [(&self.general, KNOWN), (&self.specific, KNOWN_SPECIFIC)];
        let mut fields = parts.into_iter().flat_map(|(part, known)| part.keys().map(move |name| (name, known)));
        let mut unread = fields.clone().filter(|(name, known)| !known.contains(&name.as_str()) && !NEUTRAL.contains(&name.as_str()));
        match unread.next() {
            Some((name, known)) if !fields.any(|(name, known)| known.contains(&name.as_str())) => {
                let (name, known) = (display::shorten(name, 80), known.join(", "));
                Err(format!("its output could not be understood: nothing in it is known, such as '{name}'; use one of: {known}"))
            }
            _ => Ok(()),
        }
    }

    fn decision(&self) -> Result<ReplyDecision, String> {
        let decisions = [
            decision_in(&self.general, "decision")?,
            decision_in(&self.specific, "permissionDecision")?,
            if flag(&self.general, "block")? == Some(true) { ReplyDecision::Block } else { ReplyDecision::Continue },
            if flag(&self.general, "continue")? == Some(false) { ReplyDecision::Block } else { ReplyDecision::Continue },
        ];
        Ok(decisions.into_iter().max().unwrap_or(ReplyDecision::Continue))
    }

    fn reason(&self) -> Result<String, String> {
        let reasons = [
            text(&self.general, "reason")?,
            text(&self.general, "blockReason")?,
            text(&self.specific, "permissionDecisionReason")?,
            text(&self.general, "stopReason")?,
        ];
        let reason = reasons.into_iter().flatten().map(str::trim).find(|reason| !reason.is_empty());
        Ok(super::shorten(reason.unwrap_or(super::command::NO_REASON)))
    }

    fn take_arguments(&mut self, arguments: &Value) -> Result<Option<Value>, String> {
        let whole = match take_object(&mut self.general, "arguments")? {
            Some(whole) => Some(whole),
            None => take_object(&mut self.specific, "updatedInput")?,
        };
        if let Some(whole) = whole {
            return Ok(Some(Value::Object(whole)));
        }
        let Some(changed) = take_object(&mut self.general, "params")? else { return Ok(None) };
        let mut whole = arguments.as_object().cloned().unwrap_or_default();
        whole.extend(changed);
        Ok(Some(Value::Object(whole)))
    }
}

fn decision_in(object: &Object, key: &str) -> Result<ReplyDecision, String> {
    match text(object, key)? {
        None | Some("continue" | "approve" | "allow") => Ok(ReplyDecision::Continue),
        Some("ask") => Ok(ReplyDecision::Ask),
        Some("block" | "deny") => Ok(ReplyDecision::Block),
        Some(other) => {
            let other = display::shorten(other, 80);
            Err(format!("its output could not be understood: '{key}' is '{other}', and must be continue, ask or block"))
        }
    }
}

fn flag(object: &Object, key: &str) -> Result<Option<bool>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Bool(flag)) => Ok(Some(*flag)),
        Some(_) => Err(wrong(key, "true or false")),
    }
}

fn text<'a>(object: &'a Object, key: &str) -> Result<Option<&'a str>, String> {
    match object.get(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(key, "text")),
    }
}

fn take_text(object: &mut Object, key: &str) -> Result<Option<String>, String> {
    match object.swap_remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::String(text)) => Ok(Some(text)),
        Some(_) => Err(wrong(key, "text")),
    }
}

fn take_object(object: &mut Object, key: &str) -> Result<Option<Object>, String> {
    match object.swap_remove(key) {
        None | Some(Value::Null) => Ok(None),
        Some(Value::Object(inner)) => Ok(Some(inner)),
        Some(_) => Err(wrong(key, "an object")),
    }
}

fn wrong(key: &str, expected: &str) -> String {
    format!("its output could not be understood: '{key}' must be {expected}")
}

fn not_an_object(stdout: &[u8], why: &str) -> String {
    let begin = String::from_utf8_lossy(&stdout[..stdout.len().min(400)]);
    let begin = display::shorten(begin.trim(), 80);
    format!("its output is not one JSON object: {why}. It begins with '{begin}'; print messages to standard error")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(reply: &Value) -> String {
        let stdout = reply.to_string();
        match before(stdout.as_bytes(), &json!({"a": 1, "b": 2})) {
            Ok(HookDecision::Continue) => "continue".into(),
            Ok(HookDecision::Rewrite(arguments)) => format!("rewrite {arguments}"),
            Ok(HookDecision::Ask { reason, arguments }) => format!("ask {reason} {arguments:?}"),
            Ok(HookDecision::Block(reason)) => format!("block {reason}"),
            Ok(HookDecision::Answer(output)) => format!("answer {}", output.texts().collect::<String>()),
            Err(why) => why,
        }
    }

    #[test]
    fn every_spelling_of_a_wish_is_understood_and_the_strictest_counts() {
        let specific = |object: Value| json!({"hookSpecificOutput": object});
        for (reply, expected) in [
            (json!({}), "continue"),
            (json!({"hookSpecificOutput": {}, "suppressOutput": true}), "continue"),
            (specific(json!({"hookEventName": "PreToolUse", "additionalContext": "x"})), "continue"),
            (json!({"decision": "continue", "anything": [1]}), "continue"),
            (json!({"decision": "approve", "reason": "fine"}), "continue"),
            (json!({"decision": null, "arguments": null, "block": false, "continue": true}), "continue"),
            (specific(json!({"permissionDecision": "allow"})), "continue"),
            (json!({"decision": "block", "reason": " no "}), "block no"),
            (json!({"decision": "block"}), "block it gave no reason"),
            (json!({"block": true, "blockReason": "not here"}), "block not here"),
            (json!({"continue": false, "stopReason": "enough"}), "block enough"),
            (specific(json!({"permissionDecision": "deny", "permissionDecisionReason": "risky"})), "block risky"),
            (
                json!({"decision": "approve", "answer": "x", "hookSpecificOutput": {"permissionDecision": "deny"}}),
                "block it gave no reason",
            ),
            (json!({"decision": "ask", "reason": "sure?"}), "ask sure? None"),
            (
                specific(json!({"permissionDecision": "ask", "updatedInput": {"a": 3}})),
                r#"ask it gave no reason Some(Object {"a": Number(3)})"#,
            ),
            (json!({"arguments": {"a": 3}}), r#"rewrite {"a":3}"#),
            (specific(json!({"updatedInput": {"a": 3}})), r#"rewrite {"a":3}"#),
            (json!({"params": {"b": 3, "c": 4}}), r#"rewrite {"a":1,"b":3,"c":4}"#),
            (json!({"answer": "done", "arguments": {"a": 3}}), "answer done"),
        ] {
            assert_eq!(outcome(&reply), expected, "{reply}");
        }
    }

    #[test]
    fn what_makes_no_sense_is_not_taken_for_a_yes() {
        for (reply, expected) in [
            (json!({"decision": "dany"}), "its output could not be understood: 'decision' is 'dany', and must be continue, ask or block"),
            (
                json!({"decison": "block"}),
                "its output could not be understood: nothing in it is known, such as 'decison'; use one of: decision, reason, block, \
                 blockReason, continue, stopReason, arguments, params, answer, stored",
            ),
            (
                json!({"systemMessage": "x", "hookSpecificOutput": {"hookEventName": "PreToolUse", "permisionDecision": "deny"}}),
                "its output could not be understood: nothing in it is known, such as 'permisionDecision'; use one of: \
                 permissionDecision, permissionDecisionReason, updatedInput",
            ),
            (json!({"decision": true}), "its output could not be understood: 'decision' must be text"),
            (json!({"block": "yes"}), "its output could not be understood: 'block' must be true or false"),
            (json!({"continue": "no"}), "its output could not be understood: 'continue' must be true or false"),
            (json!({"arguments": "{}"}), "its output could not be understood: 'arguments' must be an object"),
            (json!({"decision": "ask", "answer": "x"}), ASKS_AND_ANSWERS),
            (json!({"hookSpecificOutput": {"permissionDecision": "ask"}, "answer": "x"}), ASKS_AND_ANSWERS),
            (json!({"answer": 7}), "its output could not be understood: 'answer' must be text"),
            (json!({"hookSpecificOutput": []}), "its output could not be understood: 'hookSpecificOutput' must be an object"),
            (
                json!(["block"]),
                "its output is not one JSON object: it is another value. It begins with '[\"block\"]'; print messages to standard error",
            ),
        ] {
            assert_eq!(outcome(&reply), expected);
        }
    }

    #[test]
    fn only_nothing_or_one_object_is_a_reply() {
        for (stdout, expected) in [
            (&b" \n"[..], Ok(PersistDecision::Keep)),
            (b"{}\n", Ok(PersistDecision::Keep)),
            (b"{\"stored\": \"short\"}", Ok(PersistDecision::Replace("short".into()))),
            (b"{\"decision\": \"block\", \"reason\": \"private\"}", Ok(PersistDecision::Withhold("private".into()))),
            (
                b"all is well",
                Err("its output is not one JSON object: expected value at line 1 column 1. \
                     It begins with 'all is well'; print messages to standard error"),
            ),
            (
                b"{}{}",
                Err("its output is not one JSON object: trailing characters at line 1 column 3. \
                     It begins with '{}{}'; print messages to standard error"),
            ),
            (
                b"\"\xff\"",
                Err("its output is not one JSON object: invalid unicode code point at line 1 column 2. \
                     It begins with '\"\u{fffd}\"'; print messages to standard error"),
            ),
        ] {
            assert_eq!(persist(stdout), expected.map_err(str::to_owned), "{}", stdout.escape_ascii());
        }
    }

    #[test]
    fn a_decision_after_the_call_is_an_error() {
        let late = |name: &str, event: &str| {
            Err(format!("it gave '{name}' too late: the call was made already; a hook that gives it needs event = \"{event}\""))
        };
        for (stdout, expected) in [
            (&b""[..], Ok(())),
            (b"{\"decision\": \"continue\", \"answer\": null}", Ok(())),
            (b"{\"arguments\": {}, \"answer\": \"x\"}", late("arguments", "before_tool_call")),
            (b"{\"answer\": \"x\"}", late("answer", "before_tool_call")),
            (b"{\"params\": {}}", late("params", "before_tool_call")),
            (b"{\"hookSpecificOutput\": {\"updatedInput\": {}}}", late("updatedInput", "before_tool_call")),
            (b"{\"stored\": \"\"}", late("stored", "tool_result_persist")),
            (
                b"{\"block\": true, \"blockReason\": \"no\"}",
                Err("it blocked a call that was made already (no); a hook that blocks needs event = \"before_tool_call\"".to_owned()),
            ),
        ] {
            assert_eq!(after(stdout), expected, "{}", stdout.escape_ascii());
        }
    }
}
