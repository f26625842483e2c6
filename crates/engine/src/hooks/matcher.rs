//! Matches calls with the `match` list of a configured hook.

use haft_contract::Effect;
use haft_policy::ToolMatcher;
use haft_policy::catalog::Vocabulary;

use super::HookCall;

const EFFECT: &str = "effect:";
const UNKNOWN: &str = "unknown";

/// A hook's `match` list: tools by name, alias, pattern or group, and effects by kind.
#[derive(Debug)]
pub(super) struct HookMatcher {
    every: bool,
    tools: ToolMatcher,
    effects: Vec<&'static str>,
}

impl HookMatcher {
    /// Compiles a list; an effect that does not exist is an error.
    pub(super) fn new(entries: &[String], groups: &[(String, Vec<String>)], vocabulary: &Vocabulary) -> Result<Self, String> {
        let (mut tools, mut effects) = (Vec::new(), Vec::new());
        for entry in entries {
            match entry.trim().strip_prefix(EFFECT) {
                Some(kind) => effects.push(effect_kind(kind)?),
                None => tools.push(entry.clone()),
            }
        }
        let every = entries.is_empty() || tools.iter().any(|entry| entry.trim() == "*");
        Ok(Self { every, tools: ToolMatcher::new(&tools, groups, vocabulary), effects })
    }

    /// Whether it needs the effects to decide.
    pub(super) fn needs_effects(&self) -> bool {
        !self.every && !self.effects.is_empty()
    }

    /// Whether a call matches.
    pub(super) fn matches(&self, call: &HookCall<'_>) -> bool {
        self.every
            || call.tool.is_some_and(|tool| self.tools.matches(tool))
            || call.effects.into_iter().flatten().any(|effect| self.covers(effect))
    }

    /// An unknown effect may be of any kind, so it matches every kind.
    fn covers(&self, effect: &Effect) -> bool {
        self.effects.iter().any(|kind| *kind == effect.kind() || effect.kind() == UNKNOWN)
    }
}

fn effect_kind(kind: &str) -> Result<&'static str, String> {
    let wanted = kind.trim().to_ascii_lowercase();
    Effect::KINDS
        .iter()
        .copied()
        .find(|known| *known == wanted)
        .ok_or_else(|| format!("there is no effect '{kind}'; use {EFFECT} with one of {}", Effect::KINDS.join(", ")))
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use haft_contract::{CallInfo, ToolDefinition, ToolSource};
    use haft_policy::Candidate;
    use serde_json::{Value, json};

    use super::*;

    fn matcher(entries: &[&str]) -> Result<HookMatcher, String> {
        let entries: Vec<String> = entries.iter().map(|entry| (*entry).to_owned()).collect();
        HookMatcher::new(&entries, &[("mine".to_owned(), vec!["exec".to_owned()])], &Vocabulary::of_core(haft_builtin::metas()))
    }

    #[test]
    fn a_call_is_matched_by_its_tool_or_its_effects() {
        let info = CallInfo { id: "1".into(), tool: "exec".into(), session: Arc::from("s"), agent: Arc::from("a") };
        let definition = ToolDefinition::new("exec", "Runs", json!({"type": "object", "properties": {}}));
        let candidate = Candidate::new(&definition, &ToolSource::BuiltIn);
        let spawns = [Effect::Spawn { agent: "x".into() }];
        let unknown = [Effect::Unknown { why: "x".into() }];
        let nothing: Option<&[Effect]> = Some(&[]);
        let with = |tool, effects| HookCall { call: &info, arguments: &Value::Null, tool, effects };
        for (entries, tool, effects, expected) in [
            (&[][..], None, None, true),
            (&["*"], None, None, true),
            (&["exec"], None, None, false),
            (&["Bash"], Some(&candidate), None, true),
            (&["group:mine"], Some(&candidate), None, true),
            (&["read_file", "notify"], Some(&candidate), Some(&spawns[..]), false),
            (&["effect:spawn"], Some(&candidate), Some(&spawns[..]), true),
            (&["effect:write", "effect:Spawn"], None, Some(&spawns[..]), true),
            (&["effect:write"], Some(&candidate), Some(&spawns[..]), false),
            (&["effect:write"], Some(&candidate), Some(&unknown[..]), true),
            (&["effect:unknown"], Some(&candidate), Some(&unknown[..]), true),
            (&["effect:write"], Some(&candidate), nothing, false),
            (&["effect:write"], Some(&candidate), None, false),
        ] {
            assert_eq!(matcher(entries).unwrap().matches(&with(tool, effects)), expected, "{entries:?} on {tool:?} {effects:?}");
        }
    }

    #[test]
    fn effects_are_needed_only_where_they_decide() {
        for (entries, needed) in [(&[][..], false), (&["exec"], false), (&["exec", "effect:write"], true), (&["*", "effect:write"], false)]
        {
            assert_eq!(matcher(entries).unwrap().needs_effects(), needed, "{entries:?}");
        }
    }

    #[test]
    fn an_effect_that_does_not_exist_is_an_error_that_lists_those_that_do() {
        assert_eq!(
            matcher(&["effect:wirte"]).unwrap_err(),
            "there is no effect 'wirte'; use effect: with one of read, write, delete, exec, connect, send, spawn, configure, node, ask, unknown"
        );
    }
}
